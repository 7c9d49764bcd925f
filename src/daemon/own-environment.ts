/**
 * The daemon's own environment. What must not show in `/proc/<pid>/environ`, nor pass to a program
 * that the daemon starts, is moved into memory when it starts.
 *
 * The kernel shows the strings that the process was started with as long as they stand on its
 * stack, whatever is unset later. So they are overwritten there, through `/proc/self/mem`: about a
 * millisecond, the same process, and its three standard streams stay as they are. Where that does
 * not succeed, the daemon becomes itself anew (`process.execve`) with a clean environment, the
 * values in a file of memory without a name as standard input. That costs a start of Node, and only
 * a daemon that needs no standard input can do it, since Node passes nothing else on.
 */
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  statfsSync,
  writeSync,
} from 'node:fs';
import { launcherVariables } from '../launcher-variables.ts';

const { O_DIRECTORY, O_RDWR } = constants;
/** Linux; Node does not name it. */
const O_TMPFILE = 0o20000000 | O_DIRECTORY;
const tmpfsMagic = 0x01021994;
/** Fields 50 and 51 of `/proc/self/stat`, counted behind the program's name. */
const [startField, endField] = [47, 48];
/** Says to the process that comes after an `execve` where the values are. */
const handedOver = 'TRL_ENVIRONMENT_FD';

/** Whether a variable must not show. Must not throw. */
export type ShouldTakeVariable = (name: string, value: string) => boolean;

export class OwnEnvironment {
  /** What the daemon was started with, what was taken out included; not what is for Node alone. */
  readonly env: Readonly<Record<string, string>>;
  readonly #taken = new Set<string>();

  private constructor(env: Readonly<Record<string, string>>) {
    this.env = env;
  }

  /** Of this process, with what an `execve` of the same daemon handed over. */
  static open(): OwnEnvironment {
    const before = process.env[handedOver] === '0' ? readHandedOver() : {};
    delete process.env[handedOver];
    const all = { ...copyOf(process.env), ...before };
    const launchers = launcherVariables(all);
    const kept = Object.entries(all).filter(([name]) => !launchers.includes(name));
    const own = new OwnEnvironment(Object.fromEntries(kept));
    Object.keys(before).forEach((name) => own.#taken.add(name));
    return own;
  }

  /** Names of what was taken out. */
  get taken(): readonly string[] {
    return [...this.#taken];
  }

  /**
   * Takes variables out of `process.env` and of what the kernel shows. May be called again with
   * other ones.
   *
   * @param again whether the process may become itself anew where nothing else helps; then this
   *   does not return
   * @returns why they still show in `/proc`, one clause, or `null`
   */
  take(isTaken: ShouldTakeVariable, again: boolean): string | null {
    const names = Object.entries(this.env)
      .filter(([name, value]) => !this.#taken.has(name) && isTaken(name, value))
      .map(([name]) => name);
    if (names.length === 0) return null;
    for (const name of names) {
      this.#taken.add(name);
      delete process.env[name];
    }
    const problem = erase(this.#taken);
    if (problem === null || !again) return problem;
    const values = Object.entries(this.env).filter(([name]) => this.#taken.has(name));
    const failure = reexecuteProcess(Object.fromEntries(values));
    return `${problem}; ${failure}`;
  }
}

function copyOf(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

/** Overwrites variables in the block that `/proc/self/environ` shows; answers why it could not. */
function erase(names: ReadonlySet<string>): string | null {
  try {
    const found = entriesOf(readFileSync('/proc/self/environ'), names);
    if (found.length === 0) return null;
    const start = blockStart();
    const memory = openSync('/proc/self/mem', O_RDWR);
    try {
      for (const { at, bytes } of found) {
        const there = Buffer.alloc(bytes.length);
        readSync(memory, there, 0, there.length, start + at);
        // Nothing but what was looked for is written over.
        if (!there.equals(bytes)) return 'its environment is not where the kernel says it is';
        writeSync(memory, Buffer.alloc(bytes.length), 0, bytes.length, start + at);
      }
    } finally {
      closeSync(memory);
    }
    const left = entriesOf(readFileSync('/proc/self/environ'), names);
    return left.length === 0 ? null : 'the kernel shows them still';
  } catch (error) {
    // Without this file nobody sees them there.
    if (isErrno(error, 'ENOENT') && !exists('/proc/self/environ')) return null;
    return `its environment cannot be overwritten (${error instanceof Error ? error.message : ''})`;
  }
}

interface Entry {
  readonly at: number;
  readonly bytes: Buffer;
}

/** `NAME=value` of the block, with their offsets; of a name that is there twice, both. */
function entriesOf(block: Buffer, names: ReadonlySet<string>): Entry[] {
  const found: Entry[] = [];
  for (let at = 0; at < block.length;) {
    const next = block.indexOf(0, at);
    const end = next === -1 ? block.length : next;
    const bytes = block.subarray(at, end);
    const equals = bytes.indexOf('=');
    if (equals > 0 && names.has(bytes.toString('utf8', 0, equals))) found.push({ at, bytes });
    at = end + 1;
  }
  return found;
}

/** Address of the block. The kernel may show 0, where this process may not know its own memory. */
function blockStart(): number {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  // The program's name stands in parentheses and may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [start, end] = [Number(fields[startField]), Number(fields[endField])];
  if (start > 0 && end > start && Number.isSafeInteger(end)) return start;
  throw new Error('its place in memory is not shown');
}

/**
 * Replaces this process by the same program without the variables that were taken out.
 *
 * @returns why it could not; else never
 */
export function reexecuteProcess(values: Readonly<Record<string, string>>): string {
  if (process.execve === undefined) return 'this Node cannot start itself anew (process.execve)';
  try {
    if (statfsSync('/dev/shm').type !== tmpfsMagic) return '/dev/shm is no memory';
    const memory = openSync('/dev/shm', O_TMPFILE | O_RDWR, 0o600);
    writeSync(memory, JSON.stringify(values));
    // The lowest number is taken: standard input, which is one of three that pass on.
    closeSync(0);
    const input = openSync(`/proc/self/fd/${memory}`, O_RDWR);
    closeSync(memory);
    if (input !== 0) return 'standard input is held by another part';
    const argv = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
    process.execve(process.execPath, argv, { ...copyOf(process.env), [handedOver]: '0' });
    return 'it came back';
  } catch (error) {
    return `it cannot start itself anew (${error instanceof Error ? error.message : ''})`;
  }
}

/** What the process before this one left in standard input, which then is empty. */
function readHandedOver(): Record<string, string> {
  const found = fstatSync(0);
  // Anything with a name is what somebody else gave, not the process before this one.
  if (!found.isFile() || found.nlink !== 0 || found.uid !== process.getuid?.()) return {};
  const bytes = Buffer.alloc(found.size);
  readSync(0, bytes, 0, bytes.length, 0);
  writeSync(0, Buffer.alloc(found.size), 0, found.size, 0);
  ftruncateSync(0);
  closeSync(0);
  openSync('/dev/null', 'r');
  const values: unknown = JSON.parse(bytes.toString('utf8'));
  if (typeof values !== 'object' || values === null) return {};
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));
}

function exists(file: string): boolean {
  try {
    closeSync(openSync(file, 'r'));
    return true;
  } catch (error) {
    return !isErrno(error, 'ENOENT');
  }
}

const isErrno = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;
