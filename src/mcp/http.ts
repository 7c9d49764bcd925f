/**
 * MCP over HTTP, stateless in both eras: each request is served by itself, as its caller. What
 * lasts between requests belongs to the caller: a client, the default session, running calls.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createMcpHandler, createRequestStateCodec } from '@modelcontextprotocol/server';
import type {
  JSONRPCMessage,
  McpHttpHandler,
  McpRequestContext,
  Server,
} from '@modelcontextprotocol/server';
import { fieldOf } from '../json-shape.ts';
import type { Client } from '../client/index.ts';
import type { Caller } from '../command.ts';
import { TrlError } from '../errors.ts';
import type { JsonObject } from '../protocol/json.ts';
import { createConversation } from '../tools/index.ts';
import type { ApprovalRequestState } from './approval-form.ts';
import { ClientCallKeys, OpenCalls } from './call-keys.ts';
import type { CallAttempt, UndeliveredCalls } from './call-keys.ts';
import { parseJsonRpcMessage, parseErrorCode, jsonRpcError } from './json-rpc-message.ts';
import { callDigest, createMcpServer } from './server.ts';

export interface McpHttpOptions {
  /** A client within the daemon that calls as `caller`; it is closed with the transport. */
  readonly clientFor: (caller: Caller) => Promise<Client>;
  /** Remembers a caller's calls that wait for their answers. */
  readonly undelivered: (caller: Caller) => UndeliveredCalls;
  /** The project's directory, where sessions of callers start: absolute and real. */
  readonly root: string;
  readonly version: string;
  /** Callers that are remembered; default 256. One more replaces the oldest. */
  readonly callersMax?: number;
}

/** One request of `/mcp`; its caller is known, its host and origin were checked. */
export interface McpExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly caller: Caller;
  /** At most `limits.frameBytes`, unread; `null`: the request has none. */
  readonly body: Uint8Array | null;
  /** Aborted when the client has disconnected. */
  readonly signal: AbortSignal;
}

type ReadExchange = Omit<McpExchange, 'body'> & { readonly body: JsonObject | null };

export interface McpHttp {
  /** Answers it. Rejects only before anything was sent. */
  serve(exchange: McpExchange): Promise<void>;
  close(): Promise<void>;
}

/** The state of one caller. */
interface Peer {
  readonly client: Client;
  readonly handler: McpHttpHandler;
  readonly calls: OpenCalls;
}

const callersDefault = 256;
const stateSeconds = 900;
const nameMax = 256;
const modern = '2026-07-28';
/** As the reference implementation has it. */
const sessionNotFound = -32_001;

export function createMcpHttp(options: McpHttpOptions): McpHttp {
  const key = randomBytes(32);
  const peers = new Map<string, Promise<Peer>>();
  const peerOf = (caller: Caller): Promise<Peer> => {
    const name = JSON.stringify([caller.actor, caller.roles, caller.credential]);
    const known = peers.get(name);
    const peer = known ?? openPeer(options, caller, key);
    // The caller used last is forgotten last.
    peers.delete(name);
    peers.set(name, peer);
    peer.catch(() => peers.delete(name));
    const [oldest] = peers;
    if (peers.size > (options.callersMax ?? callersDefault) && oldest !== undefined) {
      peers.delete(oldest[0]);
      void oldest[1].then(closePeer, () => {});
    }
    return peer;
  };
  return {
    serve: async (exchange) => {
      const found = exchange.body === null ? null : parseJsonRpcMessage(exchange.body);
      if (found !== null && 'message' in found && isOfSession(exchange.request, found.message)) {
        const why = 'Session not found: this server has none; send "initialize" again, without one';
        sendRpc(
          exchange.response,
          404,
          jsonRpcError(found.value['id'] ?? null, sessionNotFound, why),
        );
      } else if (found !== null && 'message' in found) {
        await serve(await peerOf(exchange.caller), { ...exchange, body: found.value });
      } else if (exchange.request.method === 'POST') {
        const why = found?.why ?? 'Cannot read the request: it has no message';
        const id = found?.ids.length === 1 ? found.ids[0] : null;
        sendRpc(exchange.response, 400, jsonRpcError(id, found?.code ?? parseErrorCode, why));
      } else await serve(await peerOf(exchange.caller), { ...exchange, body: null });
    },
    close: async () => {
      const all = [...peers.values()];
      peers.clear();
      await Promise.allSettled(all.map(async (peer) => closePeer(await peer)));
    },
  };
}

