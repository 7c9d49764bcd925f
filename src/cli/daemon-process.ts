/**
 * A daemon without a service manager: a process of its own session with a log file. Which process
 * it is stands in `daemon.json` of the state directory, with when it started, so that another one
 * that later has the same number is not taken for it.
 */
import { spawn } from 'node:child_process';
import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { TrlError } from '../errors.ts';
import { daemonEnvironment, dialSocket } from '../local/index.ts';

/** A daemon that was started here. */
export interface DaemonRecord {
  readonly pid: number;
  /** As the kernel tells it, in its own unit; `null` where it does not. */
  readonly startedAt: string | null;
  readonly socketPath: string;
}

const startMs = 30_000;
/** The daemon gives commands ten seconds to end. */
const stopMs = 30_000;
/** The runner gives them five, where no daemon tells it to. */
const killMs = 8_000;
const pollMs = 50;
const logBytesMax = 8 * 1024 * 1024;

export const stateDir = (): string =>
  path.join(process.env['XDG_STATE_HOME'] || path.join(homedir(), '.local', 'state'), 'trl');
export const logFile = (): string => path.join(stateDir(), 'daemon.log');
const recordFile = (): string => path.join(stateDir(), 'daemon.json');
const lockFile = (): string => path.join(stateDir(), 'daemon.lock');

/** The daemon that was started here and still runs, or `null`. */
export function runningDaemon(): DaemonRecord | null {
  const record = readRecord(recordFile());
  return record !== null && isAlive(record) ? record : null;
}

/**
 * Starts it and waits until it listens.
 *
 * @throws TrlError BACKEND_UNAVAILABLE with what it said when it does not
 */
export async function startProcess(
  argv: readonly string[],
  socketPath: string,
): Promise<DaemonRecord> {
  using _lock = inStateDir(takeLock);
  const log = logFile();
  const out = inStateDir(() => openLog(log));
  const begun = fstatSync(out).size;
  const [program = process.execPath, ...args] = argv;
  // Its own session: neither the terminal's end nor its Ctrl-C reaches it.
  const child = spawn(program, args, {
    detached: true,
    cwd: homedir(),
    env: daemonEnvironment(),
    stdio: ['ignore', out, out],
  });
  closeSync(out);
  let end: string | null = null;
  child.once('error', (error) => {
    end = String(error);
  });
  child.once('exit', (code, signal) => {
    end = `it ended (${signal ?? code})`;
  });
  const record = { pid: child.pid ?? 0, startedAt: startOf(child.pid ?? 0), socketPath };
  for (const since = Date.now(); !(await answers(socketPath)); await sleep(pollMs)) {
    if (end === null && Date.now() - since > startMs) {
      child.kill('SIGKILL');
      end = `it does not answer within ${startMs / 1_000} s`;
    }
    if (end === null) continue;
    const said = tailOf(log, 10, begun).trim();
    const message = `Cannot start the runtime: ${said === '' ? end : said}`;
    throw new TrlError('BACKEND_UNAVAILABLE', message);
  }
  child.unref();
  const made = `${recordFile()}.new`;
  writeFileSync(made, JSON.stringify(record), { mode: 0o600 });
  renameSync(made, recordFile());
  return record;
}

/** @throws TrlError BACKEND_UNAVAILABLE where the state directory cannot be made or written */
function inStateDir<T>(act: () => T): T {
  try {
    mkdirSync(stateDir(), { recursive: true, mode: 0o700 });
    return act();
  } catch (cause) {
    if (cause instanceof TrlError || !(cause instanceof Error)) throw cause;
    const message = `Cannot start the runtime: "${stateDir()}" cannot be used: ${cause.message}`;
    throw new TrlError('BACKEND_UNAVAILABLE', message, { cause });
  }
}

function openLog(log: string): number {
  if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) > logBytesMax) {
    renameSync(log, `${log}.1`);
  }
  return openSync(log, 'a', 0o600);
}

/**
 * Ends it as a service manager would; one that does not end is killed.
 *
 * @throws TrlError BACKEND_UNAVAILABLE when it stays
 */
export async function stopProcess(
  record: Pick<DaemonRecord, 'pid' | 'startedAt'>,
  signal: 'SIGTERM' | 'SIGUSR2',
): Promise<void> {
  process.kill(record.pid, signal);
  let isKilled = false;
  for (const since = Date.now(); isAlive(record); await sleep(pollMs)) {
    const waited = Date.now() - since;
    if (waited > stopMs && signal === 'SIGTERM' && !isKilled) {
      process.kill(record.pid, 'SIGKILL');
      isKilled = true;
    }
    if (waited <= stopMs + killMs) continue;
    const message = `Cannot stop the runtime: process ${record.pid} is still there`;
    throw new TrlError('BACKEND_UNAVAILABLE', `${message} after ${waited / 1_000} s`);
  }
  rmSync(recordFile(), { force: true });
}

