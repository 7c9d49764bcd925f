/** What a commit makes of captured changes: those of a receipt, and items to apply. */
import type { Change, ChangeState, StatKey, WorkspaceMode } from '../change.ts';
import type { ExecId } from '../command.ts';
import type { CapturedChange } from '../workspace/changes/capture.ts';
import { netChangeKindOf } from '../workspace/changes/change-kind.ts';
import type { CommitItem } from '../workspace/commit/commit-item.ts';
import type { FileEntry } from '../workspace/merge/current-file.ts';
import type { RecordedChange } from './change-record.ts';
import { type DesiredFile, type PutResult, syncPointOf } from './file-merger.ts';
import {
  type CommandStartRange,
  type FileVersions,
  layerWriteTimeMs,
  type SyncPoint,
} from './file-versions.ts';
import type { PendingEntry } from './pending-changes.ts';

/** What a commit has to know of the command whose changes they are. */
export interface CommitOrigin {
  readonly mode: WorkspaceMode;
  /** Whether another writer may have changed the path since a command saw it. */
  readonly isStale: (captured: CapturedChange) => boolean;
  /** Nobody saw how the command ended: its changes wait for a review. */
  readonly isLost: boolean;
  readonly overlapping: readonly ExecId[];
  /** Commands run on that may be in the middle of something. */
  readonly isUnderWay?: boolean;
  /** Whose changes they are. */
  readonly exec: ExecId;
  /** Unix ms when the running commands began; default: unknown. */
  readonly begunAt?: readonly number[];
  /** What the changes started from, where that is not what the layer had. */
  readonly start?: SyncPoint;
  /** Called with what was brought into the real tree of it. */
  readonly synced?: (point: SyncPoint) => void;
}

export interface ChangeDisposition {
  readonly state: ChangeState;
  readonly reason: string | null;
  /** The replacement of a file with tags: see `dispositions.ts`. */
  readonly values?: FileEntry;
}

/** A change that goes with its layer. */
export const discardedChange = (
  captured: CapturedChange,
  of: Pick<CommitOrigin, 'exec' | 'overlapping'>,
): Change => changeOfCaptured(captured, { state: 'discarded', reason: null }, of);

export function changeOfCaptured(
  { path, kind, before, after, marks }: CapturedChange,
  { state, reason }: ChangeDisposition,
  { exec, overlapping: concurrentWith }: Pick<CommitOrigin, 'exec' | 'overlapping'>,
): Change {
  const change = { path, kind, before, after, marks, state, reason, concurrentWith };
  return state === 'conflict' ? named(change, exec) : change;
}

/** A conflict whose own version is kept has a name for it. */
function named<Told extends Change>(change: Told, exec: ExecId): Told {
  const { after, path } = change;
  const isKept = after?.type === 'file' && after.sha256 !== null;
  return isKept ? { ...change, keptAs: `${exec}:${path}` } : change;
}

/**
 * Whether the change is one of content, and may be merged. Git's own files are not merged as text.
 */
export function isFileOverFile({ path, base, after }: CapturedChange): boolean {
  if (path.split('/').includes('.git')) return false;
  return base?.type === 'file' && after?.type === 'file' && after.sha256 !== null;
}

export function commandStartsBefore(
  captured: CapturedChange,
  { begunAt = [] }: CommitOrigin,
): CommandStartRange {
  const written = layerWriteTimeMs(captured);
  const first = Math.min(...begunAt);
  return { first, last: Math.max(first, ...begunAt.filter((at) => at <= written)) };
}

/**
 * Whether another writer saved the file after a moment, Unix ms.
 *
 * @param own the key of the version that the session applied
 */
export function isSavedAfter(
  { path, baseKey, baseCtimeNs }: CapturedChange,
  at: number,
  own: StatKey | null,
  versions: Pick<FileVersions, 'isChangedSince'>,
): boolean {
  if (baseCtimeNs === null || at === Infinity || own === baseKey) return false;
  return versions.isChangedSince(path, at, baseCtimeNs);
}

export function itemOfCaptured(captured: CapturedChange): CommitItem {
  const { path, base, baseKey, after, sourceAt: source, upperKey: sourceKey } = captured;
  return { path, base, baseKey, after, source, sourceKey };
}

export function desiredOfPending(waiting: PendingEntry): DesiredFile {
  const { change, base, baseKey, source, sourceKey } = waiting;
  const { path, after } = change;
  const item = { path, base, baseKey, after, source, sourceKey };
  // Exactly what the person approved is applied.
  const isText = change.state !== 'held' && base?.type === 'file' && after?.type === 'file';
  return { item, start: isText ? syncPointOf(base, baseKey) : null };
}

/** The outcome of a pending change; notes whether a person approved it. */
export function publishedChange(
  change: Change,
  put: PutResult | undefined,
  exec: ExecId,
): RecordedChange {
  const done = withResult(change, put, exec);
  return change.state === 'held' ? { ...done, wasHeld: true } : done;
}

/** The outcome of a command's change. */
export function committedChange(
  change: Change,
  put: PutResult | undefined,
  origin: CommitOrigin,
): RecordedChange {
  const done = withResult(change, put, origin.exec);
  const isOpen = origin.start !== undefined && done.state === 'conflict';
  return isOpen ? { ...done, isOpen } : done;
}

/** A change that could not be applied stays pending. */
function withResult(change: Change, put: PutResult | undefined, exec: ExecId): RecordedChange {
  if (put === undefined) return { ...change, key: null };
  const { result, item, isMerged, hasValuesBack = false } = put;
  if (result.state === 'applied') {
    const { keptAs: _, ...rest } = change;
    const done = { ...rest, state: 'applied', reason: null, key: result.key } as const;
    if (!isMerged) return done;
    // The receipt shows what reached the real tree.
    const { base: before, after } = item;
    return {
      ...done,
      before,
      after,
      kind: netChangeKindOf(before, after),
      marks: [...done.marks, hasValuesBack ? 'values-restored' : 'merged'],
    };
  }
  const state = result.state === 'conflict' ? 'conflict' : 'held';
  const waits = { ...change, state, reason: result.reason, key: null } as const;
  return state === 'conflict' ? named(waits, exec) : waits;
}
