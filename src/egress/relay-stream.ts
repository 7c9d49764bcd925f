/**
 * Passes a connection on as it is, after its first bytes were looked at: what says TLS must name
 * the host that was asked for, and so must HTTP without TLS.
 */
import type { Socket } from 'node:net';
import type { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isNameAsSent } from '../network/host-rules.ts';
import { clientHelloBytesMax, readClientHello } from './client-hello.ts';
import { refusalIn } from './inspect-request.ts';
import type { PermittedConnection } from './permitted-connection.ts';
import { looksLikeHttp, relayHttp } from './relay-http.ts';
import { relayTerminated } from './termination.ts';

/** Time for a ClientHello to be complete. */
const helloMs = 15_000;
/** How long a client may say nothing before it counts as one that waits for its server. */
const silenceMs = 300;
const tlsPort = 443;

export async function relayStream(socket: Socket, permitted: PermittedConnection): Promise<void> {
  const { name, port } = permitted;
  const first = await firstBytes(socket, port === tlsPort ? helloMs : silenceMs);
  if (first === null) return;
  if (port !== tlsPort && looksLikeHttp(first)) {
    socket.unshift(first);
    relayHttp(socket, permitted);
    return;
  }
  const isTls = port === tlsPort || first[0] === 22;
  const { termination } = permitted;
  if (!isTls) {
    if (termination === null) await relayTunnel(socket, permitted, first, permitted.guard(true));
    else permitted.refuse('neither HTTP nor TLS');
    return;
  }
  const hello = await helloFor(name, socket, first);
  if (hello === null) {
    permitted.refuse('name mismatch');
    return;
  }
  const { bytes, protocols } = hello;
  if (termination === null) {
    await relayTunnel(socket, permitted, bytes, permitted.guard(false));
    return;
  }
  socket.unshift(bytes);
  await relayTerminated({ socket, permitted, termination, protocols });
}

interface HelloBytes {
  readonly bytes: Buffer;
  /** Of ALPN. */
  readonly protocols: readonly string[];
}

/** A ClientHello that names the host; `null`: it names another, or is none. */
async function helloFor(name: string, socket: Socket, first: Buffer): Promise<HelloBytes | null> {
  let bytes = first;
  const until = Date.now() + helloMs;
  for (;;) {
    const hello = readClientHello(bytes);
    if (hello.kind === 'hello') {
      const { protocols } = hello;
      return isNameAsSent(hello.name ?? '', name) ? { bytes, protocols } : null;
    }
    const left = until - Date.now();
    if (hello.kind === 'none' || bytes.length > clientHelloBytesMax || left <= 0) return null;
    const more = await firstBytes(socket, left);
    if (more === null || more.length === 0) return null;
    bytes = Buffer.concat([bytes, more]);
  }
}

/** What comes first within the time; empty: nothing did. `null`: the client is gone. */
async function firstBytes(socket: Socket, ms: number): Promise<Buffer | null> {
  return await new Promise((resolve) => {
    const settle = (bytes: Buffer | null): void => {
      clearTimeout(timer);
      socket.off('data', settle);
      socket.off('close', gone);
      socket.off('end', ended);
      socket.pause();
      resolve(bytes);
    };
    const gone = (): void => settle(null);
    const ended = (): void => settle(Buffer.alloc(0));
    const timer = setTimeout(() => settle(Buffer.alloc(0)), ms);
    socket.once('data', settle);
    socket.once('close', gone);
    socket.once('end', ended);
    socket.resume();
  });
}

/** Passes everything on as it is. */
export async function relayTunnel(
  socket: Socket,
  permitted: PermittedConnection,
  start: Buffer = Buffer.alloc(0),
  guard: Transform | null = null,
): Promise<void> {
  let upstream: Socket;
  try {
    ({ socket: upstream } = await permitted.dial());
  } catch {
    socket.resetAndDestroy();
    return;
  }
  if (socket.destroyed) {
    upstream.destroy();
    return;
  }
  // Not back into the socket: the client may have ended already.
  if (start.length > 0) (guard ?? upstream).write(start);
  // Each way ends by itself, so that a half-closed connection goes on.
  const out = guard === null ? pipeline(socket, upstream) : pipeline(socket, guard, upstream);
  const refuse = (error: unknown): void => {
    const leak = refusalIn(error);
    if (leak !== null) permitted.refuse(leak);
  };
  await Promise.allSettled([out.catch(refuse), pipeline(upstream, socket)]);
  socket.destroy();
  upstream.destroy();
}
