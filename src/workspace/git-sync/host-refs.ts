/** Changes refs of a repository of the host as git does: under its locks, by compare-and-swap. */
import type { BytePath, StatKey } from '../../change.ts';
import { errnoCodeOf, joinPath } from '../byte-path.ts';
import { type GitFiles, releaseGitLock, takeGitLock } from './git-files.ts';
import type { GitHistory } from './git-history.ts';
import {
  addedReflogLines,
  isOid,
  parseRef,
  readPackedRefs,
  readRef,
  readRefs,
  type RefChange,
  reflogLinesOf,
  type RefSet,
  type RefValue,
} from './ref-values.ts';

const refLockMs = 1_000;
const logBytesMax = 64 * 1024 * 1024;
const packedBytesMax = 64 * 1024 * 1024;

type RefSwapResult =
  | 'done'
  /** It has another value. */
  | 'changed'
  /** Another process has its lock. */
  | 'locked'
  /** There is another ref in its way, or the system refused. */
  | 'refused';

interface RefSwap {
  readonly name: string;
  readonly from: RefValue;
  readonly to: RefValue;
  /** For its log; `null`: it has none. */
  readonly log: readonly string[] | null;
  /** Called under the lock with the key of the current file. */
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

// What becomes of a ref that a session changed, when the host's may have moved meanwhile.

export type RefDecision =
  /** The host has it, or does not need it. */
  | { readonly kind: 'none' }
  | { readonly kind: 'set'; readonly from: RefValue; readonly to: RefValue }
  /** Both were merged into `to`. */
  | { readonly kind: 'merge'; readonly from: string; readonly to: string }
  /** The host's value stays, and the session's is kept under another name. */
  | { readonly kind: 'aside'; readonly to: string }
  /** The host's value stays, and no commit of the session is lost. */
  | { readonly kind: 'theirs' };

const branches = 'refs/heads/';

interface RefDecisionContext {
  /** `null` without git: what would need it is set aside. */
  readonly history: GitHistory | null;
  /** Whether a command of the session has written to a path of the worktree. */
  readonly isTouched: (path: BytePath) => boolean;
}

/** @param host what the ref is now */
export async function decideRef(
  deciding: RefDecisionContext,
  change: RefChange,
  host: RefValue,
): Promise<RefDecision> {
  const { history } = deciding;
  const { name, base, now } = change;
  if (host === now) return { kind: 'none' };
  if (change.isUnsure === true && isOid(host)) {
    if (now === null) return { kind: 'none' };
    // Never back to what was there before by mistake; what is newer comes by the next look.
    const isOlder = isOid(now) && (await history?.isAncestor(now, host)) !== false;
    if (isOlder) return { kind: 'none' };
  }
  const kept = await keep(deciding, change, host);
  if (kept !== null) return kept;
  if (host === base) return { kind: 'set', from: host, to: now };
  if (!isOid(now)) return { kind: 'theirs' };
  if (host === null && base === undefined) return { kind: 'set', from: host, to: now };
  if (!isOid(host) || history === null) return { kind: 'aside', to: now };
  if (await history.isAncestor(now, host)) return { kind: 'none' };
  if (await history.isAncestor(host, now)) return { kind: 'set', from: host, to: now };
  // Where either side has rewritten what both had, a merge would bring that back.
  if (!name.startsWith(branches) || base === null) return { kind: 'aside', to: now };
  const isGrown = base === undefined || (await isBehind(history, base, [host, now]));
  const tree = isGrown ? await history.merge(host, now) : null;
  if (tree === null) return { kind: 'aside', to: now };
  const to = await history.commit(tree, [host, now], messageOf(name));
  return { kind: 'merge', from: host, to };
}

async function isBehind(
  history: GitHistory,
  base: string,
  all: readonly string[],
): Promise<boolean> {
  for (const one of all) if (!(await history.isAncestor(base, one))) return false;
  return true;
}

/**
 * A session that saw the host's new commit, but had an older index, has committed the reverse of
 * the host's change by accident: its files are still as the host made them.
 *
 * @returns `null`: there is nothing to keep
 */
async function keep(
  { history, isTouched }: RefDecisionContext,
  { now, blind = null }: RefChange,
  host: RefValue,
): Promise<RefDecision | null> {
  if (blind === null || history === null || !isOid(now) || !isOid(host)) return null;
  const { from, to } = blind;
  if (!(await isBehind(history, from, [to])) || !(await isBehind(history, to, [host, now]))) {
    return null;
  }
  const [theirs, ours] = [await history.differing(from, to), await history.differing(to, now)];
  // A file that the session wrote, with the reversed content: this change was intended.
  const isLost = [...theirs].some(([path, { from: was }]) => {
    const own = ours.get(path);
    return own !== undefined && !(own.to?.oid === was?.oid && isTouched(path));
  });
  if (!isLost) return null;
  const tree = await history.treeOf(now);
  const alone = await history.commit(tree, [from], 'as if alone', now);
  const both = await history.merge(host, alone);
  if (both === tree) return null;
  if (both === null) return { kind: 'aside', to: now };
  const parents = (await history.isAncestor(host, now)) ? [now] : [host, now];
  const made = await history.commit(both, parents, keepingMessage, now);
  return { kind: 'merge', from: host, to: made };
}

const keepingMessage =
  'Keep what was committed while a session prepared its commit\n\n' +
  'Its index was outdated, and the commit would undo what came meanwhile.\n';

const messageOf = (name: string): string =>
  `Merge what a session committed to ${name.slice(branches.length)}\n\n` +
  'Both sides committed at the same time; their changes do not touch each other.\n';

/** Where what was set aside is found. */
export const asideRefName = (label: string, name: string): string =>
  `refs/trl/${label}/${name.startsWith(branches) ? name.slice(branches.length) : name}`;
