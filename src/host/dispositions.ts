/** Where a change of a command goes, as far as it can be said before anything is done. */
import type { BytePath, Change } from '../change.ts';
import type { CapturedChange } from '../workspace/changes/capture.ts';
import {
  isOrdinaryFile,
  isWaitingForGit,
  type GitSync,
  type GitFileLocations,
} from './git-sync.ts';
import type { FileEntry } from '../workspace/merge/current-file.ts';
import { findPendingParent } from './filter-check.ts';
import type { PutResult, DesiredFile } from './file-merger.ts';
import {
  isFileOverFile,
  committedChange,
  desiredOfPending,
  type CommitOrigin,
  type ChangeDisposition,
} from './change-outcomes.ts';
import type { PendingChanges, PendingEntry } from './pending-changes.ts';
import type { RecordedChange } from './change-record.ts';

/** With what is known of git directories. */
export interface GitCommitOrigin extends CommitOrigin {
  readonly places: GitFileLocations;
  /** Repositories in which a git of the view is in the middle of something. */
  readonly busy: ReadonlySet<BytePath>;
}

export interface DispositionInput {
  /** Why it may not pass. */
  readonly held: string | null;
  /** What waits at the path. */
  readonly earlier: Change | undefined;
  /** Whether somebody else changed the path while the command ran. */
  readonly isConflict: () => boolean;
}

/** Where each goes, in the order in which they are given: a directory before what is in it. */
export function decideDispositions(
  changes: readonly CapturedChange[],
  origin: GitCommitOrigin,
  by: {
    readonly held: ReadonlyMap<BytePath, string>;
    /** What is held for its tags and passes with these values; see `tagged-files.ts`. */
    readonly values: ReadonlyMap<BytePath, FileEntry>;
    readonly pending: PendingChanges;
    readonly isConflict: (captured: CapturedChange) => boolean;
  },
): ReadonlyMap<BytePath, ChangeDisposition> {
  const { held, values, pending } = by;
  const ways = new Map<BytePath, ChangeDisposition>();
  for (const captured of changes) {
    const { path } = captured;
    // What is in a directory and is not shown stays: the directory is gone for the session only.
    const isOver = captured.hasMaskedBelow && captured.after?.type !== 'directory';
    const back = values.get(path);
    const reason = back === undefined ? (held.get(path) ?? null) : null;
    const way = wayOf(captured, origin, {
      held: isOver ? 'reserved' : reason,
      earlier: pending.find(path)?.change,
      isConflict: () => by.isConflict(captured),
    });
    // It cannot come without the directory that it is in.
    const above = way.state === 'applied' ? findPendingParent(pending, path) : null;
    const isComing = above === null || ways.get(above.path)?.state === 'applied';
    if (!isComing) ways.set(path, above);
    else ways.set(path, back === undefined ? way : { ...way, values: back });
  }
  return ways;
}

function wayOf(
  captured: CapturedChange,
  origin: GitCommitOrigin,
  judged: DispositionInput,
): ChangeDisposition {
  const { held, isConflict } = judged;
  const isLate = judged.earlier !== undefined && isWaitingForGit(judged.earlier);
  const earlier = isLate ? null : judged.earlier?.state;
  if (origin.mode === 'discard') return { state: 'discarded', reason: null };
  // What git wrote to a repository that is no real one is of no use anywhere else.
  if (held === 'projected-repository') return { state: 'discarded', reason: held };
  if (held !== null) return { state: 'held', reason: held };
  if (origin.mode === 'staged') return { state: 'staged', reason: null };
  if (origin.isLost) return { state: 'staged', reason: 'lost' };
  // What waits with it would go along unseen.
  if (earlier === 'staged' || earlier === 'discarded') {
    return { state: earlier, reason: 'staged-before' };
  }
  const place = origin.places.get(captured.path);
  if (place !== undefined && origin.busy.has(place.common)) {
    return { state: 'staged', reason: 'git-busy' };
  }
  // Git's own values tell better than times who changed what.
  const isValue = !isOrdinaryFile(place) || isFileOverFile(captured);
  if (isValue || !isConflict()) return { state: 'applied', reason: null };
  return place?.kind !== 'scratch'
    ? { state: 'conflict', reason: 'changed-meanwhile' }
    : { state: 'discarded', reason: 'git-scratch' };
}

/**
 * What came of a change. Somebody else's version of what one git process had for itself, or of a
 * directory of git's in which all is brought as git's, is in nobody's way.
 */
export function outcomeWithGit(
  change: Change,
  put: PutResult | undefined,
  origin: GitCommitOrigin,
): RecordedChange {
  const done = committedChange(change, put, origin);
  if (done.state !== 'conflict') return done;
  const { places } = origin;
  const isScratch = places.get(done.path)?.kind === 'scratch';
  const isAbove = [...places.keys()].some((path) => path.startsWith(`${done.path}/`));
  if (!isScratch && !(isAbove && done.after?.type === 'directory')) return done;
  const { keptAs: _, ...rest } = done;
  return { ...rest, state: 'discarded', reason: 'git-scratch' };
}

type Busy = Pick<GitCommitOrigin, 'places' | 'busy'>;

/** What waited for a git that was in the middle of something, and goes as any other file. */
export function filesAfterGit(
  pending: PendingChanges,
  git: GitSync,
  { places, busy }: Busy,
): DesiredFile[] {
  const waiting = pending
    .all('staged')
    .filter(({ change }) => isWaitingForGit(change) && !places.has(change.path));
  const known = git.locate(waiting.map(({ change }) => change));
  const isFree = ({ change: { path } }: PendingEntry): boolean => {
    const place = known.get(path);
    return isOrdinaryFile(place) && !busy.has(place?.common ?? '');
  };
  return waiting.filter(isFree).map(desiredOfPending);
}

/** What became of changes that waited, by others. */
export function changesAfterGit(
  pending: PendingChanges,
  told: readonly RecordedChange[],
  outcome: (change: Change) => RecordedChange | null,
): RecordedChange[] {
  const known = new Set(told.map(({ path }) => path));
  return pending
    .all('staged', 'conflict', 'held')
    .flatMap(({ change }) => (known.has(change.path) ? [] : (outcome(change) ?? [])));
}
