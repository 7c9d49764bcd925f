/** What `trl daemon stop` ends and tells besides the process of the runtime. */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fieldOf, isObject } from '../json-shape.ts';
import { TrlError } from '../errors.ts';
import { killMs, pollMs, stateDir } from '../local/index.ts';

/** What the daemon of this number said that it ended, or left; it is told once. */
export function takeStoppedCommands(pid: number): readonly StoppedCommandRecord[] {
  const file = path.join(stateDir(), 'stopped.json');
  try {
    const told: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (!isObject(told) || fieldOf(told, 'pid') !== pid) return [];
    rmSync(file, { force: true });
    const commands = fieldOf(told, 'commands');
    return Array.isArray(commands) ? commands.flatMap(stoppedIn) : [];
  } catch {
    return [];
  }
}

export interface StoppedCommandRecord {
  readonly exec_id: string;
  readonly session_id: string;
  readonly session: string | null;
  readonly command: string;
  readonly end: string;
}

function stoppedIn(value: unknown): StoppedCommandRecord[] {
  if (!isObject(value)) return [];
  const text = (name: string): string => {
    const found = fieldOf(value, name);
    return typeof found === 'string' ? found : '';
  };
  const session = fieldOf(value, 'session');
  return [
    {
      exec_id: text('exec_id'),
      session_id: text('session_id'),
      session: typeof session === 'string' ? session : null,
      command: text('command'),
      end: text('end'),
    },
  ];
}

/**
 * Ends a runner that no daemon has, as one that was killed leaves it; answers whether there was
 * one. What runs in it gets TERM, and KILL when it does not end.
 */
export async function stopOrphanedRunner(): Promise<boolean> {
  const dir = runnerDirectory();
  if (dir === null || isTaken(dir) || leftIn(dir).length === 0) return false;
  const since = Date.now();
  for (const pid of leftIn(dir)) signalTo(pid, 'SIGTERM');
  for (let left = leftIn(dir); left.length > 0; left = leftIn(dir)) {
    const waited = Date.now() - since;
    if (waited > killMs) for (const pid of left) signalTo(pid, 'SIGKILL');
    if (waited > 2 * killMs) {
      const message = `Cannot stop what runs: process ${left.join(', ')} is still there`;
      throw new TrlError('BACKEND_UNAVAILABLE', message);
    }
    await sleep(pollMs);
  }
  return true;
}

/** Whether a daemon is connected to it: one that was started elsewhere has a right to it. */
function isTaken(dir: string): boolean {
  if (process.platform !== 'linux') return true;
  const sockets = readFileSync('/proc/net/unix', 'latin1').split('\n');
  const name = path.join(dir, 'runner.sock');
  // Of a socket's columns the sixth is its state (03: connected), the last its path.
  return sockets.some((line) => line.endsWith(` ${name}`) && line.split(/ +/)[5] === '03');
}

function runnerDirectory(): string | null {
  try {
    const known: unknown = JSON.parse(readFileSync(path.join(stateDir(), 'runner.json'), 'utf8'));
    const dir = fieldOf(known, 'dir');
    return typeof dir === 'string' && path.isAbsolute(dir) ? dir : null;
  } catch {
    return null;
  }
}

/** The runner of a directory, and what it started outside of any sandbox. */
function leftIn(dir: string): number[] {
  const has = (file: string, text: string): boolean => {
    try {
      return readFileSync(file, 'latin1').split('\0').includes(text);
    } catch {
      return false;
    }
  };
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter(
      (name) =>
        has(`/proc/${name}/cmdline`, dir) || has(`/proc/${name}/environ`, `TRL_RUNNER_DIR=${dir}`),
    )
    .map(Number);
}

function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended by itself.
  }
}