/** A process by its number as it is now. */
export const processNow = (pid: number): Pick<DaemonRecord, 'pid' | 'startedAt'> => ({
  pid,
  startedAt: startOf(pid),
});

/** What the daemon of this number said that it ended, or left; it is told once. */
export function takeStopped(pid: number): readonly StoppedCommand[] {
  const file = path.join(stateDir(), 'stopped.json');
  try {
    const told: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (!isObject(told) || Reflect.get(told, 'pid') !== pid) return [];
    rmSync(file, { force: true });
    const commands: unknown = Reflect.get(told, 'commands');
    return Array.isArray(commands) ? commands.flatMap(stoppedIn) : [];
  } catch {
    return [];
  }
}

export interface StoppedCommand {
  readonly exec_id: string;
  readonly session_id: string;
  readonly session: string | null;
  readonly command: string;
  readonly end: string;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

function stoppedIn(value: unknown): StoppedCommand[] {
  if (!isObject(value)) return [];
  const text = (name: string): string => String(Reflect.get(value, name) ?? '');
  const session: unknown = Reflect.get(value, 'session');
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
export async function endLeftRunner(): Promise<boolean> {
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
    const dir: unknown = isObject(known) ? Reflect.get(known, 'dir') : null;
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

/** Whether a runtime takes connections there. */
export async function answers(socketPath: string): Promise<boolean> {
  const channel = await dialSocket(socketPath);
  await channel?.close();
  return channel !== null;
}

/** The last `count` lines of a file, of those behind the offset `from`. */
export function tailOf(file: string, count: number, from = 0): string {
  let fd: number;
  try {
    fd = openSync(file, 'r');
  } catch {
    return '';
  }
  try {
    const { size } = fstatSync(fd);
    const start = Math.max(from, size - 1024 * 1024, 0);
    const bytes = Buffer.alloc(Math.max(0, size - start));
    const read = readSync(fd, bytes, 0, bytes.length, start);
    const lines = bytes.toString('utf8', 0, read).split('\n');
    const whole = lines.at(-1) === '' ? lines.slice(0, -1) : lines;
    return whole
      .slice(-count)
      .map((line) => `${line}\n`)
      .join('');
  } finally {
    closeSync(fd);
  }
}

/** One start at a time; what a killed one left counts for nothing. */
function takeLock(): Disposable {
  const own = { pid: process.pid, startedAt: startOf(process.pid), socketPath: '' };
  for (let tries = 0; tries < 2; tries += 1) {
    try {
      writeFileSync(lockFile(), JSON.stringify(own), { flag: 'wx', mode: 0o600 });
      return { [Symbol.dispose]: () => rmSync(lockFile(), { force: true }) };
    } catch (error) {
      if (!(error instanceof Error) || !('code' in error) || error.code !== 'EEXIST') throw error;
      const holder = readRecord(lockFile());
      if (holder !== null && isAlive(holder)) break;
      rmSync(lockFile(), { force: true });
    }
  }
  throw new TrlError('BACKEND_UNAVAILABLE', 'Cannot start the runtime: it is being started now');
}

function readRecord(file: string): DaemonRecord | null {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (typeof value !== 'object' || value === null) return null;
    const pid: unknown = Reflect.get(value, 'pid');
    const startedAt: unknown = Reflect.get(value, 'startedAt');
    const socketPath: unknown = Reflect.get(value, 'socketPath');
    if (!Number.isSafeInteger(pid) || typeof pid !== 'number' || pid <= 1) return null;
    if (typeof socketPath !== 'string') return null;
    return { pid, startedAt: typeof startedAt === 'string' ? startedAt : null, socketPath };
  } catch {
    return null;
  }
}

function isAlive({ pid, startedAt }: Pick<DaemonRecord, 'pid' | 'startedAt'>): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return startOf(pid) === startedAt;
}

/** Ticks from the start of the host to the start of the process, and the host's own start. */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // One that has ended and was not waited for is not running.
    if (fields[0] === 'Z' || fields[0] === 'X') return 'ended';
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return `${boot} ${fields[19] ?? ''}`;
  } catch {
    return null;
  }
}
