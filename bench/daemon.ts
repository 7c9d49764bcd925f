/** A daemon of the benchmark's own, with its state, socket and workspace in one directory. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Client } from '../src/client/index.ts';
import { connectLocal, daemonCommand } from '../src/local/index.ts';
import { childrenOf } from './processes.ts';

/** Where a part of the benchmark works; removed when it is disposed. */
export class Place implements Disposable {
  readonly dir = realpathSync(mkdtempSync(path.join(tmpdir(), 'trl-bench-')));
  readonly work = path.join(this.dir, 'work');
  readonly socketPath = path.join(this.dir, 'trl.sock');
  /** No daemon of the user is found, and none of his state is touched. */
  readonly env = {
    ...process.env,
    XDG_STATE_HOME: path.join(this.dir, 'state'),
    TRL_SOCKET_PATH: this.socketPath,
  };

  constructor() {
    mkdirSync(this.work);
  }
  [Symbol.dispose](): void {
    rmSync(this.dir, { recursive: true, force: true });
  }
}

export interface Daemon extends AsyncDisposable {
  readonly client: Client;
  readonly pid: number;
  /** The process that starts the commands. */
  readonly runnerPid: number;
}

export interface DaemonOptions {
  /** Where sessions may work; default: the place's own directory. */
  readonly roots?: readonly string[];
  /** For the daemon's Node. */
  readonly flags?: readonly string[];
  /** A module that changes classes of the sources: loaded first, and no bundle is started then. */
  readonly patch?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts a daemon and waits for the answer to a first ping. */
export async function startDaemon(place: Place, options: DaemonOptions = {}): Promise<Daemon> {
  const { roots = [place.work], flags = [], env = {}, patch } = options;
  const rootArgs = roots.flatMap((root) => ['--workspace-root', root]);
  const args = ['serve', '--socket-path', place.socketPath, ...rootArgs];
  const nodeFlags = [...daemonFlags(), ...flags];
  const command = patch === undefined ? daemonCommand() : fromSources(patch);
  const child = spawn(process.execPath, [...nodeFlags, ...command, ...args], {
    cwd: place.work,
    env: { ...place.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const said: unknown = await Promise.race([once(child.stdout, 'data'), ended.then(() => null)]);
  if (said === null || child.pid === undefined) throw new Error('the daemon did not start');
  const client = await connectLocal({ socketPath: place.socketPath });
  await client.ping();
  return {
    client,
    pid: child.pid,
    runnerPid: childrenOf(child.pid)[0] ?? 0,
    [Symbol.asyncDispose]: async () => {
      // Without a session nothing keeps the runner, so it ends with the daemon.
      for (const { session_id: id } of await client.sessions()) {
        await client.session(id).destroy({ force: true });
      }
      await client.close();
      child.kill('SIGTERM');
      await ended;
    },
  };
}

function fromSources(patch: string): string[] {
  const main = path.join(import.meta.dirname, '../src/daemon/main.ts');
  return [...daemonCommand().slice(0, -1), '--import', patch, main];
}

/** Flags for the daemon's Node, to look into it: `TRL_BENCH_DAEMON_FLAGS="--cpu-prof"`. */
function daemonFlags(): string[] {
  return (process.env['TRL_BENCH_DAEMON_FLAGS'] ?? '').split(' ').filter(Boolean);
}
