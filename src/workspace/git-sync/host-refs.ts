/** Changes refs of a repository of the host as git does: under its locks, by compare-and-swap. */
import type { BytePath, StatKey } from '../../change.ts';
import { joinPath } from '../byte-path.ts';
import { errnoCodeOf } from '../descriptor.ts';
import { releaseGitLock, takeGitLock, type GitFiles } from './git-files.ts';
import { addedReflogLines, reflogLinesOf } from './reflogs.ts';
import { parseRef, readPackedRefs, readRef, readRefs, type RefSet } from './ref-values.ts';
import type { RefValue } from './git-plan.ts';

const refLockMs = 1_000;
const logBytesMax = 64 * 1024 * 1024;
const packedBytesMax = 64 * 1024 * 1024;

export type RefSwapResult =
  | 'done'
  /** It has another value. */
  | 'changed'
  /** Somebody else has its lock. */
  | 'locked'
  /** There is another ref in its way, or the system refused. */
  | 'refused';

export interface RefSwap {
  readonly name: string;
  readonly from: RefValue;
  readonly to: RefValue;
  /** For its log; `null`: it has none. */
  readonly log: readonly string[] | null;
  /** Called under the lock with the key of what stands there then. */
  readonly put?: (key: StatKey | null) => void;
}

export class HostRefs {
  readonly #files: GitFiles;
  readonly #common: BytePath;

  constructor(files: GitFiles, common: BytePath) {
    this.#files = files;
    this.#common = common;
  }

  all(): RefSet {
    this.#files.steps.close();
    return readRefs(this.#files.steps, this.#common);
  }

  value(name: string): RefValue {
    this.#files.steps.close();
    const { steps } = this.#files;
    const loose = readRef(steps, this.#common, name);
    return loose ?? readPackedRefs(steps, this.#common).get(name) ?? null;
  }

  log(git: BytePath, name: string): string[] {
    return reflogLinesOf(this.#files.read(joinPath(git, `logs/${name}`), logBytesMax) ?? '');
  }

  async swap(swap: RefSwap): Promise<RefSwapResult> {
    const at = joinPath(this.#common, swap.name);
    if (swap.to !== null && this.#isInTheWay(swap.name)) return 'refused';
    try {
      this.#files.makeParents(at);
      if (!(await takeGitLock(this.#files, at, refLockMs))) return 'locked';
    } catch (error) {
      if (errnoCodeOf(error) === '') throw error;
      return 'refused';
    }
    try {
      if (this.value(swap.name) !== swap.from) return 'changed';
      if (swap.to === null) return await this.#remove(swap.name);
      const { name, to, log } = swap;
      if (log !== null) this.appendLog(this.#common, name, log);
      this.#files.prune(`${at}/x/y`, at);
      this.#files.replace(at, `${to}\n`);
      swap.put?.(this.#files.keyAt(at));
      return 'done';
    } catch (error) {
      if (errnoCodeOf(error) === '') throw error;
      return 'refused';
    } finally {
      releaseGitLock(this.#files, at);
    }
  }

  /** Lines that are there already are not added again. */
  appendLog(git: BytePath, name: string, lines: readonly string[]): void {
    const added = addedReflogLines(this.log(git, name), lines);
    this.#files.append(joinPath(git, `logs/${name}`), added);
  }

  /**
   * Changes a stack: its log is what counts, the ref leads to the last line.
   *
   * @param merged the lines that are to stand, from those that stand
   */
  async stack(
    name: string,
    merged: (lines: readonly string[]) => string[],
  ): Promise<RefSwapResult> {
    const at = joinPath(this.#common, name);
    if (!(await takeGitLock(this.#files, at, refLockMs))) return 'locked';
    try {
      const lines = merged(this.log(this.#common, name));
      const log = joinPath(this.#common, `logs/${name}`);
      const top = parseRef(lines.at(-1)?.split(' ')[1] ?? null);
      if (top === null) {
        this.#files.remove(log);
        return await this.#remove(name);
      }
      this.#files.makeParents(log);
      this.#files.replace(log, lines.map((line) => `${line}\n`).join(''));
      this.#files.replace(at, `${top}\n`);
      return 'done';
    } finally {
      releaseGitLock(this.#files, at);
    }
  }

  /** The text of a worktree's `HEAD`. */
  async swapHead(git: BytePath, from: string | null, to: string): Promise<RefSwapResult> {
    const at = joinPath(git, 'HEAD');
    if (!(await takeGitLock(this.#files, at, refLockMs))) return 'locked';
    try {
      const now = this.#files.read(at, 4_096);
      if (now === to) return 'done';
      if (now !== from) return 'changed';
      this.#files.replace(at, to);
      return 'done';
    } finally {
      releaseGitLock(this.#files, at);
    }
  }

  async #remove(name: string): Promise<RefSwapResult> {
    const at = joinPath(this.#common, name);
    const packed = joinPath(this.#common, 'packed-refs');
    if (readPackedRefs(this.#files.steps, this.#common).has(name)) {
      if (!(await takeGitLock(this.#files, packed, refLockMs))) return 'locked';
      try {
        const text = this.#files.read(packed, packedBytesMax) ?? '';
        this.#files.replace(packed, without(text, name));
      } finally {
        releaseGitLock(this.#files, packed);
      }
    }
    this.#files.remove(at);
    this.#files.remove(joinPath(this.#common, `logs/${name}`));
    return 'done';
  }

  /** `a` and `a/b` cannot both be refs. */
  #isInTheWay(name: string): boolean {
    const { loose, packed } = this.all();
    for (const other of [...loose.keys(), ...packed.keys()]) {
      if (other.startsWith(`${name}/`) || name.startsWith(`${other}/`)) return true;
    }
    return false;
  }
}

/** Packed refs without one of them and what it was peeled to. */
function without(text: string, name: string): string {
  let isDropped = false;
  const lines = text.split('\n').filter((line) => {
    if (line.startsWith('^')) return !isDropped;
    isDropped = line.endsWith(` ${name}`);
    return !isDropped;
  });
  return lines.join('\n');
}
