/** A client on this user's socket. */
import { clientOver } from '../client/index.ts';
import type { Channel, Client, ClientOptions } from '../client/index.ts';
import { ConnectionLostError } from '../client/failure.ts';
import { TrlError } from '../errors.ts';
import { dialSocket } from './socket.ts';
import { readProcessUmask } from './umask.ts';

/**
 * A client that makes its connections to `socketPath`; `null` when nothing listens there.
 *
 * @throws TrlError as {@link dialSocket}
 */
export async function clientOnSocket(
  socketPath: string,
  options: Pick<ClientOptions, 'frames' | 'signal'>,
): Promise<Client | null> {
  const first = await dialSocket(socketPath, options.signal);
  if (first === null) return null;
  const dial = async (): Promise<Channel> => {
    const channel = await dialSocket(socketPath);
    if (channel === null) throw new ConnectionLostError(notListeningError(socketPath).message);
    return channel;
  };
  return clientOver(first, { ...options, ...localSessionDefaults(), dial });
}

/** Sessions of a program on this machine make files and find programs as it does. */
export function localSessionDefaults(): Pick<ClientOptions, 'umask' | 'searchPath'> {
  const umask = readProcessUmask();
  const searchPath = process.env['PATH'] ?? '';
  return {
    ...(umask === undefined ? {} : { umask }),
    ...(searchPath === '' ? {} : { searchPath }),
  };
}

export function notListeningError(socketPath: string): TrlError {
  const message = `Cannot connect to "${socketPath}": nothing listens there; start it: trl serve`;
  return new TrlError('BACKEND_UNAVAILABLE', message);
}
