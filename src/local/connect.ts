/** The runtime of this user, started where it does not run yet, or one of the caller's own. */
import { ConnectionLostError } from '../client/failure.ts';
import { clientOver } from '../client/index.ts';
import type { Channel, Client } from '../client/index.ts';
import { TrlError } from '../errors.ts';
import { findOutdatedDaemon, startOnDemand } from './background-daemon.ts';
import {
  clientOnSocket,
  defaultSocketPath,
  dialSocket,
  localSessionDefaults,
  notListeningError,
} from './socket.ts';
import { spawnDaemon } from './spawn.ts';
import type { EphemeralOptions } from './spawn.ts';

/** What is done where nothing listens. */
export const startModes = ['background', 'private', 'never'] as const;

export interface LocalOptions {
  /** Default: see `defaultSocketPath`. */
  readonly socketPath?: string;
  /** Ends the wait for the connection; a client that is connected does not watch it. */
  readonly signal?: AbortSignal;
  /** Default `bin`: output in binary frames, which costs a tenth of JSON. */
  readonly frames?: 'json' | 'bin';
  /**
   * Starts a daemon of the client's own where nothing listens; it ends with the client, and all
   * its sessions with it. Default `false`.
   */
  readonly ephemeral?: EphemeralOptions | false;
  /**
   * Where nothing listens: `background` starts this user's runtime for all who need it, which ends
   * when nobody used it for a while; `private` one as `ephemeral` does; `never` fails. Default: the
   * variable `TRL_START`, else `background`; where `socketPath` is given, `never`.
   */
  readonly start?: (typeof startModes)[number];
  /**
   * The directory that the program works in: its project becomes one in which sessions may work.
   * Default: the current one where the runtime is the user's own; `null`: none.
   */
  readonly project?: string | null;
}

/**
 * Connects to the runtime of this user.
 *
 * @throws TrlError BACKEND_UNAVAILABLE when nothing listens or no daemon can be started,
 *   AUTH_FAILED when the socket's directory is not this user's.
 */
export async function connectLocal(options: LocalOptions = {}): Promise<Client> {
  const { socketPath = defaultSocketPath(), ephemeral = false, project, start, ...rest } = options;
  const isNamed = options.socketPath !== undefined;
  const how = start ?? (isNamed || ephemeral !== false ? 'never' : startHere());
  if (how === 'background') {
    const client = await inBackground(socketPath, rest);
    if (project !== null) await trust(client, project ?? process.cwd());
    return client;
  }
  const found = await clientOnSocket(socketPath, rest);
  if (found !== null) return found;
  if (ephemeral === false && how === 'never') throw notListeningError(socketPath);
  return connectPrivate(ephemeral === false ? {} : ephemeral, rest);
}

/**
 * A runtime of the caller's own, whatever else runs.
 *
 * @throws TrlError BACKEND_UNAVAILABLE when it cannot be started
 */
export async function connectPrivate(
  options: EphemeralOptions,
  rest: Pick<LocalOptions, 'signal' | 'frames'> = {},
): Promise<Client> {
  const channel = await spawnDaemon(options);
  try {
    return await clientOver(channel, { ...rest, ...localSessionDefaults(), ownsDaemon: true });
  } catch (cause) {
    if (!(cause instanceof ConnectionLostError)) throw cause;
    const message = 'Cannot start a runtime: it ended at once, with its reason on stderr';
    throw new TrlError('BACKEND_UNAVAILABLE', message, { cause });
  }
}

/** @throws TrlError INVALID_PARAMS for a value of `TRL_START` that is none */
export function startHere(): (typeof startModes)[number] {
  const given = process.env['TRL_START'] ?? '';
  const found = startModes.find((one) => one === given);
  if (found !== undefined || given === '') return found ?? 'background';
  const modes = startModes.join(', ');
  const message = `Cannot use TRL_START=${JSON.stringify(given)}: ${modes} are wanted`;
  throw new TrlError('INVALID_PARAMS', message);
}

/** A lost connection is made again, and the runtime started again where it is gone. */
async function inBackground(
  socketPath: string,
  { signal, frames }: Pick<LocalOptions, 'signal' | 'frames'>,
): Promise<Client> {
  const old = findOutdatedDaemon();
  if (old !== null && old.socketPath === socketPath) await startOnDemand(socketPath, old);
  const dial = async (): Promise<Channel> => {
    const found = await dialSocket(socketPath, signal);
    if (found !== null) return found;
    await startOnDemand(socketPath);
    const started = await dialSocket(socketPath, signal);
    if (started === null) throw new ConnectionLostError(notListeningError(socketPath).message);
    return started;
  };
  const options = {
    ...(signal === undefined ? {} : { signal }),
    ...(frames === undefined ? {} : { frames }),
  };
  const connected = { ...options, ...localSessionDefaults(), dial };
  try {
    return await clientOver(await dial(), connected);
  } catch (error) {
    // It may have ended just then, as nobody used it.
    if (!(error instanceof ConnectionLostError)) throw error;
    return clientOver(await dial(), connected);
  }
}

/** What cannot be a project is no reason not to connect: a session there says what is wrong. */
async function trust(client: Client, directory: string): Promise<void> {
  await client.call('workspace.trust', { path: directory }).catch((error: unknown) => {
    if (!(error instanceof TrlError)) throw error;
  });
}
