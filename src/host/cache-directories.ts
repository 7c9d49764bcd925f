/**
 * Which runtimes of a user have sessions with a cache: beside the one that all share there may be
 * some of a command's own. By a lock of the kernel on one file, so that it ends with its holder.
 */
import {
  chmodSync,
  closeSync,
  constants,
  readdirSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import type { BytePath } from '../change.ts';
import { entryPathIn, errnoCodeOf, O_PATH, openOrNull } from '../workspace/byte-path.ts';

/** How long a starting runtime waits for another that sets a cache aside, in `ms`. */
const waitMs = 5_000;

export class CacheLocks {
  readonly #directory: string;
  readonly #held = new Map<string, DatabaseSync>();

  /** @param directory of all caches; that of each exists when it is used */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** This runtime has it, until {@link release}. */
  acquire(id: string): void {
    if (this.#held.has(id)) return;
    const lock = this.#open(id, waitMs);
    try {
      lock.exec('BEGIN; SELECT count(*) FROM sqlite_master');
    } catch (error) {
      lock.close();
      throw error;
    }
    this.#held.set(id, lock);
  }

  release(id: string): void {
    this.#held.get(id)?.close();
    this.#held.delete(id);
  }

  /**
   * Runs `act` unless another runtime uses it; a runtime that starts meanwhile waits. `null`:
   * another one uses it.
   */
  runExclusive<Answer>(id: string, act: () => Answer): Answer | null {
    const isHeld = this.#held.has(id);
    this.release(id);
    const lock = this.#open(id, 0);
    try {
      lock.exec('BEGIN EXCLUSIVE');
    } catch {
      lock.close();
      if (isHeld) this.acquire(id);
      return null;
    }
    try {
      return act();
    } finally {
      lock.close();
      if (isHeld) this.acquire(id);
    }
  }

  #open(id: string, timeout: number): DatabaseSync {
    return new DatabaseSync(path.join(this.#directory, id, 'use.lock'), { timeout });
  }
}

// Removes what a command may have filled with anything, and may be changing: by descriptors, so
// that no link leads elsewhere, and with directories made writable that are not.

const { O_DIRECTORY, O_NOFOLLOW } = constants;
/** For a directory that is looked into by {@link entryPathIn}. */
export const directoryFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW;
/** Descriptors open at once; deeper entries are moved up first. */
const depthMax = 64;
const turnEntries = 256;

/** What could not be removed, and why the first of it could not. */
export interface RemovalFailures {
  readonly count: number;
  readonly why: string | null;
}

/** Removes `name` of an open directory, whatever it is; others have their turn meanwhile. */
export async function removeTree(directory: number, name: BytePath): Promise<RemovalFailures> {
  const removing = new Removing(directory);
  for (const _ of removing.all(name)) await turn();
  return removing.left;
}

/** The same at once, for what is small. */
export function removeTreeSync(directory: number, name: BytePath): RemovalFailures {
  const removing = new Removing(directory);
  for (const _ of removing.all(name));
  return removing.left;
}

/** Lets its owner enter and change a directory; another owner's stays unchanged. */
export function makeWritable(directory: number): void {
  try {
    chmodSync(`/proc/self/fd/${directory}`, 0o700);
  } catch {
    // What follows from it is said by what fails then.
  }
}

class Removing {
  readonly #top: number;
  /** Names in the top directory. */
  readonly #names: BytePath[] = [];
  #moved = 0;
  #seen = 0;
  #count = 0;
  #why: string | null = null;

  constructor(top: number) {
    this.#top = top;
  }

  get left(): RemovalFailures {
    return { count: this.#count, why: this.#why };
  }

  *all(name: BytePath): Generator<void> {
    this.#names.push(name);
    for (let next = this.#names.pop(); next !== undefined; next = this.#names.pop()) {
      yield* this.#one(this.#top, next, 0);
    }
  }

  *#one(directory: number, name: BytePath, depth: number): Generator<void> {
    this.#seen += 1;
    if (this.#seen % turnEntries === 0) yield;
    const at = entryPathIn(directory, name);
    const code = this.#tried(() => unlinkSync(at), ['EISDIR', 'EPERM']);
    if (code !== 'EISDIR' && code !== 'EPERM') return;
    const inside = openOrNull(at, directoryFlags);
    if (inside === null) {
      // A file that must not be changed, or what became something else just now.
      this.#tried(() => unlinkSync(at), []);
      return;
    }
    try {
      makeWritable(inside);
      if (depth >= depthMax) return this.#moveUp(at);
      let names: BytePath[] = [];
      this.#tried(() => (names = readdirSync(`/proc/self/fd/${inside}`, 'latin1')), []);
      for (const one of names) yield* this.#one(inside, one, depth + 1);
    } finally {
      closeSync(inside);
    }
    this.#tried(() => rmdirSync(at), []);
  }

  #moveUp(at: Buffer): void {
    const name = `.deep-${process.pid}-${this.#moved}`;
    this.#moved += 1;
    if (this.#tried(() => renameSync(at, entryPathIn(this.#top, name)), []) === null) {
      this.#names.push(name);
    }
  }

  /** The code of its error, `null` without one; counted unless it is `expected` or gone. */
  #tried(act: () => unknown, expected: readonly string[]): string | null {
    try {
      act();
      return null;
    } catch (error) {
      const code = errnoCodeOf(error);
      if (code === 'ENOENT' || expected.includes(code)) return code;
      this.#count += 1;
      this.#why ??= error instanceof Error ? error.message : String(error);
      return code;
    }
  }
}
