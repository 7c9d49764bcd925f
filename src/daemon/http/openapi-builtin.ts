/** Operations of the document that belong to no wire method. */
import type { JsonObject } from '../../protocol/json.ts';
import { problemResponseReference } from './openapi-problems.ts';
import { schemaReference } from './openapi-schemas.ts';
import type { BuiltinRoute } from './routes.ts';

const token = {
  type: 'object',
  properties: {
    token: { type: 'string' },
    expires_at: { type: 'string' },
    roles: { type: 'array', items: { type: 'string' } },
    actor: { type: 'string' },
  },
  required: ['token', 'expires_at', 'roles', 'actor'],
};
const code = { type: 'object', properties: { code: { type: 'string' } }, required: ['code'] };
const envelopeAnswer = {
  type: 'object',
  properties: {
    id: { type: 'string' },
    ok: { type: 'boolean' },
    data: {},
    error: schemaReference('WireError'),
  },
  required: ['id', 'ok'],
};

const plainText = { type: 'string' };
const json = (schema: JsonObject): JsonObject => ({ 'application/json': { schema } });
const done = (content: JsonObject): JsonObject => ({
  200: { description: 'Done', content },
});

const rpcRefused = (description: string): JsonObject => ({
  description,
  content: json({
    type: 'object',
    description: 'An error of JSON-RPC 2.0; `data` has the code of the runtime.',
    properties: {
      jsonrpc: { const: '2.0' },
      id: { type: ['string', 'number', 'null'] },
      error: {
        type: 'object',
        properties: { code: { type: 'integer' }, message: { type: 'string' }, data: {} },
        required: ['code', 'message'],
      },
    },
    required: ['jsonrpc', 'id', 'error'],
  }),
});

interface Form {
  readonly operationId: string;
  readonly body?: JsonObject;
  readonly responses: JsonObject;
}

/** By method and path; `methods` are the names that an envelope may call. */
function forms(methods: readonly string[]): Readonly<Record<string, Form>> {
  const envelope = {
    type: 'object',
    properties: {
      id: { type: ['string', 'number'] },
      method: { type: 'string', enum: methods },
      params: { type: ['object', 'null'] },
    },
    required: ['id', 'method'],
  };
  const status = { type: 'object', properties: { status: { const: 'ok' } }, required: ['status'] };
  const ready = json(status);
  return {
    'GET /healthz': { operationId: 'healthz', responses: done(ready) },
    'GET /readyz': {
      operationId: 'readyz',
      responses: { ...done(ready), 503: problemResponseReference(503) },
    },
    'GET /openapi.json': { operationId: 'openapi', responses: done(json({ type: 'object' })) },
    'GET /metrics': {
      operationId: 'metrics',
      responses: done({ 'text/plain': { schema: plainText } }),
    },
    'POST /v1/login': {
      operationId: 'login',
      body: code,
      responses: {
        ...done(json(token)),
        400: problemResponseReference(400),
        401: problemResponseReference(401),
      },
    },
    'DELETE /v1/login': {
      operationId: 'logout',
      responses: { ...done(ready), 403: problemResponseReference(403) },
    },
    'POST /rpc': {
      operationId: 'rpc',
      body: envelope,
      responses: {
        ...done(json(envelopeAnswer)),
        400: { description: 'The envelope cannot be read', content: json(envelopeAnswer) },
      },
    },
    'POST /mcp': {
      operationId: 'mcp',
      body: { type: 'object', description: 'A message of JSON-RPC 2.0.' },
      responses: {
        200: {
          description: 'A message of JSON-RPC 2.0, or events that hold some',
          content: { ...json({ type: 'object' }), 'text/event-stream': { schema: plainText } },
        },
        202: { description: 'Taken' },
        400: rpcRefused('Not a message of MCP'),
        401: rpcRefused('No token, or one that is not taken'),
        404: rpcRefused('A session of another server'),
        default: rpcRefused('Refused'),
      },
    },
    'GET /rpc': {
      operationId: 'rpc_websocket',
      responses: { 101: { description: 'The connection becomes a WebSocket' } },
    },
  };
}

/** The operation of a built-in path; a plain one if the path is not described here. */
export function builtinOperation(route: BuiltinRoute, methods: readonly string[]): JsonObject {
  const { method, path } = route;
  const plain = {
    operationId: `${method.toLowerCase()}${path.replaceAll(/[^a-z0-9]+/gi, '_')}`,
    responses: { 200: { description: 'Done' } },
  };
  const form: Form = forms(methods)[`${method} ${path}`] ?? plain;
  const { operationId, body, responses } = form;
  return {
    operationId,
    summary: route.about,
    description: route.about,
    tags: ['door'],
    ...(route.open ? { security: [] } : {}),
    ...(body === undefined ? {} : { requestBody: { required: true, content: json(body) } }),
    responses: {
      ...(route.open ? {} : { 401: problemResponseReference(401) }),
      default: problemResponseReference('default'),
      ...responses,
    },
  };
}
