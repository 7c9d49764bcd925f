/** The way to a daemon that listens: its Unix socket. */
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { streamChannel } from '../client/index.ts';
import type { Channel } from '../client/index.ts';
import { TrlError } from '../errors.ts';
import { checkSocketDirectory } from './socket-path.ts';

/**
 * Connects to a Unix socket; `null` when nothing listens there.
 *
 * @throws TrlError BACKEND_UNAVAILABLE when the socket cannot be reached for another reason,
 *   AUTH_FAILED when its directory is not this user's.
 */
export async function dialSocket(
  socketPath: string,
  signal?: AbortSignal,
): Promise<Channel | null> {
  checkSocketDirectory(socketPath);
  signal?.throwIfAborted();
  const socket = connect(socketPath);
  try {
    await once(socket, 'connect', signal === undefined ? {} : { signal });
  } catch (error) {
    socket.destroy();
    signal?.throwIfAborted();
    const code = socketErrorCode(error);
    if (code === 'ENOENT' || code === 'ECONNREFUSED' || code === 'ENOTDIR') {
      return null;
    }
    const message = `Cannot connect to "${socketPath}": ${code ?? String(error)}`;
    throw new TrlError('BACKEND_UNAVAILABLE', message, { cause: error });
  }
  return streamChannel({
    from: socket,
    to: socket,
    peer: `the runtime at "${socketPath}"`,
    hold: (held) => (held ? socket.ref() : socket.unref()),
    close: async () => {
      socket.ref();
      const closed = closing(socket);
      // Whatever was not read would keep the socket open.
      socket.end(() => socket.destroy());
      socket.resume();
      await closed;
    },
  });
}

async function closing(socket: Socket): Promise<void> {
  if (!socket.closed) {
    await once(socket, 'close').catch(() => {});
  }
}

/** `ENOENT` and the like. */
export function socketErrorCode(error: unknown): string | undefined {
  const named = error instanceof Error && 'code' in error && typeof error.code === 'string';
  return named ? String(error.code) : undefined;
}
