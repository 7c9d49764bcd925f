/**
 * HTTP/1.1 without TLS: each request is parsed strictly and written again, so that what the host
 * reads is what was checked. Every request must name the host that was asked for.
 */
import { createServer, request as send, STATUS_CODES } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { isNameAsSent } from '../network/host-rules.ts';
import type { PermittedConnection } from './bridge.ts';

/** Headers of one connection, which the next one has its own of (RFC 9110, 7.6.1). */
const hopByHop: ReadonlySet<string> = new Set(
  'connection keep-alive proxy-connection te trailer transfer-encoding upgrade'.split(' '),
);
/** Which the next connection must not lose: where a request goes, and where it ends. */
const endToEnd = ['host', 'content-length'];
/** Time for a request to be there, from the start of the connection. */
const headersMs = 15_000;
/** The same, from the end of the answer before. */
const keepAliveMs = 60_000;
const methodPattern = /^[A-Z]{3,16} /;

export const looksLikeHttp = (first: Buffer): boolean =>
  methodPattern.test(first.toString('latin1', 0, 17));

export function relayHttp(socket: Socket, permitted: PermittedConnection): void {
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
  const clock = new RequestClock(socket);
  server.on('request', (request, response) => {
    clock.begin();
    response.once('close', () => clock.end());
    forward(request, response, permitted).catch(() => socket.destroy());
  });
  server.on('upgrade', (request, client, head) => {
    clock.begin();
    upgrade({ request, client, head }, permitted).catch(() => socket.destroy());
  });
  server.on('connect', (_, client) => refuseRaw(client, permitted, 'method CONNECT'));
  server.on('clientError', (_, client) => client.destroy());
  server.emit('connection', socket);
  socket.resume();
}

/** Ends a connection whose next request does not come: only a listening server does so itself. */
class RequestClock {
  readonly #socket: Socket;
  #timer: NodeJS.Timeout | null = null;
  #running = 0;

