/**
 * HTTP/1.1 without TLS: each request is parsed strictly and written anew, so that what the host
 * reads is what was checked. Every request must name the host that was asked for.
 */
import { createServer, request as send, STATUS_CODES } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { normalHostName } from '../network/host-rules.ts';
import type { PermittedConnection } from './bridge.ts';

/** Headers of one connection, which the next one has its own of (RFC 9110, 7.6.1). */
const hopByHop: ReadonlySet<string> = new Set(
  'connection keep-alive proxy-connection te trailer transfer-encoding upgrade'.split(' '),
);
const headersMs = 15_000;
const methodPattern = /^[A-Z]{3,16} /;

export const looksLikeHttp = (first: Buffer): boolean =>
  methodPattern.test(first.toString('latin1', 0, 17));

export function relayHttp(socket: Socket, permitted: PermittedConnection): void {
  const server = createServer({
    headersTimeout: headersMs,
    requestTimeout: 0,
    keepAliveTimeout: 60_000,
    insecureHTTPParser: false,
    joinDuplicateHeaders: false,
  });
  server.on('request', (request, response) => void forward(request, response, permitted));
  server.on('upgrade', (request, client, head) => void upgrade(request, client, head, permitted));
  server.on('connect', (_, client) => refuseRaw(client, permitted, 'method CONNECT'));
  server.on('clientError', (_, client) => client.destroy());
  server.emit('connection', socket);
  socket.resume();
}

/** Whether the request is for the host, and nothing in it could be read in two ways. */
function whyRefused(request: IncomingMessage, { name, port }: PermittedConnection): string | null {
  const { rawHeaders, url = '' } = request;
  const names = rawHeaders.filter((_, at) => at % 2 === 0).map((one) => one.toLowerCase());
  const count = (wanted: string): number => names.filter((one) => one === wanted).length;
  const isNamed = count('host') === 1 && isHost(request.headers.host ?? '', name, port);
  if (!isNamed) return 'name mismatch';
  if (count('content-length') + count('transfer-encoding') > 1) return 'ambiguous length';
  if (url.startsWith('/') || url === '*') return null;
  const [, authority] = /^http:\/\/([^/?#]*)/i.exec(url) ?? [];
  return authority !== undefined && isHost(authority, name, port) ? null : 'name mismatch';
}

function isHost(text: string, name: string, port: number): boolean {
  const [, host = '', digits] = /^([^:]+)(?::(\d+))?$/.exec(text) ?? [];
  return normalHostName(host) === name && (digits === undefined ? 80 : Number(digits)) === port;
}

/** Name and value in turn, without what belongs to this connection alone. */
function passedOn(rawHeaders: readonly string[], keep: ReadonlySet<string> = new Set()): string[] {
  const pairs = rawHeaders.flatMap((name, at) =>
    at % 2 === 0 ? [{ name, value: rawHeaders[at + 1] ?? '' }] : [],
  );
  const named = pairs.flatMap(({ name, value }) =>
    name.toLowerCase() === 'connection' ? value.toLowerCase().split(/\s*,\s*/) : [],
  );
  const dropped = new Set([...hopByHop, ...named]);
  return pairs.flatMap(({ name, value }) => {
    const key = name.toLowerCase();
    return dropped.has(key) && !keep.has(key) ? [] : [name, value];
  });
}

const originForm = (url: string): string => url.replace(/^http:\/\/[^/?#]*/i, '') || '/';

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
    response.writeHead(incoming.statusCode ?? 502, passedOn(incoming.rawHeaders));
    incoming.pipe(response);
    incoming.on('error', () => response.destroy());
  });
  outgoing.on('error', () => response.destroy());
  response.on('close', () => upstream.destroy());
  request.on('error', () => outgoing.destroy());
  request.pipe(outgoing);
}

/** A WebSocket, or another protocol: both sides go on by themselves after the answer. */
async function upgrade(
  request: IncomingMessage,
  client: Duplex,
  head: Buffer,
  permitted: PermittedConnection,
): Promise<void> {
  const refused = whyRefused(request, permitted);
  if (refused !== null) {
    refuseRaw(client, permitted, refused);
    return;
  }
  let upstream: Socket;
  try {
    ({ socket: upstream } = await permitted.dial());
  } catch {
    client.destroy();
    return;
  }
  const headers = passedOn(request.rawHeaders, new Set(['connection', 'upgrade']));
  const lines = headers.flatMap((name, at) =>
    at % 2 === 0 ? [`${name}: ${headers[at + 1]}`] : [],
  );
  const first = `${request.method} ${originForm(request.url ?? '/')} HTTP/1.1`;
  upstream.write(`${[first, ...lines].join('\r\n')}\r\n\r\n`);
  upstream.write(head);
  upstream.on('error', () => client.destroy());
  upstream.on('close', () => client.destroy());
  client.on('error', () => upstream.destroy());
  client.on('close', () => upstream.destroy());
  upstream.pipe(client).pipe(upstream);
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
