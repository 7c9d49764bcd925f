/** Creates one operation of the document from one row of the route table. */
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { MethodName } from '../../api/methods.ts';
import { problemContent, problemResponseReference, problemTitle } from './openapi-problems.ts';
import { toPascalCase, schemaReference, type WireSchemas } from './openapi-schemas.ts';
import type { ResponseKind, QueryType } from '../../api/define-method.ts';
import { integersInPaths, type Route, type RouteMode } from './routes.ts';

/** Names of the parameters in braces. */
const namesIn = (path: string): readonly string[] =>
  [...path.matchAll(/\{([a-z_]+)\}/g)].map(([, name]) => name ?? '');

/** `/v1/execs/{exec_id}` → `execs`. */
export const resourceOf = (path: string): string =>
  path.split('/').find((part, at) => at > 0 && part !== 'v1') ?? '';

/**
 * The id of each row: the method's name. If several rows call one method, the row of the method's
 * own resource, or else the one with the shortest path, gets it; the others add their resource.
 */
export function operationIds(routes: readonly Route[]): ReadonlyMap<Route, string> {
  const ids = new Map<Route, string>();
  for (const [method, rows] of Map.groupBy(routes, ({ call }) => call)) {
    const group = method.split('.')[0] ?? method;
    const rank = ({ path }: Route): number =>
      path.split('/').length + (resourceOf(path).startsWith(group) ? 0 : 100);
    const [first, ...others] = rows.toSorted((one, other) => rank(one) - rank(other));
    const name = method.replaceAll('.', '_');
    if (first !== undefined) ids.set(first, name);
    for (const row of others) {
      const isSocket = row.answer === 'websocket';
      const more = isSocket ? 'websocket' : `of_${resourceOf(row.path).replace(/s$/, '')}`;
      ids.set(row, `${name}_${more}`);
    }
  }
  return ids;
}

/** Components that operations add to those of the wire. */
export type BodySchemas = Map<string, JsonObject>;

/** @param bodies receives the schema of a body without the parameters that are in the path */
export function createOperation(
  route: Route,
  operationId: string,
  wire: WireSchemas,
  bodies: BodySchemas,
): JsonObject {
  const resource = resourceOf(route.path);
  const fields = fieldsOf(route.call, wire);
  return {
    operationId,
    summary: route.about,
    description: `The method \`${route.call}\` of the wire.`,
    tags: [resource],
    'x-trl-method': route.call,
    ...parameters(route, fields),
    ...(route.body ? { requestBody: requestBody(route, { operationId, wire, bodies }) } : {}),
    responses: responses(route, wire),
  };
}

interface Fields {
  readonly properties: Readonly<Record<string, unknown>>;
  readonly required: readonly unknown[];
}

function fieldsOf(method: MethodName, wire: WireSchemas): Fields {
  const schema = wire.schemas[wire.params(method)] ?? {};
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  return { properties, required };
}

function parameters(route: Route, { properties }: Fields): JsonObject {
  const list: JsonObject[] = [];
  for (const name of namesIn(route.path)) {
    const text = { type: integersInPaths.has(name) ? 'integer' : 'string' };
    list.push({ name, in: 'path', required: true, schema: properties[name] ?? text });
  }
  for (const [name, type] of Object.entries(route.query)) {
    list.push({ name, in: 'query', schema: properties[name] ?? queryForms[type] });
  }
  if (route.page !== undefined) {
    const { usual, max } = route.page;
    const limit = { type: 'integer', minimum: 1, maximum: max, default: usual };
    if (!('limit' in route.query)) list.push({ name: 'limit', in: 'query', schema: limit });
    list.push(component('Cursor'));
  }
  if (route.modes !== undefined) {
    const schema = { type: 'string', enum: Object.keys(route.modes) };
    const description = 'Without it the call waits for the end of the command.';
    list.push({ name: 'mode', in: 'query', description, schema });
  }
  if (route.idempotency !== undefined) {
    list.push(component(route.idempotency === 'exec_key' ? 'ExecKey' : 'IdempotencyKey'));
  }
  if (route.answer === 'events') list.push(component('LastEventId'));
  list.push(component('TraceParent'));
  return { parameters: list };
}

const component = (name: string): JsonObject => ({ $ref: `#/components/parameters/${name}` });

const queryForms: Readonly<Record<QueryType, JsonObject>> = {
  integer: { type: 'integer' },
  boolean: { type: 'boolean' },
  text: { type: 'string' },
  list: { type: 'array', items: { type: 'string' } },
};

