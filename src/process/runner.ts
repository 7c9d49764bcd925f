/**
 * Starts the runner, or adopts the one that a crashed daemon left: its socket, its key (0600) and
 * the last epoch are in the state directory. The key reaches a new runner through a pipe.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmod,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  writeFile,
} from 'node:fs/promises';
import { closeSync, existsSync, lstatSync, openSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { TrlError } from '../errors.ts';
import { isCount, isText, objectOf } from '../json-shape.ts';
import { launcherEnvironment } from '../launcher-variables.ts';
import { removeMemoryGroups } from '../runner/cgroup.ts';
import { isMemoryDir } from '../runner/journal.ts';
import { descendants, sendSignal } from '../runner/processes.ts';
import type { RedactorStart, Sealing } from '../redactor/wire.ts';
import { RunnerLink, type RunnerLinkEvents } from './runner-link.ts';

export interface RunnerOptions {
  /** Directory for the key and the epoch (0700), or `null`: the runner ends with this daemon. */
  readonly stateDir: string | null;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Bytes of all journals. */
  readonly journalsBytes: number;
  /** Commands running at once. */
  readonly commandsMax: number;
  /** Sessions with namespaces at once. */
  readonly sessionsMax: number;
  /** How long a runner waits for a daemon to come back before it ends its commands. */
  readonly lingerMs: number;
  /** The runner's program. */
  readonly program: string;
  /** How output is redacted. */
  readonly redaction: RedactorStart;
  /** How raw output is sealed; `null`, and the default: not at all. */
  readonly sealing?: Sealing | null;
}

/** What the state directory records of the runner. */
const isRunnerRecord = objectOf({ dir: isText, key: isText, epoch: isCount });

interface RunnerRecord {
  readonly dir: string;
  readonly key: string;
  readonly epoch: number;
}

const startMs = 15_000;
/**
 * A small young generation: a larger runner spawns more slowly. No debugger by a signal: it would
 * show what commands get.
 */
const lean = ['--max-semi-space-size=1', '--disable-sigusr1'];
/** An ephemeral daemon does not come back. */
const ephemeralLingerMs = 1_000;

const recordPath = (stateDir: string): string => join(stateDir, 'runner.json');

async function readRecord(stateDir: string): Promise<RunnerRecord | null> {
  try {
    const known: unknown = JSON.parse(await readFile(recordPath(stateDir), 'utf8'));
    return isRunnerRecord(known) ? known : null;
  } catch {
    return null;
  }
}

async function writeRecord(stateDir: string, known: RunnerRecord): Promise<void> {
  const path = recordPath(stateDir);
  await writeFile(`${path}.new`, JSON.stringify(known), { mode: 0o600 });
  await rename(`${path}.new`, path);
}

/** The first directory on tmpfs that is ours: output is not redacted yet, so it stays in memory. */
async function runtimeDir(env: RunnerOptions['env']): Promise<string> {
  const uid = process.getuid?.() ?? 0;
  const runtime = env['XDG_RUNTIME_DIR'];
  const usual =
    runtime !== undefined && isMemoryDir(runtime)
      ? join(runtime, 'trl')
      : join(isMemoryDir('/dev/shm') ? '/dev/shm' : tmpdir(), `trl-${uid}`);
  for (let tries = 0; ; tries += 1) {
    const dir = await makeIn(await baseOf(usual));
    if (dir !== null) return dir;
    if (tries === removedTries) throw new TrlError('BACKEND_UNAVAILABLE', `Cannot keep "${usual}"`);
  }
}

/** The last runner that ends removes the common directory. */
const removedTries = 5;

/**
 * The common directory of all runners. Another user may have made the usual one first, in a
 * directory that all can write to: then it is one with an unpredictable name, found or made.
 *
 * @throws TrlError `BACKEND_UNAVAILABLE` when neither can be made
 */
