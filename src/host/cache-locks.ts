/**
 * Which runtimes of a user have sessions with a cache: beside the one that all share there may be
 * some of a command's own. By a lock of the kernel on one file, so that it ends with its holder.
 */
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** How long one that begins waits for another that sets a cache aside, in `ms`. */
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

  /** Runs `act` unless another runtime has it; who begins meanwhile waits. `null`: it has. */
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
