/**
 * HTTP/1.1 without TLS: each request is parsed strictly and written again, so that what the host
 * reads is what was checked. Every request must name the host that was asked for.
 */
import { Agent, createServer, request as send, STATUS_CODES } from 'node:http';
import type {
  AgentOptions,
  ClientRequest,
  IncomingMessage,
  RequestOptions,
  ServerResponse,
} from 'node:http';
import { PassThrough, type Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  connectionOptions,
  headersOf,
  isAuthority,
  passedOn,
  rawHeadersOf,
  type Header,
  type RequestHead,
} from './http-messages.ts';
import { refusalIn, type InspectedRequest } from './inspect-request.ts';
import type { ValueFinder } from './masking.ts';
import type { PermittedConnection } from './permitted-connection.ts';
import { passGuarded, readableBody } from './readable-body.ts';
import { scrubAnswer } from './scrub-answer.ts';

/** Which the next connection must not lose: where a request goes, and where it ends. */
const endToEnd = ['host', 'content-length'];
/** Time for a request to be there, from the start of the connection. */
const headersMs = 15_000;
/** The same, from the end of the answer before. */
const keepAliveMs = 60_000;
const methodPattern = /^[A-Z]{3,16} /;

export const looksLikeHttp = (first: Buffer): boolean =>
  methodPattern.test(first.toString('latin1', 0, 17));

/** The connection of a client, and the way of its requests to the host. */
export interface HttpRelay {
  readonly permitted: PermittedConnection;
  readonly client: Duplex;
  /** Whether TLS protects what it carries. */
  readonly isSecure: boolean;
  /** Connects to the host, for one request or for all. */
  readonly agent: Agent;
  /** Whether the agent has one connection for all requests. */
  readonly keepsAlive: boolean;
}

/** Without TLS: each request on a connection of its own. */
export function relayHttp(client: Duplex, permitted: PermittedConnection): void {
  const connect = async (): Promise<Duplex> => (await permitted.dial()).socket;
  serveHttp({ permitted, client, isSecure: false, agent: agentOf(connect), keepsAlive: false });
}

/** Every connection of the agent is one that `connect` made. */
export function agentOf(connect: () => Promise<Duplex>, options: AgentOptions = {}): Agent {
  const agent = new Agent(options);
  agent.createConnection = (_, made) => {
    connect().then(
      (socket) => made?.(null, socket),
      (error: unknown) =>
        made?.(error instanceof Error ? error : new Error(String(error)), new PassThrough()),
    );
    return undefined;
  };
  return agent;
}

export function serveHttp(relay: HttpRelay): void {
  const { client } = relay;
  const server = createServer({
    requestTimeout: 0,
    keepAliveTimeout: keepAliveMs,
    insecureHTTPParser: false,
    joinDuplicateHeaders: false,
    // Any other protocol (HTTP/2, TLS) could name other hosts: its offer is left out.
    shouldUpgradeCallback: isWebSocket,
  });
  // A client that has said all still waits for its answer.
  Object.assign(server, { httpAllowHalfOpen: true });
  const clock = new RequestClock(client);
  server.on('request', (request, response) => {
    clock.begin();
    response.once('close', () => clock.end());
    forward(request, response, relay).catch(() => client.destroy());
  });
  server.on('upgrade', (request, socket, head) => {
    clock.begin();
    upgrade({ request, client: socket, head }, relay).catch(() => client.destroy());
  });
  server.on('connect', (_, socket) => refuseRaw(socket, relay.permitted, 'method CONNECT'));
  server.on('clientError', (_, socket) => socket.destroy());
  client.once('close', () => relay.agent.destroy());
  server.emit('connection', client);
  client.resume();
}

/** Ends a connection whose next request does not come: only a listening server does so itself. */
class RequestClock {
  readonly #socket: Duplex;
  #timer: NodeJS.Timeout | null = null;
  #running = 0;