async function openPeer(options: McpHttpOptions, caller: Caller, key: Buffer): Promise<Peer> {
  const { version } = options;
  const root = (): Promise<string> => Promise.resolve(options.root);
  const client = await options.clientFor(caller);
  const sessions = createConversation({ client, root, name: `mcp ${caller.actor}` });
  const calls = new OpenCalls(options.undelivered(caller));
  const given = new ClientCallKeys();
  // Sealed state of one caller is refused from another.
  const bound = createHash('sha256').update(key).update(caller.actor).digest();
  const codec = createRequestStateCodec<ApprovalRequestState>({
    key: bound,
    ttlSeconds: stateSeconds,
  });
  const factory = ({ requestInfo }: McpRequestContext): Server => {
    const header = requestInfo?.headers.get('idempotency-key') ?? null;
    return createMcpServer({
      client,
      root,
      sessions,
      version,
      // The holder of a token never decides about the token's own requests.
      mayDecide: false,
      codec,
      signalOf: (id, digest) => calls.signalOf(id, digest),
      keyOf: async ({ id, digest, given: named }) => {
        const name = named ?? header;
        if (name === null) return calls.keyOf(id, digest);
        checkName(name);
        given.check(name, digest);
        return createHash('sha256').update(`${caller.actor}\n${name}\n${digest}`).digest('hex');
      },
    });
  };
  return { client, calls, handler: createMcpHandler(factory) };
}

function checkName(name: string): void {
  if (name !== '' && name.length <= nameMax) return;
  const message = `Cannot call a tool: "Idempotency-Key" must be 1 to ${nameMax} characters`;
  throw new TrlError('INVALID_PARAMS', message);
}

async function closePeer({ client, handler, calls }: Peer): Promise<void> {
  calls.close();
  await handler.close();
  await client.close();
}

/**
 * Whether the request belongs to a session of another server: this one creates none. Clients of
 * revisions with sessions start a new one after 404; later revisions have no such field.
 */
function isOfSession({ headers }: IncomingMessage, message: JSONRPCMessage): boolean {
  const isBeginning = 'method' in message && message.method === 'initialize';
  const isModern = headers['mcp-protocol-version'] === modern;
  return headers['mcp-session-id'] !== undefined && !isBeginning && !isModern;
}

function sendRpc(response: ServerResponse, status: number, answer: object): void {
  const body = Buffer.from(JSON.stringify(answer));
  const fields = { 'Content-Type': 'application/json', 'Content-Length': body.length };
  response.writeHead(status, fields).end(body);
}

async function serve(peer: Peer, exchange: ReadExchange): Promise<void> {
  const { request, response, body, signal } = exchange;
  const attempt = attemptOf(peer.calls, body);
  const isModern = request.headers['mcp-protocol-version'] === modern;
  // A connection also ends after its last answer: then nothing was missed.
  const gone = (): void =>
    response.writableFinished ? attempt?.delivered() : attempt?.disconnected(isModern);
  signal.addEventListener('abort', gone, { once: true });
  if (signal.aborted) gone();
  try {
    const answer = await peer.handler.fetch(
      requestOf(exchange, attempt?.signal ?? signal),
      body === null ? {} : { parsedBody: body },
    );
    await send(answer, response);
    // A disconnect may be visible here before `signal` aborts.
    gone();
  } catch (error) {
    gone();
    if (response.headersSent || signal.aborted) {
      response.destroy();
      return;
    }
    throw new TrlError('INTERNAL_ERROR', 'The MCP request failed', { cause: error });
  } finally {
    signal.removeEventListener('abort', gone);
  }
}

/** A call that may be repeated; its cancellation is received here, because nothing else lasts. */
function attemptOf(calls: OpenCalls, body: JsonObject | null): CallAttempt | null {
  const params = body?.['params'];
  if (typeof params !== 'object' || params === null) return null;
  if (body?.['method'] === 'notifications/cancelled') {
    calls.cancel(fieldOf(params, 'requestId'));
    return null;
  }
  const id = body?.['id'];
  if (body?.['method'] !== 'tools/call') return null;
  if (typeof id !== 'string' && typeof id !== 'number') return null;
  return calls.enter(id, callDigest(fieldOf(params, 'name'), fieldOf(params, 'arguments')));
}

function requestOf({ request, body }: ReadExchange, signal: AbortSignal): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    // The token ends at the transport.
    if (value === undefined || name === 'authorization') continue;
    headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  return new Request(new URL(request.url ?? '/mcp', 'http://localhost'), {
    method: request.method ?? 'POST',
    headers,
    signal,
    ...(body === null ? {} : { body: JSON.stringify(body) }),
  });
}

/** A disconnect stops the sending, not the call: it may be repeated. */
async function send(answer: Response, response: ServerResponse): Promise<void> {
  response.statusCode = answer.status;
  for (const [name, value] of answer.headers) response.setHeader(name, value);
  if (answer.body === null) {
    response.end();
    return;
  }
  response.flushHeaders();
  const chunks = Readable.fromWeb(answer.body);
  try {
    await pipeline(async function* () {
      for await (const chunk of chunks.iterator({ destroyOnReturn: false })) yield chunk;
    }, response);
  } catch (error) {
    if (!response.destroyed) throw error;
    chunks.resume();
  }
}