  constructor(socket: Socket) {
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
function whyRefused(request: IncomingMessage, { name, port }: PermittedConnection): string | null {
  const { rawHeaders, url = '' } = request;
  const pairs = pairsOf(rawHeaders);
  const count = (wanted: string): number => pairs.filter(({ key }) => key === wanted).length;
  if (count('host') !== 1 || !isHost(request.headers.host ?? '', name, port)) {
    return 'name mismatch';
  }
  if (count('content-length') + count('transfer-encoding') > 1) return 'ambiguous length';
  const dropped = connectionOptions(pairs);
  if (endToEnd.some((key) => dropped.includes(key))) return 'ambiguous connection';
  if (url.startsWith('/') || url === '*') return null;
  const [, authority] = /^http:\/\/([^/?#]*)/i.exec(url) ?? [];
  return authority !== undefined && isHost(authority, name, port) ? null : 'name mismatch';
}

function isHost(text: string, name: string, port: number): boolean {
  const [, host = '', digits] = /^([^:]+)(?::(\d+))?$/.exec(text) ?? [];
  return isNameAsSent(host, name) && (digits === undefined ? 80 : Number(digits)) === port;
}

interface Header {
  /** In lower case. */
  readonly key: string;
  readonly name: string;
  readonly value: string;
}

const pairsOf = (rawHeaders: readonly string[]): readonly Header[] =>
  rawHeaders.flatMap((name, at) =>
    at % 2 === 0 ? [{ key: name.toLowerCase(), name, value: rawHeaders[at + 1] ?? '' }] : [],
  );

/** Headers that belong to this connection alone, as the sender says. */
const connectionOptions = (pairs: readonly Header[]): readonly string[] =>
  pairs.flatMap(({ key, value }) =>
    key === 'connection' ? value.split(',').map((one) => one.trim().toLowerCase()) : [],
  );

/** Name and value in turn, without what belongs to this connection alone. */
function passedOn(rawHeaders: readonly string[]): readonly string[] {
  const pairs = pairsOf(rawHeaders);
  const dropped = new Set([...hopByHop, ...connectionOptions(pairs)]);
  return pairs.flatMap(({ key, name, value }) => (dropped.has(key) ? [] : [name, value]));
}

function originForm(url: string): string {
  const path = url.replace(/^http:\/\/[^/?#]*/i, '');
  return path.startsWith('/') || path === '*' ? path : `/${path}`;
}

async function forward(
  request: IncomingMessage,
  response: ServerResponse,
  permitted: PermittedConnection,
): Promise<void> {
  const refused = whyRefused(request, permitted);
  if (refused !== null) {
    answer(response, 403, `${permitted.name}:${permitted.port}: ${refused}`);
    permitted.refuse(refused);
    return;
  }
  let upstream: Socket;
  try {
    ({ socket: upstream } = await permitted.dial());
  } catch {
    answer(response, 502, `${permitted.name}:${permitted.port} cannot be reached`);
    return;
  }
  // The client may have gone meanwhile, and would end nothing any more.
  if (request.socket.destroyed) {
    upstream.destroy();
    return;
  }
  const isChunked = request.headers['transfer-encoding'] !== undefined;
  const outgoing = send({
    createConnection: () => upstream,
    method: request.method,
    path: originForm(request.url ?? '/'),
    headers: [
      ...passedOn(request.rawHeaders),
      ...(isChunked ? ['Transfer-Encoding', 'chunked'] : []),
      'Connection',
      'close',
    ],
    setHost: false,
  });
  outgoing.on('response', (incoming) => {
    response.writeHead(statusOf(incoming), [...passedOn(incoming.rawHeaders)]);
    incoming.pipe(response);
    incoming.on('error', () => response.destroy());
  });
  outgoing.on('error', () => response.destroy());
  // Also without an error, after an answer that is none (101).
  outgoing.on('close', () => {
    if (!response.headersSent) response.destroy();
  });
  response.on('close', () => upstream.destroy());
  request.on('error', () => outgoing.destroy());
  request.pipe(outgoing);
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
async function upgrade(
  { request, client, head }: UpgradeRequest,
  permitted: PermittedConnection,
): Promise<void> {
  const hasBody = ['content-length', 'transfer-encoding'].some((key) => key in request.headers);
  const refused = whyRefused(request, permitted) ?? (hasBody ? 'ambiguous length' : null);
  // Where Node asks nobody (before 24.9), other protocols arrive here, too.
  if (refused !== null || !isWebSocket(request)) {
    refuseRaw(client, permitted, refused ?? 'upgrade to another protocol');
    return;
  }
  let upstream: Socket;
  try {
    ({ socket: upstream } = await permitted.dial());
  } catch {
    client.destroy();
    return;
  }
  client.on('error', () => upstream.destroy());
  client.on('close', () => upstream.destroy());
  if (client.destroyed) upstream.destroy();
  const switching = ['Connection', 'Upgrade', 'Upgrade', 'websocket'];
  const outgoing = send({
    createConnection: () => upstream,
    path: originForm(request.url ?? '/'),
    headers: [...passedOn(request.rawHeaders), ...switching],
    setHost: false,
  });
  outgoing.on('error', () => client.destroy());
  outgoing.on('response', (incoming) => {
    client.write(headOf(statusOf(incoming), incoming, ['Connection', 'close']));
    incoming.on('error', () => client.destroy());
    incoming.pipe(client);
  });
  outgoing.on('upgrade', (incoming, _, first) => {
    client.write(headOf(101, incoming, switching));
    client.write(first);
    upstream.write(head);
    upstream.on('error', () => client.destroy());
    upstream.on('close', () => client.destroy());
    upstream.pipe(client).pipe(upstream);
  });
  outgoing.end();
}

function headOf(status: number, { rawHeaders }: IncomingMessage, own: readonly string[]): Buffer {
  const lines = pairsOf([...passedOn(rawHeaders), ...own]).map(
    ({ name, value }) => `${name}: ${value}`,
  );
  const first = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`;
  return Buffer.from(`${[first, ...lines].join('\r\n')}\r\n\r\n`, 'latin1');
}

function answer(response: ServerResponse, status: number, text: string): void {
  const body = `The sandbox's network refused this: ${text}\n`;
  response.writeHead(status, { 'Content-Type': 'text/plain', Connection: 'close' });
  response.end(body);
}

function refuseRaw(client: Duplex, permitted: PermittedConnection, why: string): void {
  client.end(`HTTP/1.1 403 ${STATUS_CODES[403]}\r\nConnection: close\r\n\r\n`);
  permitted.refuse(why);
}