async function baseOf(usual: string): Promise<string> {
  await mkdir(usual, { mode: 0o700, recursive: true }).catch(() => {});
  if ((await isPrivate(usual)) || !isThere(usual)) return usual;
  const names = await readdir(dirname(usual)).catch(() => []);
  const others = names.filter((name) => name.startsWith(`${basename(usual)}-`));
  for (const name of others.filter((one) => /-[0-9a-f]{16}$/.test(one))) {
    const other = join(dirname(usual), name);
    if (await isPrivate(other)) return other;
  }
  const fresh = `${usual}-${randomBytes(8).toString('hex')}`;
  try {
    await mkdir(fresh, { mode: 0o700 });
    await chmod(fresh, 0o700);
  } catch (cause) {
    const message = `Cannot use "${usual}", which is no 0700 directory of ours, nor make another`;
    throw new TrlError('BACKEND_UNAVAILABLE', message, { cause });
  }
  return fresh;
}

/** Also a link that leads nowhere. */
function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** A directory for a runner; `null`: the common one was removed meanwhile. */
async function makeIn(base: string): Promise<string | null> {
  await sweep(base);
  const dir = join(base, `r-${randomBytes(8).toString('hex')}`);
  try {
    await mkdir(dir, { mode: 0o700 });
  } catch (error) {
    if (existsSync(base)) throw error;
    return null;
  }
  await chmod(dir, 0o700);
  return dir;
}

/** Not followed: in a shared directory another user's link could lead to any directory of ours. */
async function isPrivate(dir: string): Promise<boolean> {
  const found = await lstat(dir).catch(() => null);
  const isOurs = found?.isDirectory() === true && found.uid === process.getuid?.();
  return isOurs && (found.mode & 0o077) === 0;
}

const runnerName = /^r-[0-9a-f]{16}$/;

/** Removes what killed runners left: directories whose socket no runner answers on. */
async function sweep(base: string): Promise<void> {
  const names = await readdir(base).catch(() => []);
  for (const name of names.filter((one) => runnerName.test(one))) {
    const dir = join(base, name);
    const made = await lstat(dir).catch(() => null);
    if (made === null || Date.now() - made.ctimeMs < startMs) continue;
    if (!(await answers(join(dir, 'runner.sock')))) await clear(dir);
  }
}

/**
 * Ends processes that a killed runner left outside any sandbox, then removes its directory.
 * Sandboxed commands ended with it.
 */
async function clear(dir: string): Promise<void> {
  for (const name of await readdir('/proc').catch(() => [])) {
    if (!/^[0-9]+$/.test(name)) continue;
    const environment = await readFile(`/proc/${name}/environ`, 'utf8').catch(() => '');
    if (!environment.split('\0').includes(`TRL_RUNNER_DIR=${dir}`)) continue;
    // With the processes that it adopted, which may have no mark.
    const pid = Number(name);
    for (const one of [pid, ...descendants(pid)]) sendSignal(one, 'SIGKILL');
  }
  await rm(dir, { recursive: true, force: true });
  removeMemoryGroups(basename(dir));
  // Unless other runners are in it, or a socket.
  await rmdir(dirname(dir)).catch(() => {});
}

