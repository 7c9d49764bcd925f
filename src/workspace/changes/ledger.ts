/** What was captured already, so that a later capture reports only new changes. */
import type { BytePath, Entry, StatKey } from '../../change.ts';
import { parentPathOf } from '../byte-path.ts';
import { quickKey, type QuickKey } from '../stat.ts';
import type { WorkPacer } from '../time-slices.ts';

/** What the session sees at a path since its last capture. */
export interface LedgerEntry {
  /** Of the upper entry; `null`: there is none, a directory above hides what is below. */
  readonly key: StatKey | null;
  /** `null`: nothing. */
  readonly entry: Entry | null;
  /** `uid:gid` in the upper layer, `''` where there is none. */
  readonly owner: string;
  /** The real tree is hidden below: a whiteout, a file, or an opaque directory. */
  readonly hides: boolean;
  /** It was written so shortly before it was read that a later write may not show in its key. */
  readonly isFresh: boolean;
  /** The entry of the real tree, with its hash, so that it is not read again. */
  readonly base: { readonly key: StatKey; readonly entry: Entry } | null;
}

export type LedgerLines = readonly (readonly [BytePath, LedgerEntry])[];

interface Line extends LedgerEntry {
  /** Made at the first look. */
  quick: QuickKey | null;
  /** The number of the last survey that met it. */
  seenBy: number;
}

export class Ledger {
  readonly #lines = new Map<BytePath, Line>();
  #survey = 0;

  get size(): number {
    return this.#lines.size;
  }

  get(path: BytePath): LedgerEntry | undefined {
    return this.#lines.get(path);
  }

  set(path: BytePath, captured: LedgerEntry): void {
    this.#lines.set(path, { ...captured, quick: null, seenBy: this.#survey });
  }

  delete(path: BytePath): void {
    this.#lines.delete(path);
  }

  clear(): void {
    this.#lines.clear();
  }

  paths(): IterableIterator<BytePath> {
    return this.#lines.keys();
  }

  entries(): IterableIterator<[BytePath, LedgerEntry]> {
    return this.#lines.entries();
  }

  /** Begins a survey: what it does not `meet` is `unmet` at its end. */
  begin(): void {
    this.#survey += 1;
  }

  /** What is known of a path of the upper layer. */
  meet(path: BytePath): { readonly captured: LedgerEntry; readonly quick: QuickKey | null } | null {
    const line = this.#lines.get(path);
    if (line === undefined) return null;
    line.seenBy = this.#survey;
    if (line.key === null) return { captured: line, quick: null };
    line.quick ??= quickKey(line.key);
    return { captured: line, quick: line.quick };
  }

  /** Paths that had an upper entry, which this survey did not meet. */
  unmet(): BytePath[] {
    const found: BytePath[] = [];
    for (const [path, line] of this.#lines) {
      if (line.key !== null && line.seenBy !== this.#survey) found.push(path);
    }
    return found;
  }

  /** Forgets paths, and what was hidden below those that hid something. */
  forget(paths: Iterable<BytePath>): void {
    const hid = new Set<BytePath>();
    for (const path of paths) {
      if (this.#lines.get(path)?.hides === true) hid.add(path);
      this.#lines.delete(path);
    }
    this.uncover(hid);
  }

  /** Forgets what was hidden below directories that hide no longer. */
  uncover(paths: Iterable<BytePath>): void {
    const open = new Set(paths);
    if (open.size === 0) return;
    const wasHidden = holdsForAncestor((path) => open.has(path));
    for (const [path, line] of this.#lines) {
      if (line.key === null && wasHidden(path)) this.#lines.delete(path);
    }
  }

  /** For JSON. */
  toLines(): LedgerLines {
    return Array.from(this.#lines, ([path, { key, entry, owner, hides, isFresh, base }]) => {
      return [path, { key, entry, owner, hides, isFresh, base }] as const;
    });
  }

  restore(lines: LedgerLines): void {
    this.#lines.clear();
    for (const [path, captured] of lines) this.set(path, captured);
  }
}

/** Whether `holds` is true of any directory above a path; each directory is checked once. */
export function holdsForAncestor(holds: (path: BytePath) => boolean): (path: BytePath) => boolean {
  const known = new Map<BytePath, boolean>([['', holds('')]]);
  return (path) => {
    if (path === '') return false;
    const open: BytePath[] = [];
    let directory = parentPathOf(path);
    let answer = known.get(directory);
    while (answer === undefined) {
      open.push(directory);
      directory = parentPathOf(directory);
      answer = known.get(directory);
    }
    for (const one of open.toReversed()) {
      answer ||= holds(one);
      known.set(one, answer);
    }
    return answer;
  };
}

/** Sorts as a walk would meet them: a directory, all that is in it, then its next neighbour. */
export async function sortInTreeOrder(
  paths: Iterable<BytePath>,
  pace: WorkPacer,
): Promise<BytePath[]> {
  // No name holds a NUL, and nothing sorts before it.
  const keys = Array.from(paths, (path) => path.replaceAll('/', '\0'));
  let runs: string[][] = [];
  for (let at = 0; at < keys.length; at += runLength) {
    runs.push(keys.slice(at, at + runLength).toSorted(compare));
    if (pace.isDue()) await pace.rest();
  }
  while (runs.length > 1) {
    const merged: string[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      merged.push(await merge(runs[at] ?? [], runs[at + 1] ?? [], pace));
    }
    runs = merged;
  }
  return (runs[0] ?? []).map((key) => key.replaceAll('\0', '/'));
}

/** Sorted at once; longer ones are merged from such runs. */
const runLength = 2_048;

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

async function merge(left: string[], right: string[], pace: WorkPacer): Promise<string[]> {
  const merged: string[] = [];
  let [from, to] = [0, 0];
  while (from < left.length || to < right.length) {
    const [a, b] = [left[from], right[to]];
    const isLeft = b === undefined || (a !== undefined && a < b);
    const next = isLeft ? a : b;
    if (isLeft) from += 1;
    else to += 1;
    if (next !== undefined) merged.push(next);
    if (merged.length % runLength === 0 && pace.isDue()) await pace.rest();
  }
  return merged;
}
