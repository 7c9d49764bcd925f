/**
 * The user's own runtime in the background: a process of its own session with a log file.
 * `daemon.json` in the state directory has its pid and start time, so that a later process with the
 * same pid is not mistaken for it.
 */
import { spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
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
import { fieldOf } from '../json-shape.ts';
import { TrlError } from '../errors.ts';
import { takenLauncherVariables } from '../launcher-variables.ts';
import { version } from '../protocol/version.ts';
import { dialSocket } from './socket.ts';
import { daemonCommand, daemonEntry, daemonEnvironment } from './spawn.ts';

/** A runtime that was started in the background. */
export interface DaemonRecord {
  readonly pid: number;
  /** From the kernel, in the kernel's unit; `null` if the kernel does not report it. */
  readonly startedAt: string | null;
  readonly socketPath: string;
  /** Of the program that it runs, when it was started because somebody needed it. */
  readonly program?: Program;
}

/** Which build of the runtime: whether another one is newer. */
interface Program {
  readonly version: string;
  readonly file: string;
  /** When the file was made, Unix milliseconds. */
  readonly at: number;
}

const startMs = 30_000;
/** The daemon gives commands ten seconds to end. */
const stopMs = 30_000;
/** The runner gives them five if no daemon stops it. */
export const killMs = 8_000;
export const pollMs = 50;
const logBytesMax = 8 * 1024 * 1024;

export const stateDir = (): string =>
  path.join(process.env['XDG_STATE_HOME'] || path.join(homedir(), '.local', 'state'), 'trl');
export const logFile = (): string => path.join(stateDir(), 'daemon.log');
const recordFile = (): string => path.join(stateDir(), 'daemon.json');
const lockFile = (): string => path.join(stateDir(), 'daemon.lock');

/** The daemon that was started in the background and still runs, or `null`. */
export function runningDaemon(): DaemonRecord | null {
  const record = readRecord(recordFile());
  return record !== null && isAlive(record) ? record : null;
}

/**
 * Starts the user's runtime because somebody needs it, unless another program does so just now or
 * it runs already. Its environment has no secret and does not depend on the program that starts it.
 * It ends when nobody has used it for a while.
 *
 * @param replaces one of an older build, which leaves what runs to the new one
 * @throws TrlError BACKEND_UNAVAILABLE with what it said when it does not start
 */
export async function startOnDemand(
  socketPath: string,
  replaces: DaemonRecord | null = null,
): Promise<void> {
  for (const since = Date.now(); ; await sleep(pollMs)) {
    const isThere = await answers(socketPath);
    if (isThere && runningDaemon()?.pid !== replaces?.pid) return;
    if (isThere && replaces === null) return;
    try {
      await startUnderLock(socketPath, replaces);
      return;
    } catch (error) {
      if (!(error instanceof BeingStarted) || Date.now() - since > startMs) throw error;
    }
  }
}

/**
 * Ends the runtime that somebody's need started, so that one with settings of its own takes its
 * place; what runs in it goes on in that one.
 */
export async function endOnDemand(): Promise<void> {
  const record = runningDaemon();
  if (record?.program !== undefined) await stopProcess(record, 'SIGUSR2');
}

/** A function of its own: in a loop, a bundle for older Node would throw an earlier error again. */
async function startUnderLock(socketPath: string, replaces: DaemonRecord | null): Promise<void> {
  // First of all: nothing is stopped by a program that cannot start another.
  const argv = [process.execPath, ...daemonCommand(), 'serve', '--projects', '--idle-exit'];
  using _lock = inStateDir(takeLock);
  // The previous owner of the lock may have started it meanwhile.
  if (replaces !== null && runningDaemon()?.pid === replaces.pid) {
    await stopProcess(replaces, 'SIGUSR2');
  } else if (await answers(socketPath)) return;
  await spawnInBackground(argv, { socketPath, env: plainEnvironment(), program: ownProgram() });
}

/** Variables that say who and where somebody is; none holds a secret. */
const plainNames = new Set(
  [
    // Not what a runtime obeys: it is the same for all.
    'TRL_SOCKET_PATH TRL_IDLE_EXIT_MS TRL_NOTIFY TRL_RUNNER_LINGER_MS',
    'HOME USER LOGNAME SHELL PATH LANG LANGUAGE TZ TMPDIR',
    'DBUS_SESSION_BUS_ADDRESS DISPLAY WAYLAND_DISPLAY',
    // As `certificateVariables` of commands.
    'AWS_CA_BUNDLE CARGO_HTTP_CAINFO CURL_CA_BUNDLE GIT_SSL_CAINFO NIX_SSL_CERT_FILE',
    'NODE_EXTRA_CA_CERTS PIP_CERT REQUESTS_CA_BUNDLE SSL_CERT_DIR SSL_CERT_FILE',
    // As the tool locations of commands.
    'ASDF_DIR DOTNET_ROOT GOROOT JAVA_HOME NVM_DIR PYENV_ROOT RBENV_ROOT RUSTUP_HOME',
    'SDKMAN_DIR VOLTA_HOME',
  ].flatMap((names) => names.split(' ')),
);

function plainEnvironment(): Record<string, string> {
  const found = Object.entries(process.env).flatMap(([name, value]) => {
    const isPlain = plainNames.has(name) || /^(?:LC_|XDG_)/.test(name);
    return value !== undefined && isPlain ? [[name, value] as const] : [];
  });
  return { ...Object.fromEntries(found), ...takenLauncherVariables(), NODE_V8_COVERAGE: '' };
}

/** Whether the runtime in the background is of an older build than this program. */
export function findOutdatedDaemon(): DaemonRecord | null {
  const record = runningDaemon();
  const own = ownProgram();
  if (record?.program === undefined) return null;
  const { version: other, file, at } = record.program;
  const order = other.localeCompare(own.version, 'en', { numeric: true });
  const isOlder = order < 0 || (order === 0 && file === own.file && at < own.at);
  return isOlder ? record : null;
}

function ownProgram(): Program {
  const file = daemonEntry();
  return { version: version(), file, at: statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0 };
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
  return await spawnInBackground(argv, { socketPath, env: daemonEnvironment() });
}

async function spawnInBackground(
  argv: readonly string[],
  by: {
    readonly socketPath: string;
    readonly env: Readonly<Record<string, string>>;
    readonly program?: Program;
  },
): Promise<DaemonRecord> {
  const { socketPath, env, program: build } = by;
  const log = logFile();
  const out = inStateDir(() => openLog(log));
  const begun = fstatSync(out).size;
  const [program = process.execPath, ...args] = argv;
  // Its own session: neither the terminal's end nor its Ctrl-C reaches it.
  const child = spawn(program, args, {
    detached: true,
    cwd: existsSync(homedir()) ? homedir() : '/',
    env,
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
  const record = {
    pid: child.pid ?? 0,
    startedAt: startOf(child.pid ?? 0),
    socketPath,
    ...(build === undefined ? {} : { program: build }),
  };
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

/** Somebody else starts it just now. */
class BeingStarted extends TrlError {}

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
  throw new BeingStarted(
    'BACKEND_UNAVAILABLE',
    'Cannot start the runtime: it is being started now',
  );
}

function readRecord(file: string): DaemonRecord | null {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (typeof value !== 'object' || value === null) return null;
    const pid = fieldOf(value, 'pid');
    const startedAt = fieldOf(value, 'startedAt');
    const socketPath = fieldOf(value, 'socketPath');
    if (!Number.isSafeInteger(pid) || typeof pid !== 'number' || pid <= 1) return null;
    if (typeof socketPath !== 'string') return null;
    const startedAt_ = typeof startedAt === 'string' ? startedAt : null;
    const program = programIn(fieldOf(value, 'program'));
    return {
      pid,
      startedAt: startedAt_,
      socketPath,
      ...(program === null ? {} : { program }),
    };
  } catch {
    return null;
  }
}

function programIn(value: unknown): Program | null {
  if (typeof value !== 'object' || value === null) return null;
  const version = fieldOf(value, 'version');
  const file = fieldOf(value, 'file');
  const at = fieldOf(value, 'at');
  const isWhole = typeof version === 'string' && typeof file === 'string' && typeof at === 'number';
  return isWhole ? { version, file, at } : null;
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
