/** The daemon of this user, or one of the caller's own. */
import { clientOver } from '../client/index.ts';
import type { Client } from '../client/index.ts';
import { LinkLost } from '../client/failure.ts';
import { TrlError } from '../errors.ts';
import { clientOnSocket, nothingListens, ofSessions } from './dial.ts';
import { defaultSocketPath } from './socket-path.ts';
import { spawnDaemon } from './spawn.ts';
import type { EphemeralOptions } from './spawn.ts';

export interface LocalOptions {
  /** Default: see `defaultSocketPath`. */
  readonly socketPath?: string;
  /** Ends the wait for the connection; a client that is connected does not watch it. */
  readonly signal?: AbortSignal;
  /** Default `bin`: output in binary frames, which costs a tenth of JSON. */
  readonly frames?: 'json' | 'bin';
  /**
   * Starts a daemon of the client's own where nothing listens; it ends with the client, and all
   * its sessions with it. Default `false`: then connecting fails.
   */
  readonly ephemeral?: EphemeralOptions | false;
}

/**
 * Connects to the daemon of this user.
 *
 * @throws TrlError BACKEND_UNAVAILABLE when nothing listens or no daemon can be started,
 *   AUTH_FAILED when the socket's directory is not this user's.
 */
export async function connect(options: LocalOptions = {}): Promise<Client> {
  const { socketPath = defaultSocketPath(), ephemeral = false, ...rest } = options;
  const found = await clientOnSocket(socketPath, rest);
  if (found !== null) return found;
  if (ephemeral === false) throw nothingListens(socketPath);
  const channel = await spawnDaemon(ephemeral);
  try {
    return await clientOver(channel, { ...rest, ...ofSessions(), ownsDaemon: true });
  } catch (cause) {
    if (!(cause instanceof LinkLost)) throw cause;
    const message = 'Cannot start a runtime: it ended at once, with its reason on stderr';
    throw new TrlError('BACKEND_UNAVAILABLE', message, { cause });
  }
}
