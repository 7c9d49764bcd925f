/** The way to a daemon of the caller's own: the pipes of one that is started for it. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { streamChannel } from '../client/index.ts';
import type { Channel } from '../client/index.ts';
import { TrlError } from '../errors.ts';
import { takenLauncherVariables } from '../launcher-variables.ts';
import { socketErrorCode } from './socket.ts';

/** The daemon that a client starts for itself when nothing listens. */
export interface EphemeralOptions {
  /** Directories under which sessions may work; default: the current directory. */
  readonly workspaceRoots?: readonly string[];
  /** No root but the projects that are trusted while it runs. */
  readonly projects?: boolean;
  readonly policy?: string;
}

/** From the end of the connection to the kill of an own daemon that does not end, in `ms`. */
const ephemeralEndMs = 10_000;

/**
 * Starts a daemon whose connection is its stdin and stdout. It is its own process group, so that
 * a Ctrl-C reaches the caller alone; it ends when its stdin does, however the caller ended.
 *
 * @throws TrlError BACKEND_UNAVAILABLE when the process cannot be started.
 */
export async function spawnDaemon(options: EphemeralOptions): Promise<Channel> {
  const args = [...daemonCommand(), 'stdio', '--ephemeral'];
  for (const root of options.workspaceRoots ?? []) {
    args.push('--workspace-root', root);
  }
  if (options.projects === true) args.push('--projects');
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
    const message = `Cannot start a runtime: ${socketErrorCode(error) ?? String(error)}`;
    throw new TrlError('BACKEND_UNAVAILABLE', message, { cause: error });
  }
  // A daemon that ended takes what is being written with it; the reading side reports that.
  child.stdin.on('error', () => {});
  return streamChannel({
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
  });
}

/**
 * What Node is started with to become the daemon. A young generation that may grow to the usual
 * 32 MB would hold mostly garbage: 8 MB cost no throughput and halve what 1,000 sessions take. It
 * has them from the start: one that grows is collected eight times before the daemon answers.
 *
 * @throws TrlError BACKEND_UNAVAILABLE where this Node is older than a daemon needs: it would only
 *   say "bad option".
 */
export function daemonCommand(): string[] {
  const found = process.versions.node;
  if (Number.parseInt(found, 10) < nodeMajorMin) {
    const wanted = `it needs Node >= ${nodeMajorMin}, found ${found}`;
    const message = `Cannot start a runtime: ${wanted}; use a newer Node, or start \`trl serve\``;
    throw new TrlError('BACKEND_UNAVAILABLE', message);
  }
  const young = ['--min-semi-space-size=4', '--max-semi-space-size=4'];
  const flags = ['--disable-warning=ExperimentalWarning', ...young];
  // Anyone who may send it a signal could open a debugger in it and read every secret.
  return [...flags, '--disable-sigusr1', daemonEntry()];
}

/** Of a daemon; a client runs on the older one that `engines` names. */
const nodeMajorMin = 24;

/** Variables by which Node would show what the daemon holds, or run other code in it. */
const ofNode = new Set(['NODE_OPTIONS', 'NODE_DEBUG', 'NODE_DEBUG_NATIVE', 'NODE_V8_COVERAGE']);

/** This process's environment, as a daemon is started with it. */
export function daemonEnvironment(): Record<string, string> {
  const kept = Object.entries(process.env).flatMap(([name, value]) =>
    value === undefined || ofNode.has(name) ? [] : [[name, value] as const],
  );
  // Node gives this one to whatever it starts, unless it is named.
  return { ...Object.fromEntries(kept), ...takenLauncherVariables(), NODE_V8_COVERAGE: '' };
}

/** The daemon's program: what a checkout builds before it starts anything, or what is published. */
export function daemonEntry(): string {
  const entry = import.meta.url.endsWith('.ts') ? '../../dist/daemon.js' : './daemon.js';
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
