/** `connect` of the package's root on platforms of the web. */
import { TrlError } from '../errors.ts';
import { clientOver } from './client.ts';
import type { Client } from './client.ts';
import { dialWebSocket } from './web-socket.ts';
import type { RemoteOptions } from './web-socket.ts';

/** The runtime of this user, by its socket: for Node. */
export interface SocketOptions {
  /** Default `TRL_SOCKET_PATH`, `$XDG_RUNTIME_DIR/trl.sock`, then `/tmp/trl-<uid>/trl.sock`. */
  readonly socketPath?: string;
  /** Ends the wait for the connection; a client that is connected does not watch it. */
  readonly signal?: AbortSignal;
  /** Default `bin`: output in binary frames, which costs a tenth of JSON. */
  readonly frames?: 'json' | 'bin';
}
export type ConnectOptions = RemoteOptions | SocketOptions;

/**
 * Connects to a runtime: `{ url, token }` by HTTP; in Node also `{ socketPath }`, or without
 * options to this user's own.
 *
 * @throws TrlError BACKEND_UNAVAILABLE when it is not reached; AUTH_FAILED for a wrong token, or
 *   for a socket in another user's directory; PERMISSION_DENIED for a page that is not permitted;
 *   INVALID_PARAMS for an invalid `url`, and for a socket outside of Node.
 */
export async function connectByUrl(options: ConnectOptions = {}): Promise<Client> {
  if ('url' in options) return connectByHttp(options);
  const message = 'Cannot connect: only Node reaches a socket; give "url" and "token"';
  throw new TrlError('INVALID_PARAMS', message);
}

export async function connectByHttp(options: RemoteOptions): Promise<Client> {
  const { signal, ...rest } = options;
  const first = await dialWebSocket(options);
  return clientOver(first, {
    dial: () => dialWebSocket(rest),
    ...(signal === undefined ? {} : { signal }),
  });
}
