/** Writes answers: common fields, JSON, problems. */
import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { limits } from '../../limits.ts';
import type { RedactedText } from '../../redaction/redacted-text.ts';
import type { ReplyContext } from '../transport/reply-messages.ts';
import { hasBody } from './body.ts';
import { problemOf, HttpRefusal } from './problem.ts';
import type { HttpProblem } from './problem.ts';

/** How long a client may read nothing of an answer before it is disconnected, in ms. */
export const stallMs = 30_000;

/** Prevents caching, type guessing, framing, and reading by other sites. */
const always = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
} as const;

export type HeaderFields = Readonly<Record<string, string>>;

export function setHeaderFields(response: ServerResponse, fields: HeaderFields): void {
  for (const [name, value] of Object.entries({ ...always, ...fields })) {
    response.setHeader(name, value);
  }
}

export function sendJson(
  response: ServerResponse,
  status: number,
  json: RedactedText,
  fields: HeaderFields = {},
): void {
  setHeaderFields(response, { 'Content-Type': 'application/json', ...fields });
  sendBody(response, status, json);
}

/** Sends a whole text; disconnects a client that reads nothing for {@link stallMs}. */
export function sendBody(
  response: ServerResponse,
  status: number,
  body: string | Uint8Array,
): void {
  begin(response, status, body);
  response.end(body);
}

function begin(response: ServerResponse, status: number, body: string | Uint8Array): void {
  response.setHeader('Content-Length', Buffer.byteLength(body));
  response.setTimeout(stallMs, () => void response.destroy());
  response.writeHead(status);
}

interface Refused {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Default: an RFC 9457 problem. */
  readonly form?: ((problem: HttpProblem) => object) | undefined;
}

/**
 * Sends a failure; an answer that has begun can only be aborted. If part of the request is unread,
 * the connection ends instead of waiting for it.
 */
export function sendProblem(
  { request, response, form }: Refused,
  action: string,
  thrown: unknown,
  replyContext: ReplyContext,
): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const problem = problemOf(action, thrown, replyContext);
  const fields = thrown instanceof HttpRefusal ? thrown.headers : {};
  setHeaderFields(response, {
    'Content-Type': form === undefined ? 'application/problem+json' : 'application/json',
    ...placesOf(problem.data),
    ...fields,
  });
  const body = replyContext.masking.json(form?.(problem) ?? problem);
  if (!hasBody(request) || request.complete) {
    sendBody(response, problem.status, body);
    return;
  }
  response.setHeader('Connection', 'close');
  begin(response, problem.status, body);
  // Ending the answer now would also end the connection.
  response.write(body);
  endSoon(request, response);
}

/** How much unwanted body is read, so that the client sees the answer before the end. */
const unwantedBytesMax = limits.frameBytes.max;
const lingerMs = 1_000;

function endSoon(request: IncomingMessage, response: ServerResponse): void {
  let bytes = 0;
  const end = (): void => void response.end();
  const timer = setTimeout(end, lingerMs);
  response.once('close', () => clearTimeout(timer));
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > unwantedBytesMax) end();
  });
  request.on('end', end);
  request.on('error', end);
}

/** Sends a failure on a raw socket: before a WebSocket handshake, or after a parser error. */
export function refuseUpgrade(socket: Duplex, thrown: unknown, replyContext: ReplyContext): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const problem = problemOf('the request', thrown, replyContext);
  const body = replyContext.masking.json(problem);
  const fields = {
    ...always,
    ...(thrown instanceof HttpRefusal ? thrown.headers : {}),
    'Content-Type': 'application/problem+json',
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  const status = `${problem.status} ${STATUS_CODES[problem.status] ?? ''}`;
  socket.end(`HTTP/1.1 ${status}\r\n${lines.join('')}\r\n${body}`, () => socket.destroy());
}

/** The locations of a command that waits for approval, and of its approval. */
function placesOf(data: Readonly<Record<string, unknown>> | undefined): HeaderFields {
  const exec: unknown = data?.['exec_id'];
  const approval: unknown = data?.['approval_id'];
  if (typeof exec !== 'string' || typeof approval !== 'string') return {};
  return {
    Location: `/v1/execs/${exec}`,
    Link: `</v1/approvals/${approval}>; rel="related"`,
  };
}
