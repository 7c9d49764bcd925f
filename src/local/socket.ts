/** The way to a daemon that listens: its Unix socket. */
import { once } from 'node:events';
import { lstatSync, readFileSync, statSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import path from 'node:path';
import { ConnectionLostError } from '../client/failure.ts';
import { clientOver, streamChannel } from '../client/index.ts';
import type { Channel, Client, ClientOptions } from '../client/index.ts';
import { TrlError } from '../errors.ts';
import { locateSocket, socketProblem } from '../protocol/socket-location.ts';

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

// Where a client finds the daemon.

/**
 * The socket of this user's daemon: `TRL_SOCKET_PATH`, else `$XDG_RUNTIME_DIR/trl.sock`, else
 * `/tmp/trl-<uid>/trl.sock`. An empty variable counts as unset.
 */
export function defaultSocketPath(env: NodeJS.ProcessEnv = process.env): string {
  return locateSocket({ env, uid: uid() }).path;
}

/**
 * Refuses a socket that another user may have put there, who could answer in the daemon's place: in
 * `/tmp/trl-<uid>` when somebody else made that directory first, in `/tmp` and its like when it is
 * another user's or a link. Other directories are the caller's own choice.
 *
 * @throws TrlError AUTH_FAILED
 */
export function checkSocketDirectory(socketPath: string): void {
  const file = path.resolve(socketPath);
  const directory = path.dirname(file);
  const own = directory === `/tmp/trl-${uid()}`;
  const quiet = { throwIfNoEntry: false } as const;
  const found = own ? lstatSync(directory, quiet) : lookAt(directory);
  if (found === undefined) return;
  const isPrivate = found.isDirectory() && found.uid === uid() && (found.mode & 0o077) === 0;
  const problem = own
    ? isPrivate
      ? null
      : `"${directory}" must be a directory of this user with mode 0700`
    : socketProblem(found, lookAt(file, lstatSync), uid());
  if (problem === null) return;
  throw new TrlError('AUTH_FAILED', `Cannot trust the socket "${socketPath}": ${problem}`);
}

/** `undefined` also for what this user may not look at: nor may they connect to it. */
function lookAt(file: string, look = statSync): Stats | undefined {
  try {
    return look(file);
  } catch {
    return undefined;
  }
}

function uid(): number {
  return process.getuid?.() ?? 0;
}

// A client on this user's socket.

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

/** What a runtime takes where nobody says it. */
const usual = '022';

/**
 * The file mode mask of this process, for the sessions that it makes; `undefined`: the usual one.
 * Not by `process.umask()`, which sets it for a moment.
 */
export function readProcessUmask(): string | undefined {
  try {
    const digits = /^Umask:\s*0*([0-7]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
    const umask = digits?.padStart(3, '0');
    return umask === usual ? undefined : umask;
  } catch {
    return undefined;
  }
}
