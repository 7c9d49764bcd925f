/**
 * A channel over a WebSocket: `GET /rpc` of the runtime's HTTP transport carries the same wire as
 * its socket. Binary messages are its bytes; message boundaries have no meaning.
 *
 * A page cannot stop its browser from reading, so such a channel cannot be paused: the client
 * requests a window (`system.hello`), and the runtime sends only as much output as fits.
 */
import { fieldOf } from '../json-shape.ts';
import { TrlError } from '../errors.ts';
import { toBase64Url, encodeUtf8 } from './bytes.ts';
import type { Channel, ChannelSink } from './channel.ts';
import { ConnectionLostError } from './failure.ts';
import { deferred, waitAtMost } from './wait.ts';

/** Bytes of one message, so that a server can limit messages. */
const messageBytesMax = 256 * 1024;
/** How long the runtime may take for the hand-shake, in `ms`. */
const openMs = 15_000;
/** How long the other end may take to close, in `ms`. */
const closeMs = 2_000;

/** How the runtime closes the WebSocket of a page with a wrong token. */
const refusedToken = 4401;

/** The required part of a WebSocket: browsers, Node 22 and the package `ws` have it. */
export interface WebSocketLike {
  binaryType: string;
  send(bytes: Uint8Array<ArrayBuffer>): void;
  close(code?: number): void;
  addEventListener(type: 'open' | 'error', listener: () => void): void;
  addEventListener(type: 'close', listener: (event: { readonly code?: number }) => void): void;
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
}
export type WebSocketConstructor = new (url: string, protocols: string[]) => WebSocketLike;

/** A runtime anywhere, by its HTTP transport. */
export interface RemoteOptions {
  /** `http://127.0.0.1:7601`, `https://…`; may contain a path. */
  readonly url: string;
  /** From `trl token create`, or the runtime's `TRL_AUTH_TOKEN`. It is in no URL. */
  readonly token: string;
  /** Ends the wait for the connection; a client that is connected does not watch it. */
  readonly signal?: AbortSignal;
  /** Default: that of the platform; Node 20 has none, so pass that of the package `ws`. */
  readonly WebSocket?: WebSocketConstructor;
}

/**
 * @throws TrlError AUTH_FAILED for a token that the runtime refuses, PERMISSION_DENIED for a host
 *   or a page that it refuses, BACKEND_UNAVAILABLE when it is not reached, INVALID_PARAMS for a URL
 *   that is not HTTP, `http:` beyond this machine, or without a WebSocket.
 */
export async function dialWebSocket(options: RemoteOptions): Promise<Channel> {
  const base = baseOf(options.url);
  const Socket: WebSocketConstructor | undefined = options.WebSocket ?? globalThis.WebSocket;
  if (Socket === undefined) {
    const reason = 'this platform has no WebSocket; give one: connect({ …, WebSocket })';
    throw new TrlError('INVALID_PARAMS', `Cannot connect to "${base.href}": ${reason}`);
  }
  options.signal?.throwIfAborted();
  const place = new URL('rpc', base);
  place.protocol = base.protocol === 'https:' ? 'wss:' : 'ws:';
  const protocols = ['trl.v2', `bearer.${toBase64Url(options.token)}`];
  const socket = new Socket(place.href, protocols);
  socket.binaryType = 'arraybuffer';
  if (await opened(socket, options.signal)) return channelOver(socket, base);
  socket.close();
  options.signal?.throwIfAborted();
  throw await whyNot(base, options);
}

/** @throws TrlError INVALID_PARAMS */
function baseOf(url: string): URL {
  const base = URL.canParse(url) ? new URL(url) : null;
  if (base === null || !/^https?:$/.test(base.protocol)) {
    const message = `Cannot connect to "${url}": it must begin with http:// or https://`;
    throw new TrlError('INVALID_PARAMS', message);
  }
  base.search = '';
  base.hash = '';
  // A name and password in it would be sent to every server of a redirect.
  base.username = '';
  base.password = '';
  if (!base.pathname.endsWith('/')) base.pathname += '/';
  if (base.protocol === 'http:' && !isLoopback(base.hostname) && !isOfThisPage(base)) {
    const message = `Cannot send a token to "${base.href}" in clear text: use https`;
    throw new TrlError('INVALID_PARAMS', message);
  }
  return base;
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || /^127(?:\.\d+){3}$/.test(host);

/** A page may use the way it came by: an attacker on that way could have written the page. */
function isOfThisPage(base: URL): boolean {
  const page = fieldOf(globalThis, 'location');
  return typeof page === 'object' && page !== null && fieldOf(page, 'origin') === base.origin;
}

async function opened(socket: WebSocketLike, signal?: AbortSignal): Promise<boolean> {
  const open = deferred<boolean>();
  const fail = (): void => open.resolve(false);
  const timer = setTimeout(fail, openMs);
  socket.addEventListener('open', () => open.resolve(true));
  socket.addEventListener('error', fail);
  socket.addEventListener('close', fail);
  signal?.addEventListener('abort', fail, { once: true });
  const isOpen = await open.promise;
  clearTimeout(timer);
  signal?.removeEventListener('abort', fail);
  return isOpen && signal?.aborted !== true;
}

/** Browsers hide from a page why a hand-shake failed: a request to the same transport finds out. */
async function whyNot(base: URL, { token, signal }: RemoteOptions): Promise<TrlError> {
  const to = base.href;
  const asked = fetch(new URL('rpc', base), {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ id: '1', method: 'system.ping', params: {} }),
    credentials: 'omit',
    redirect: 'error',
    signal: signal ?? AbortSignal.timeout(openMs),
  });
  const status = await asked.then((answer) => answer.status).catch(() => null);
  if (status === null) {
    return new ConnectionLostError(`Cannot connect to "${to}": it does not answer`);
  }
  if (status === 401) return notTaken(base);
  if (status === 403) {
    const reason = 'the runtime does not let in this host name or page';
    return new TrlError('PERMISSION_DENIED', `Cannot connect to "${to}": ${reason}`);
  }
  return new ConnectionLostError(
    `Cannot connect to "${to}": it refuses a WebSocket (HTTP ${status})`,
  );
}

function notTaken(base: URL): TrlError {
  return new TrlError('AUTH_FAILED', `Cannot connect to "${base.href}": the token is not taken`);
}

function channelOver(socket: WebSocketLike, base: URL): Channel {
  // From the start: a refused token closes it before anything is received.
  const closed = deferred<number | undefined>();
  socket.addEventListener('close', ({ code }) => closed.resolve(code));
  return {
    peer: `the runtime at "${base.href}"`,
    holdsBack: false,
    receive: (sink) => {
      deliver(socket, sink);
      void closed.promise.then((code) =>
        sink.closed(code === refusedToken ? notTaken(base) : undefined),
      );
    },
    send: (bytes) => {
      for (let at = 0; at < bytes.length; at += messageBytesMax) {
        socket.send(bytes.slice(at, at + messageBytesMax));
      }
    },
    pause: () => {},
    // No platform lets a program end while one of its WebSockets is open.
    hold: () => {},
    close: async () => {
      socket.close(1000);
      await waitAtMost(closeMs, closed.promise);
    },
  };
}

function deliver(socket: WebSocketLike, sink: ChannelSink): void {
  socket.addEventListener('message', ({ data }) => {
    if (data instanceof ArrayBuffer) sink.bytes(new Uint8Array(data));
    else if (typeof data === 'string') sink.bytes(encodeUtf8(data));
    else sink.closed(new TypeError('a message is neither binary nor text'));
  });
  socket.addEventListener('error', () => sink.closed(new Error('the WebSocket failed')));
}
