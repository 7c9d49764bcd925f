/**
 * The daemon's own environment. At its start, the daemon moves into memory all variables that must
 * not show in `/proc/<pid>/environ` and must not pass to the programs that it starts.
 *
 * The kernel shows the process's initial strings as long as they are on its stack, even if the
 * process unsets the variables. The daemon therefore overwrites them there through
 * `/proc/self/mem`: this takes about a millisecond, and the process and its standard streams stay
 * the same. If that fails, the daemon replaces itself (`process.execve`) with a clean environment,
 * and passes the values as standard input in an unnamed in-memory file. That costs a start of Node,
 * and is only possible if the daemon needs no standard input, because Node passes no other
 * descriptor on.
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
/** Linux only; Node has no constant for it. */
const O_TMPFILE = 0o20000000 | O_DIRECTORY;
const tmpfsMagic = 0x01021994;
/** Fields 50 and 51 of `/proc/self/stat`, counted after the program's name. */
const [startField, endField] = [47, 48];
/** Names the descriptor that contains the values, for the process after `execve`. */
const handedOver = 'TRL_ENVIRONMENT_FD';

/** Whether a variable must be hidden. Must not throw. */
export type ShouldTakeVariable = (name: string, value: string) => boolean;

export class OwnEnvironment {
  /**
   * The daemon's initial variables, including the hidden ones, without those that are only for
   * Node.
   */
  readonly env: Readonly<Record<string, string>>;
  readonly #taken = new Set<string>();

  private constructor(env: Readonly<Record<string, string>>) {
    this.env = env;
  }

  /**
   * The environment of this process, with the values from before an `execve` of the same daemon.
   */
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

  /** Names of the hidden variables. */
  get taken(): readonly string[] {
    return [...this.#taken];
  }

  /**
   * Removes variables from `process.env` and from what the kernel shows. Further calls may remove
   * others.
   *
   * @param again whether the process may replace itself if nothing else helps; this method then
   *   does not return
   * @returns one clause with the reason why `/proc` still shows them, or `null`
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

/**
 * Overwrites variables in the block that `/proc/self/environ` shows; returns the reason if it
 * cannot.
 */
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
        // Only the expected bytes may be overwritten.
        if (!there.equals(bytes)) return 'its environment is not where the kernel says it is';
        writeSync(memory, Buffer.alloc(bytes.length), 0, bytes.length, start + at);
      }
    } finally {
      closeSync(memory);
    }
    const left = entriesOf(readFileSync('/proc/self/environ'), names);
    return left.length === 0 ? null : 'the kernel still shows them';
  } catch (error) {
    // Without this file, the variables do not show there.
    if (isErrno(error, 'ENOENT') && !exists('/proc/self/environ')) return null;
    return `its environment cannot be overwritten (${error instanceof Error ? error.message : ''})`;
  }
}

interface Entry {
  readonly at: number;
  readonly bytes: Buffer;
}

/** `NAME=value` entries of the block with their offsets; both entries of a duplicate name. */
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

/**
 * Address of the block. The kernel may report 0 if this process may not read its own memory layout.
 */
function blockStart(): number {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  // The program's name is in parentheses and may contain any character.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [start, end] = [Number(fields[startField]), Number(fields[endField])];
  if (start > 0 && end > start && Number.isSafeInteger(end)) return start;
  throw new Error('its address in memory is not shown');
}

/**
 * Replaces this process with the same program, without the hidden variables.
 *
 * @returns the reason if it cannot; else it does not return
 */
export function reexecuteProcess(values: Readonly<Record<string, string>>): string {
  if (process.execve === undefined) return 'this Node cannot restart itself (process.execve)';
  try {
    if (statfsSync('/dev/shm').type !== tmpfsMagic) return '/dev/shm is not in memory';
    const memory = openSync('/dev/shm', O_TMPFILE | O_RDWR, 0o600);
    writeSync(memory, JSON.stringify(values));
    // The next open takes the lowest free descriptor: standard input, which `execve` passes on.
    closeSync(0);
    const input = openSync(`/proc/self/fd/${memory}`, O_RDWR);
    closeSync(memory);
    if (input !== 0) return 'another part of the daemon uses standard input';
    const argv = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
    process.execve(process.execPath, argv, { ...copyOf(process.env), [handedOver]: '0' });
    return 'execve returned';
  } catch (error) {
    return `it cannot restart itself (${error instanceof Error ? error.message : ''})`;
  }
}

/** Reads and empties the standard input that the previous process left. */
function readHandedOver(): Record<string, string> {
  const found = fstatSync(0);
  // A file with a name comes from another program, not from the previous process.
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
