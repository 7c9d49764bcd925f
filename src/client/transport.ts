/** The two ways to a daemon: its Unix socket, or the pipes of a daemon started for this client. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { TrlError } from '../errors.ts';
import { checkSocketDirectory } from './socket-path.ts';

/** A connection's two directions. */
export interface Transport {
  readonly from: Readable;
  readonly to: Writable;
  /** What a message calls the other end. */
  readonly peer: string;
  /** While `false` the connection does not keep this process from ending. */
  readonly hold: (held: boolean) => void;
  /** Sends what is written, then ends. Settles when nothing is left open. Never rejects. */
  close(): Promise<void>;
}

/** The daemon that a client starts for itself when nothing listens. */
export interface EphemeralOptions {
  /** Directories under which sessions may work; default: the current directory. */
  readonly workspaceRoots?: readonly string[];
  readonly policy?: string;
}

/** From the end of the connection to the kill of an own daemon that does not end, in `ms`. */
const ephemeralEndMs = 10_000;

/**
 * Connects to a Unix socket; `null` when nothing listens there.
 *
 * @throws TrlError BACKEND_UNAVAILABLE when the socket cannot be reached for another reason,
 *   AUTH_FAILED when its directory is not this user's.
 */
export async function dialSocket(
  socketPath: string,
  signal?: AbortSignal,
): Promise<Transport | null> {
  checkSocketDirectory(socketPath);
  signal?.throwIfAborted();
  const socket = connect(socketPath);
  try {
    await once(socket, 'connect', signal === undefined ? {} : { signal });
  } catch (error) {
    socket.destroy();
    signal?.throwIfAborted();
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ECONNREFUSED' || code === 'ENOTDIR') {
      return null;
    }
    const message = `Cannot connect to "${socketPath}": ${code ?? String(error)}`;
    throw new TrlError('BACKEND_UNAVAILABLE', message, { cause: error });
  }
  return {
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
  };
}

/**
 * Starts a daemon whose connection is its stdin and stdout. It is its own process group, so that
 * a Ctrl-C reaches the caller alone; it ends when its stdin does, however the caller ended.
 *
 * @throws TrlError BACKEND_UNAVAILABLE when the process cannot be started.
 */
export async function spawnDaemon(options: EphemeralOptions): Promise<Transport> {
  const args = [...daemonCommand(), 'stdio', '--ephemeral'];
  for (const root of options.workspaceRoots ?? []) {
    args.push('--workspace-root', root);
  }
  if (options.policy !== undefined) {
    args.push('--policy', options.policy);
  }
  const child = spawn(process.execPath, args, {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
    env: daemonEnvironment(),
  });
  try {
    await once(child, 'spawn');
  } catch (error) {
    const message = `Cannot start a runtime: ${codeOf(error) ?? String(error)}`;
    throw new TrlError('BACKEND_UNAVAILABLE', message, { cause: error });
  }
  // A daemon that ended takes what is being written with it; the reading side reports that.
  child.stdin.on('error', () => {});
  return {
    from: child.stdout,
    to: child.stdin,
    peer: 'the runtime started for this client',
    hold: (held) => {
      for (const part of [child, child.stdin, child.stdout]) {
        if (part === child || part instanceof Socket) {
          part[held ? 'ref' : 'unref']();
        }
      }
    },
    close: () => endDaemon(child),
  };
}

/**
 * What Node is started with to become the daemon. A young generation that may grow to the usual
 * 32 MB would hold mostly garbage: 8 MB cost no throughput and halve what 1,000 sessions take.
 */
export function daemonCommand(): string[] {
  const flags = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=4'];
  // Whoever may send it a signal could open a debugger in it, and read every secret.
  return [...flags, '--disable-sigusr1', daemonEntry()];
}

/** Variables by which Node would show what the daemon holds, or run other code in it. */
const ofNode = new Set(['NODE_OPTIONS', 'NODE_DEBUG', 'NODE_DEBUG_NATIVE', 'NODE_V8_COVERAGE']);

/** This process's environment, as a daemon is started with it. */
export function daemonEnvironment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value === undefined || ofNode.has(name) ? [] : [[name, value]],
    ),
  );
}

/** The daemon's program: beside this checkout's sources, or beside the built bundle. */
function daemonEntry(): string {
  const entry = import.meta.url.endsWith('.ts') ? '../daemon/main.ts' : './daemon.js';
  return fileURLToPath(new URL(entry, import.meta.url));
}

async function endDaemon(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) {
    return;
  }
  child.ref();
  const ended = once(child, 'exit');
  child.stdin?.end();
  child.stdout?.resume();
  const kill = setTimeout(() => child.kill('SIGKILL'), ephemeralEndMs);
  await ended;
  clearTimeout(kill);
}

async function closing(socket: Socket): Promise<void> {
  if (!socket.closed) {
    await once(socket, 'close').catch(() => {});
  }
}

function codeOf(error: unknown): string | undefined {
  const named = error instanceof Error && 'code' in error && typeof error.code === 'string';
  return named ? String(error.code) : undefined;
}
