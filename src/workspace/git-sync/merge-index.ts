/** What the host's index becomes: entries by mode and object id, not by times of files. Pure. */
import type { TreeDifference, TreeEntry } from './git-history.ts';
import { uncheckedIndexEntry, type GitIndexEntry } from './index-file.ts';

export type EntriesByPath = ReadonlyMap<string, readonly GitIndexEntry[]>;

export interface IndexSides {
  readonly host: EntriesByPath;
  readonly session: EntriesByPath;
  /** Between the commit that the host had and the one that it gets. */
  readonly moved: ReadonlyMap<string, TreeDifference>;
  /** Between the session's commit and the one that the host gets. */
  readonly merged: ReadonlyMap<string, TreeDifference>;
  /** What the session has staged: paths that differ from its commit, and what that one has. */
  readonly staged: ReadonlyMap<string, TreeEntry | null>;
  /** The same of what the host's index was given last. */
  readonly last: EntriesByPath;
}

export interface MergedIndex {
  readonly entries: readonly GitIndexEntry[];
  readonly isChanged: boolean;
  /** Paths of which the host's entry stands. */
  readonly conflicts: readonly string[];
}

const none: readonly GitIndexEntry[] = [];

/**
 * A path of which the host has staged nothing goes with the commits; what the session has staged is
 * staged on top of that.
 */
export function mergeIndex(sides: IndexSides): MergedIndex {
  const { moved, merged, staged, session, last } = sides;
  const all = new Map(sides.host);
  const conflicts: string[] = [];
  let isChanged = false;
  const put = (path: string, entries: readonly GitIndexEntry[]): void => {
    if (keyOf(all.get(path)) === keyOf(entries)) return;
    all.set(path, entries);
    isChanged = true;
  };
  const isFree = (path: string, ...clean: readonly string[]): boolean => {
    const key = keyOf(all.get(path));
    return clean.includes(key) || (last.has(path) && key === keyOf(last.get(path)));
  };
  for (const [path, { from, to }] of moved) {
    if (isFree(path, keyOfTree(from))) put(path, entriesOf(path, to));
  }
  for (const [path, committed] of staged) {
    const next = merged.has(path) ? (merged.get(path)?.to ?? null) : committed;
    const was = moved.has(path) ? (moved.get(path)?.from ?? null) : next;
    const wanted = session.get(path) ?? none;
    if (isFree(path, keyOfTree(next), keyOfTree(was), keyOf(wanted))) put(path, wanted);
    else conflicts.push(path);
  }
  // Staged before, and no more.
  for (const path of last.keys()) {
    if (staged.has(path) || !isFree(path)) continue;
    const own = session.get(path) ?? none;
    put(path, merged.has(path) ? entriesOf(path, merged.get(path)?.to ?? null) : own);
  }
  return { entries: [...all.values()].flat(), isChanged, conflicts };
}

export function indexEntriesByPath(
  entries: readonly GitIndexEntry[],
): Map<string, GitIndexEntry[]> {
  const all = new Map<string, GitIndexEntry[]>();
  for (const entry of entries) {
    const known = all.get(entry.path);
    if (known === undefined) all.set(entry.path, [entry]);
    else known.push(entry);
  }
  return all;
}

const entriesOf = (path: string, entry: TreeEntry | null): readonly GitIndexEntry[] =>
  entry === null ? none : [uncheckedIndexEntry({ path, ...entry })];

const keyOfTree = (entry: TreeEntry | null): string =>
  entry === null ? '' : `${entry.mode} ${entry.oid} 0 0`;

const keyOf = (entries: readonly GitIndexEntry[] = none): string =>
  entries.map(({ mode, oid, stage, marks }) => `${mode} ${oid} ${stage} ${marks}`).join('\n');