/** Removes what a killed runner left. A living runner that only lost its link stays. */
export async function removeLostRunner({ link, dir }: Runner): Promise<void> {
  if (!isRunner(link.pid, dir)) await clear(dir);
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

async function startRunner(dir: string, key: string, options: RunnerOptions): Promise<void> {
  const complaints = openSync(join(dir, 'runner.log'), 'a', 0o600);
  // The runner's own environment holds nothing of the user: no secret shows in its /proc entry.
  const child = spawn(process.execPath, [...lean, options.program, dir], {
    detached: true,
    cwd: '/',
    env: { PATH: '/usr/bin:/bin', ...launcherEnvironment(process.env) },
    stdio: ['ignore', 'ignore', complaints, 'pipe'],
  });
  closeSync(complaints);
  const pipe = child.stdio[3];
  if (!(pipe instanceof Duplex)) {
    throw new TrlError('BACKEND_UNAVAILABLE', 'Cannot start the runner: no pipe to it');
  }
  // For example: the file of this program was replaced or removed meanwhile.
  let failure = 'it ended at once';
  const said = new Promise<boolean>((resolve) => {
    pipe.once('data', () => resolve(true));
    pipe.once('error', () => resolve(false));
    child.once('exit', () => resolve(false));
    child.once('error', (error) => {
      failure = error.message;
      resolve(false);
    });
    setTimeout(() => resolve(false), startMs).unref();
  });
  const start = {
    key,
    journals_bytes: options.journalsBytes,
    ...(options.stateDir === null ? {} : { files_dir: join(options.stateDir, 'journals') }),
    commands_max: options.commandsMax,
    sessions_max: options.sessionsMax,
    linger_ms: options.stateDir === null ? ephemeralLingerMs : options.lingerMs,
  };
  pipe.write(`${JSON.stringify(start)}\n`);
  const ready = await said;
  pipe.destroy();
  child.unref();
  if (ready) return;
  child.kill('SIGKILL');
  const complaint = await readFile(join(dir, 'runner.log'), 'utf8').catch(() => '');
  const why = complaint.trim().slice(-2_000) || failure;
  throw new TrlError('BACKEND_UNAVAILABLE', `Cannot start the runner: ${why}`);
}

const gonePollMs = 10;
const goneMs = 2_000;

/**
 * Ends a runner and everything in it. A runner that does not answer within `waitMs`, or does
 * not end then, is killed: sandboxed commands end with it, and others are searched for.
 */
export async function endRunner({ link, dir }: Runner, waitMs: number): Promise<void> {
  const { pid } = link;
  const ended = link.request('shutdown', {}).catch(() => {});
  const isLate = await Promise.race([ended.then(() => false), sleep(waitMs, true, { ref: false })]);
  const since = Date.now() - (isLate ? goneMs : 0);
  for (; isRunner(pid, dir) && Date.now() - since < 2 * goneMs; await sleep(gonePollMs)) {
    if (Date.now() - since >= goneMs) sendSignal(pid, 'SIGKILL');
  }
  await clear(dir);
}

/** Another process may have its number by now. */
function isRunner(pid: number, dir: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(dir);
  } catch {
    return false;
  }
}

/** A connected runner and where it lives. */
export interface Runner {
  readonly link: RunnerLink;
  readonly dir: string;
  /** Whether it was running before: then it may have executions. */
  readonly adopted: boolean;
}

/**
 * @throws TrlError `BACKEND_UNAVAILABLE` when no runner can be had
 */
export async function openRunner(
  options: RunnerOptions,
  events: RunnerLinkEvents,
): Promise<Runner> {
  const { stateDir, redaction: start, sealing = null } = options;
  const known = stateDir === null ? null : await readRecord(stateDir);
  const epoch = (known?.epoch ?? 0) + 1;
  if (known !== null && stateDir !== null) {
    // The new epoch is on disk before it is used, so no later daemon can use it again.
    await writeRecord(stateDir, { ...known, epoch });
    const auth = { key: Buffer.from(known.key, 'hex'), epoch };
    const link = await RunnerLink.open(join(known.dir, 'runner.sock'), auth, events).catch(
      () => null,
    );
    if (link !== null) {
      await link.request('redaction', { start, sealing });
      return { link, dir: known.dir, adopted: true };
    }
    // After a restart of the host, the directory around it may be another user's.
    if (await isPrivate(dirname(known.dir))) await clear(known.dir);
  }
  const dir = await runtimeDir(options.env);
  const key = randomBytes(32).toString('hex');
  try {
    if (stateDir !== null) await writeRecord(stateDir, { dir, key, epoch });
    await startRunner(dir, key, options);
    const auth = { key: Buffer.from(key, 'hex'), epoch };
    const link = await RunnerLink.open(join(dir, 'runner.sock'), auth, events);
    await link.request('redaction', { start, sealing });
    return { link, dir, adopted: false };
  } catch (error) {
    await rm(dir, { recursive: true, force: true });
    throw error;
  }
}
