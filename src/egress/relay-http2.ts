/** HTTP/2 inside TLS: each stream of the client is one to the host, of the same kind. */
import {
  constants,
  sensitiveHeaders,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type Http2Session,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Readable } from 'node:stream';
import { isAuthority, type Header, type RequestHead } from './http-messages.ts';
import { refusalIn, type InspectedRequest } from './inspect-request.ts';
import type { PermittedConnection } from './permitted-connection.ts';
import { passGuarded, readableBody } from './readable-body.ts';
import { scrubAnswer } from './scrub-answer.ts';

/** Of one connection, in bytes: what may be on its way before it is read. */
const connectionWindowBytes = 8 * 1024 * 1024;
const streamWindowBytes = 1024 * 1024;
const defaultPort = 443;

export function relayHttp2(
  server: ServerHttp2Session,
  upstream: ClientHttp2Session,
  permitted: PermittedConnection,
): void {
  const settings = { initialWindowSize: streamWindowBytes, enablePush: false };
  upstream.settings(settings);
  server.settings({ initialWindowSize: streamWindowBytes });
  for (const session of [server, upstream]) {
    const other = session === server ? upstream : server;
    session.on('error', () => {});
    session.on('close', () => endSession(other));
    session.on('goaway', () => endSession(other));
    session.on('connect', () => session.setLocalWindowSize(connectionWindowBytes));
  }
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    forward({ stream, upstream, permitted }, headers).catch(() => reset(stream));
  });
}

function endSession(session: Http2Session): void {
  if (!session.closed && !session.destroyed) session.close();
}

/** Ends a stream so that what has been sent on it is not taken for all of it. */
function reset(stream: ServerHttp2Stream | ClientHttp2Stream, code?: number): void {
  if (stream.destroyed) return;
  const error = code ?? constants.NGHTTP2_INTERNAL_ERROR;
  if (stream.writableEnded) {
    stream.close(error);
    return;
  }
  // Node ends a stream before it resets it, and the other side may see the end alone.
  stream._final = (done) => done();
  stream.close(error === constants.NGHTTP2_NO_ERROR ? constants.NGHTTP2_CANCEL : error);
}

interface StreamRelay {
  readonly stream: ServerHttp2Stream;
  readonly upstream: ClientHttp2Session;
  readonly permitted: PermittedConnection;
}

/** As pairs, without those that begin with `:`. */
function headersOf(headers: IncomingHttpHeaders): readonly Header[] {
  return Object.entries(headers).flatMap(([key, value]) => {
    if (key.startsWith(':') || value === undefined) return [];
    const values = Array.isArray(value) ? value : [value];
    return values.map((one) => ({ key, name: key, value: one }));
  });
}

function toObject(headers: readonly Header[]): OutgoingHttpHeaders {
  const found: Record<string, string | string[]> = {};
  for (const { key, value } of headers) {
    const before = found[key];
    if (before === undefined) found[key] = value;
    else if (Array.isArray(before)) before.push(value);
    else found[key] = [before, value];
  }
  return found;
}

/** Whether the request is for the host, by each of its ways to name one. */
function whyRefused(headers: IncomingHttpHeaders, permitted: PermittedConnection): string | null {
  const method = headers[':method'];
  if (method === undefined || method === 'CONNECT') return 'method CONNECT';
  const path = headers[':path'] ?? '';
  if (!path.startsWith('/') && path !== '*') return 'name mismatch';
  const names = [headers[':authority'], headers['host']].filter((one) => one !== undefined);
  const isOwn = names.length > 0 && names.every((one) => isAuthority(one, permitted, defaultPort));
  return isOwn ? null : 'name mismatch';
}