  constructor(socket: Duplex) {
    this.#socket = socket;
    this.#wait(headersMs);
    socket.once('close', () => this.#stop());
  }
  begin(): void {
    this.#running += 1;
    this.#stop();
  }
  end(): void {
    this.#running -= 1;
    if (this.#running === 0 && !this.#socket.destroyed) this.#wait(keepAliveMs);
  }
  #wait(ms: number): void {
    this.#timer = setTimeout(() => this.#socket.destroy(), ms);
  }
  #stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }
}

const isWebSocket = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';

/** Whether the request is for the host, and nothing in it could be read in two ways. */
function whyRefused(request: IncomingMessage, { permitted, isSecure }: HttpRelay): string | null {
  const { rawHeaders, url = '' } = request;
  const defaultPort = isSecure ? 443 : 80;
  const headers = headersOf(rawHeaders);
  const count = (wanted: string): number => headers.filter(({ key }) => key === wanted).length;
  const host = request.headers.host ?? '';
  if (count('host') !== 1 || !isAuthority(host, permitted, defaultPort)) return 'name mismatch';
  if (count('content-length') + count('transfer-encoding') > 1) return 'ambiguous length';
  const dropped = connectionOptions(headers);
  if (endToEnd.some((key) => dropped.includes(key))) return 'ambiguous connection';
  if (url.startsWith('/') || url === '*') return null;
  const [, scheme, authority] = /^(https?):\/\/([^/?#]*)/i.exec(url) ?? [];
  if (scheme?.toLowerCase() !== (isSecure ? 'https' : 'http')) return 'name mismatch';
  const isOwn = authority !== undefined && isAuthority(authority, permitted, defaultPort);
  return isOwn ? null : 'name mismatch';
}

const headOf = ({ method = 'GET', url = '/', rawHeaders }: IncomingMessage): RequestHead => ({
  method,
  target: originForm(url),
  headers: passedOn(headersOf(rawHeaders)),
});

function originForm(url: string): string {
  const path = url.replace(/^https?:\/\/[^/?#]*/i, '');
  return path.startsWith('/') || path === '*' ? path : `/${path}`;
}

/** `null`: it was refused, by `refuse`. */
async function inspect(
  request: IncomingMessage,
  relay: HttpRelay,
  refuse: (rule: string) => void,
): Promise<InspectedRequest | null> {
  const { permitted, isSecure } = relay;
  const refused = whyRefused(request, relay);
  const found =
    refused === null
      ? await permitted.inspect(headOf(request), {
          isSecure,
          readBody: (bytesMax) => readableBody(request, bytesMax),
        })
      : { kind: 'refused' as const, rule: refused };
  if (found.kind === 'permitted') return found;
  refuse(found.rule);
  permitted.failed(found.rule);
  return null;
}

function outgoingOptions({ head }: InspectedRequest, agent: Agent): RequestOptions {
  const { method, target: path } = head;
  return { agent, method, path, headers: rawHeadersOf(head.headers), setHost: false };
}

async function forward(
  request: IncomingMessage,
  response: ServerResponse,
  relay: HttpRelay,
): Promise<void> {
  const { permitted, agent, keepsAlive } = relay;
  const at = `${permitted.name}:${permitted.port}`;
  const seen = await inspect(request, relay, (why) => answer(response, 403, `${at}: ${why}`));
  if (seen === null) return;
  // The client may have gone meanwhile, and would end nothing any more.
  if (request.socket.destroyed) return;
  const isChunked = request.headers['transfer-encoding'] !== undefined && seen.body === null;
  const options = outgoingOptions(seen, agent);
  const framing = isChunked ? ['Transfer-Encoding', 'chunked'] : [];
  if (!keepsAlive) framing.push('Connection', 'close');
  const outgoing = send({ ...options, headers: [...Object(options.headers), ...framing] });
  let isConnected = false;
  outgoing.on('socket', () => (isConnected = true));
  outgoing.on('response', (incoming) => {
    passAnswer(incoming, response, seen.scrubbed).catch(() => response.destroy());
  });
  outgoing.on('error', () => {
    if (isConnected || response.headersSent) response.destroy();
    else answer(response, 502, `${at} cannot be reached`);
  });
  // Also without an error, after an answer that is none (101).
  outgoing.on('close', () => {
    if (isConnected && !response.headersSent) response.destroy();
  });
  response.on('close', () => outgoing.destroy());
  request.on('error', () => outgoing.destroy());
  await passBody(request, outgoing, seen).catch((error: unknown) => {
    const leak = refusalIn(error);
    if (leak !== null && !response.headersSent) answer(response, 403, `${at}: ${leak}`);
    outgoing.destroy();
    if (leak !== null) permitted.failed(leak);
  });
}

async function passBody(
  request: IncomingMessage,
  outgoing: ClientRequest,
  { body, guard }: InspectedRequest,
): Promise<void> {
  if (body !== null) outgoing.end(body);
  else if (guard === null) request.pipe(outgoing);
  else await passGuarded(request, guard, outgoing);
}

async function passAnswer(
  incoming: IncomingMessage,
  response: ServerResponse,
  scrubbed: ValueFinder | null,
): Promise<void> {
  const headers = passedOn(headersOf(incoming.rawHeaders));
  if (scrubbed === null) {
    response.writeHead(statusOf(incoming), rawHeadersOf(headers));
    incoming.pipe(response);
    incoming.on('error', () => response.destroy());
    return;
  }
  const shown = scrubAnswer(headers, scrubbed);
  if (shown === null) {
    response.destroy();
    return;
  }
  response.writeHead(statusOf(incoming), rawHeadersOf(shown.headers));
  await pipeline([incoming, ...shown.through, response]);
}

/** What the host says, in the bounds of HTTP. */
const statusOf = ({ statusCode = 0 }: IncomingMessage): number =>
  statusCode >= 200 && statusCode <= 599 ? statusCode : 502;

interface UpgradeRequest {
  readonly request: IncomingMessage;
  readonly client: Duplex;
  /** What the client has sent behind it. */
  readonly head: Buffer;
}

/**
 * A WebSocket: both sides go on by themselves once the host has taken it. Before that nothing more
 * of the client is passed on, for it could be a request for another host.
 */
async function upgrade({ request, client, head }: UpgradeRequest, relay: HttpRelay): Promise<void> {
  const { permitted, agent } = relay;
  const hasBody = ['content-length', 'transfer-encoding'].some((key) => key in request.headers);
  // Where Node asks nobody (before 24.9), other protocols arrive here, too.
  const refused = !isWebSocket(request)
    ? 'upgrade to another protocol'
    : hasBody
      ? 'ambiguous length'
      : null;
  if (refused !== null) {
    refuseRaw(client, permitted, refused);
    return;
  }
  const seen = await inspect(request, relay, () => endRefused(client));
  if (seen === null) return;
  client.on('error', () => client.destroy());
  const switching = ['Connection', 'Upgrade', 'Upgrade', 'websocket'];
  const options = outgoingOptions(seen, agent);
  const outgoing = send({ ...options, headers: [...Object(options.headers), ...switching] });
  outgoing.on('error', () => client.destroy());
  client.on('close', () => outgoing.destroy());
  outgoing.on('response', (incoming) => {
    const shown = scrubAnswer(passedOn(headersOf(incoming.rawHeaders)), seen.scrubbed);
    if (shown === null) {
      client.destroy();
      return;
    }
    client.write(headText(statusOf(incoming), shown.headers, ['Connection', 'close']));
    pipeline([incoming, ...shown.through, client]).catch(() => client.destroy());
  });
  outgoing.on('upgrade', (incoming, upstream, first) => {
    const shown = scrubAnswer(passedOn(headersOf(incoming.rawHeaders)), seen.scrubbed);
    client.write(headText(101, shown?.headers ?? [], switching));
    upstream.on('error', () => client.destroy());
    upstream.on('close', () => client.destroy());
    client.on('close', () => upstream.destroy());
    if (first.length > 0) upstream.unshift(first);
    if (head.length > 0) client.unshift(head);
    const scrub = seen.scrubbed === null ? [] : [seen.scrubbed.maskingStream()];
    // What a client says in frames is masked (RFC 6455, 5.3): placeholders do not show in it.
    pipeline([upstream, ...scrub, client]).catch(() => {});
    pipeline(client, upstream).catch(() => client.destroy());
  });
  outgoing.end();
}

function headText(status: number, headers: readonly Header[], own: readonly string[]): Buffer {
  const lines = [...headers, ...headersOf(own)].map(({ name, value }) => `${name}: ${value}`);
  const first = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`;
  return Buffer.from(`${[first, ...lines].join('\r\n')}\r\n\r\n`, 'latin1');
}

function answer(response: ServerResponse, status: number, text: string): void {
  const body = `The sandbox's network refused this: ${text}\n`;
  response.writeHead(status, { 'Content-Type': 'text/plain', Connection: 'close' });
  response.end(body);
}

function endRefused(client: Duplex): void {
  client.end(`HTTP/1.1 403 ${STATUS_CODES[403]}\r\nConnection: close\r\n\r\n`);
}

function refuseRaw(client: Duplex, permitted: PermittedConnection, why: string): void {
  endRefused(client);
  permitted.refuse(why);
}
