/** Asks the commit filter about changes, from where the real tree stands. */
import { isDeepStrictEqual } from 'node:util';
import type { BytePath, Change } from '../change.ts';
import type { ContentStore } from '../content-store.ts';
import { parentPathOf } from '../workspace/byte-path.ts';
import type { CapturedChange } from '../workspace/changes/capture.ts';
import type { CommitFilter, HeldReason, FilterLookup } from '../workspace/commit/commit-filter.ts';
import type { CommitSource } from '../workspace/commit/commit-item.ts';
import { TreeLookup } from '../workspace/commit/tree-lookup.ts';
import type { PendingChanges, PendingEntry } from './pending-changes.ts';
import type { RecordedChange } from './change-record.ts';

/** A change that is to be judged, and where its content stands. */
export interface FilterCandidate extends Pick<Change, 'path' | 'before' | 'after'> {
  readonly source: CommitSource | null;
}

export interface FilterCheckDependencies {
  readonly filter: CommitFilter;
  readonly root: string;
  readonly contents: Pick<ContentStore, 'read'>;
  /** Default: every content of before is. */
  readonly isKept?: FilterLookup['isKept'];
}

/** What may not pass by itself, and why. They are judged as coming all at once. */
export async function findHeldChanges(
  { filter, root, contents, isKept }: FilterCheckDependencies,
  changes: readonly FilterCandidate[],
): Promise<Map<BytePath, HeldReason>> {
  const all = new Map(changes.map((change) => [change.path, change]));
  const written = (path: BytePath) => {
    const change = all.get(path);
    if (change === undefined) return null;
    const { source, after } = change;
    return { source, sha256: after?.type === 'file' ? after.sha256 : null };
  };
  using look = new TreeLookup({
    root,
    written,
    contents,
    ...(isKept === undefined ? {} : { isKept }),
  });
  return await filter.judge(changes, look);
}

/** What waits, and what was captured, as it is judged. */
export const candidateFromPending = ({
  change: { path, before, after },
  source,
}: PendingEntry): FilterCandidate => {
  return { path, before, after, source };
};
export function candidatesFromCapture(
  changes: readonly CapturedChange[],
  pending: PendingChanges,
): FilterCandidate[] {
  return changes.map(({ path, before, after, sourceAt: source }) => {
    return { path, before: filterBaseOf(pending, { path, before }), after, source };
  });
}

/**
 * Deletions that were held and may pass now, as what holds them goes whole: a look heard of
 * `sub/.git` before `sub` was gone.
 */
export async function findReleasedDeletions(
  changes: readonly CapturedChange[],
  pending: PendingChanges,
  judge: (changes: readonly FilterCandidate[]) => Promise<ReadonlyMap<BytePath, string>>,
): Promise<PendingEntry[]> {
  const gone = new Set(
    changes.flatMap(({ path, before, after }) => {
      return after === null && before?.type === 'directory' ? [path] : [];
    }),
  );
  if (gone.size === 0) return [];
  const isGone = (path: BytePath): boolean =>
    path !== '' && (gone.has(parentPathOf(path)) || isGone(parentPathOf(path)));
  const known = new Set(changes.map(({ path }) => path));
  const waiting = pending
    .all('held')
    .filter(({ change: { path, after } }) => after === null && !known.has(path) && isGone(path));
  if (waiting.length === 0) return [];
  const held = await judge([
    ...candidatesFromCapture(changes, pending),
    ...waiting.map(candidateFromPending),
  ]);
  return waiting.filter(({ change }) => !held.has(change.path));
}

/**
 * What a change is judged by: not what the session saw before, which may be something that was
 * held, but what the real tree has.
 */
export function filterBaseOf(
  pending: PendingChanges,
  { path, before }: Pick<Change, 'path' | 'before'>,
) {
  const waiting = pending.find(path);
  // Of a conflict theirs stands, and the session sees it.
  const isSeen = waiting === null || waiting.change.state === 'conflict';
  return isSeen ? before : waiting.change.before;
}

/** The directory above a path that is not in the real tree as it waits itself; `null`: none. */
export function findPendingParent(pending: PendingChanges, path: BytePath): Change | null {
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
    const change = pending.find(path.slice(0, end))?.change;
    if (change === undefined || change.state === 'conflict') continue;
    if (change.after?.type === 'directory' && change.before?.type !== 'directory') return change;
  }
  return null;
}

/** Notes where the real tree stood, when the session saw something there that waited. */
export function withRealBase(pending: PendingChanges, change: RecordedChange): RecordedChange {
  const { state, after, key } = change;
  const before = filterBaseOf(pending, change);
  if (state !== 'applied' || isDeepStrictEqual(before, change.before)) return change;
  return { ...change, reached: { before, after, key } };
}