/** `components.parameters`. */
export const commonParameters: Readonly<Record<string, JsonObject>> = {
  Cursor: {
    name: 'cursor',
    in: 'query',
    description: '`next_cursor` of the page before.',
    schema: { type: 'string' },
  },
  ExecKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description: 'Becomes the `exec_key`: a repeated call attaches to the first execution.',
    schema: { type: 'string', minLength: 1, maxLength: 256 },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description: 'A repeated call gets the answer of the first one.',
    schema: { type: 'string', minLength: 1, maxLength: 256 },
  },
  LastEventId: {
    name: 'Last-Event-ID',
    in: 'header',
    description: 'The `id` of the last event that came: those after it follow.',
    schema: { type: 'string' },
  },
  TraceParent: {
    name: 'traceparent',
    in: 'header',
    description: 'W3C trace context; the answer has it, too.',
    schema: { type: 'string', pattern: '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$' },
  },
};

interface BodyContext {
  readonly operationId: string;
  readonly wire: WireSchemas;
  readonly bodies: BodySchemas;
}

function requestBody(route: Route, { operationId, wire, bodies }: BodyContext): JsonObject {
  const taken = new Set(namesIn(route.path));
  const { required } = fieldsOf(route.call, wire);
  const needed = required.filter((name) => typeof name === 'string' && !taken.has(name));
  // Includes the parameters of its modes; the row's own definition of a name wins.
  const calls = [...Object.values(route.modes ?? {}), route].map(({ call }) => call);
  const fields = calls.flatMap((call) =>
    Object.entries(fieldsOf(call, wire).properties).filter(([one]) => !taken.has(one)),
  );
  const name = `${toPascalCase(operationId.replaceAll('_', '.'))}Body`;
  bodies.set(name, {
    type: 'object',
    properties: Object.fromEntries(fields),
    ...(needed.length > 0 ? { required: needed } : {}),
    additionalProperties: false,
  });
  return {
    required: needed.length > 0,
    content: { 'application/json': { schema: schemaReference(name) } },
  };
}

function responses(route: Route, wire: WireSchemas): JsonObject {
  const found: Record<string, JsonObject> = {};
  const add = (status: number, description: string, content: JsonObject): void => {
    const before = found[status];
    const both = { ...(isJsonObject(before?.['content']) ? before['content'] : {}), ...content };
    found[status] = {
      description: before?.['description'] ?? description,
      headers: headersOf(route),
      ...(Object.keys(both).length === 0 ? {} : { content: both }),
    };
  };
  for (const mode of [route, ...Object.values(route.modes ?? {})]) {
    const status = mode.answer === 'websocket' ? 101 : mode.status;
    add(status, descriptions[mode.answer], success(route, mode, wire));
  }
  if (route.call === 'exec.run') add(202, problemTitle(202), problemContent(202));
  for (const status of failures(route)) found[status] = problemResponseReference(status);
  found['default'] = problemResponseReference('default');
  return found;
}

function headersOf({ location, page, modes }: Route): JsonObject {
  const text = (description: string) => ({ description, schema: { type: 'string' } });
  return {
    traceparent: text('W3C trace context'),
    ...(location === undefined && modes === undefined
      ? {}
      : { Location: text('Where the thing lies that was made') }),
    ...(page === undefined ? {} : { Link: text('Where the next page is') }),
  };
}

const descriptions: Readonly<Record<ResponseKind, string>> = {
  json: 'Done',
  events: 'Server-sent events; `data` of each is JSON, by the schema in `x-trl-event`',
  websocket: 'The connection becomes a WebSocket',
};

/** Schemas of the events of methods that do not stream an execution. */
const watched: ReadonlyMap<MethodName, string> = new Map([
  ['approval.watch', 'ApprovalEvent'],
  ['system.watch', 'FeedMessage'],
]);

function success(route: Route, mode: RouteMode | Route, wire: WireSchemas): JsonObject {
  if (mode.answer === 'websocket') return {};
  if (mode.answer === 'events') {
    const event = watched.get(mode.call) ?? 'StreamEvent';
    return {
      'text/event-stream': { schema: { type: 'string' }, 'x-trl-event': schemaReference(event) },
    };
  }
  const answer = schemaReference(wire.answer(mode.call));
  const paged = { type: 'object', properties: { next_cursor: { type: 'string' } } };
  const schema = route.page === undefined ? answer : { allOf: [answer, paged] };
  return { 'application/json': { schema } };
}

/** Statuses of refused calls of a row, besides `default`. */
function failures({ path, call, body, idempotency }: Route): readonly number[] {
  const names = namesIn(path).length > 0 || body;
  const conflicts = idempotency !== undefined || call.startsWith('session.');
  const [group] = call.split('.');
  return [
    400,
    401,
    403,
    ...(names ? [404] : []),
    ...(conflicts ? [409] : []),
    ...(call === 'exec.read' || call === 'exec.attach' ? [410] : []),
    ...(group === 'exec' ? [422] : []),
    429,
    500,
    ...(group === 'exec' || group === 'secrets' ? [502] : []),
    503,
  ];
}