async function forward(relay: StreamRelay, headers: IncomingHttpHeaders): Promise<void> {
  const { stream, upstream, permitted } = relay;
  const refused = whyRefused(headers, permitted);
  const head: RequestHead = {
    method: headers[':method'] ?? '',
    target: headers[':path'] ?? '',
    headers: headersOf(headers),
  };
  const found =
    refused === null
      ? await permitted.inspect(head, {
          isSecure: true,
          readBody: (bytesMax) => readableBody(stream, bytesMax),
        })
      : { kind: 'refused' as const, rule: refused };
  if (found.kind === 'refused') {
    refuse(relay, found.rule);
    return;
  }
  if (stream.destroyed || upstream.closed || upstream.destroyed) {
    reset(stream, constants.NGHTTP2_REFUSED_STREAM);
    return;
  }
  const outgoing = upstream.request(
    {
      ...toObject(found.head.headers),
      ':method': found.head.method,
      ':path': found.head.target,
      ':scheme': 'https',
      ':authority': headers[':authority'] ?? headers['host'] ?? permitted.name,
      [sensitiveHeaders]: ['authorization'],
    },
    { endStream: stream.readableEnded && found.body === null },
  );
  passAnswer(stream, outgoing, found);
  outgoing.on('error', () => reset(stream));
  stream.on('close', () => reset(outgoing, stream.rstCode));
  let isRefused = false;
  const follow = (): void => {
    // Where its answer has ended, the rest is on its way.
    const isOver = outgoing.rstCode === constants.NGHTTP2_NO_ERROR && outgoing.readableEnded;
    if (!isOver && !isRefused) reset(stream, outgoing.rstCode);
    // What the client still sends is not waited for.
    else stream.resume();
  };
  outgoing.on('aborted', () => {
    if (outgoing.rstCode !== constants.NGHTTP2_NO_ERROR) follow();
    else {
      // The host has answered without the rest, which is not waited for.
      stream.unpipe();
      stream.resume();
    }
  });
  outgoing.on('close', follow);
  if (found.body !== null) {
    outgoing.end(found.body);
    return;
  }
  // A client that gives up ends its stream, too.
  stream.on('aborted', () => reset(outgoing, constants.NGHTTP2_CANCEL));
  try {
    if (found.guard === null) stream.pipe(outgoing);
    else await passGuarded(stream, found.guard, outgoing);
  } catch (error) {
    const leak = refusalIn(error);
    isRefused = leak !== null;
    reset(outgoing, constants.NGHTTP2_CANCEL);
    if (leak !== null) refuse(relay, leak);
  }
}

function refuse({ stream, permitted }: StreamRelay, rule: string): void {
  const text = `The sandbox's network refused this: ${permitted.name}:${permitted.port}: ${rule}\n`;
  if (!stream.destroyed && !stream.headersSent) {
    stream.respond({ ':status': 403, 'content-type': 'text/plain' });
    stream.end(text);
  } else reset(stream);
  permitted.failed(rule);
}

function passAnswer(
  stream: ServerHttp2Stream,
  outgoing: ClientHttp2Stream,
  { scrubbed }: InspectedRequest,
): void {
  const shown = (headers: IncomingHttpHeaders): readonly Header[] => {
    const all = headersOf(headers);
    if (scrubbed === null) return all;
    return all.map((one) => ({ ...one, value: scrubbed.masked(one.value) }));
  };
  outgoing.on('headers', (headers) => {
    if (!stream.destroyed && !stream.headersSent) {
      stream.additionalHeaders({ ...toObject(shown(headers)), ':status': headers[':status'] });
    }
  });
  let trailers: OutgoingHttpHeaders = {};
  outgoing.on('trailers', (headers) => (trailers = toObject(shown(headers))));
  outgoing.on('response', (headers, flags) => {
    if (stream.destroyed) return;
    const answer = scrubAnswer(headersOf(headers), scrubbed);
    if (answer === null) {
      reset(stream);
      return;
    }
    const head = { ...toObject(answer.headers), ':status': headers[':status'] };
    // Where the head is all, gRPC has its status there, and takes it from such a head alone.
    if ((flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0) {
      stream.respond(head, { endStream: true });
      return;
    }
    stream.on('wantTrailers', () => stream.sendTrailers(trailers));
    stream.respond(head, { waitForTrailers: true });
    let body: Readable = outgoing;
    for (const next of answer.through) {
      next.on('error', () => reset(stream));
      body = body.pipe(next);
    }
    body.pipe(stream);
  });
}
