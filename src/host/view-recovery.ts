/**
 * What commands that outlived their daemon go on to write is a delta against what that daemon
 * brought into the real tree last. It may have died before it kept how that went.
 */
import type { BytePath } from '../change.ts';
import type { SnapshotStore } from '../snapshot/store.ts';
import type { LayerCapture } from '../workspace/changes/capture.ts';
import { syncPointOf } from './file-merger.ts';
import type { PendingEntry } from './pending-changes.ts';
import {
  appliedStateOf,
  recordKinds,
  changeRecordsOf,
  type RecordedChange,
} from './change-record.ts';
import { readStoredSyncState, readStoredPending, type StoredSyncState } from './change-recorder.ts';
import type { SyncPoint } from './sync-points.ts';

type Layer = Pick<LayerCapture, 'has'>;
type Kept = Pick<SnapshotStore, 'get' | 'records'>;

export interface RecoveredViewState extends StoredSyncState {
  readonly waiting: readonly PendingEntry[];
  /** Of what was told; `null`: nothing waited. */
  readonly ledger: string | null;
  /** Planned, and nobody knows whether the real tree has it: it is to be looked at again. */
  readonly unsettled: readonly BytePath[];
}

/** @param layer `null`: no command runs that could go on */
export function recoverViewState(
  store: Kept,
  view: string,
  layer: Layer | null,
): RecoveredViewState {
  const records = changeRecordsOf(store, view);
  const all = records.flatMap(({ changes }) => changes);
  const kept = readStoredSyncState(store.get(recordKinds.sync, view));
  return {
    ...readStoredPending(store.get(recordKinds.layer, view)),
    unsettled: all.filter(isUnsettled).map(({ path }) => path),
    ...pointsOf(all, kept, layer),
  };
}

function isUnsettled({ state, after, key }: RecordedChange): boolean {
  return state === 'applied' && after !== null && key === null;
}

/** @param changes of all commands of the view, the oldest first */
function pointsOf(
  changes: readonly RecordedChange[],
  kept: StoredSyncState,
  layer: Layer | null,
): StoredSyncState {
  const last = new Map(changes.map((change) => [change.path, change]));
  const points = new Map<BytePath, readonly SyncPoint[]>();
  for (const change of last.values()) {
    const point = layer?.has(change.path) === true ? startAfter(change) : null;
    if (point !== null) points.set(change.path, [point]);
  }
  const as = (path: BytePath, point: SyncPoint): SyncPoint => settled(point, last.get(path));
  for (const [path, some] of kept.points) {
    const all = some.map((one) => as(path, one));
    points.set(path, all);
  }
  const displaced = kept.displaced.map((one) => ({ ...one, point: as(one.path, one.point) }));
  return { points: [...points], displaced, copies: kept.copies };
}

/** Where nothing but the record tells of a file. */
function startAfter(change: RecordedChange): SyncPoint | null {
  const reached = appliedStateOf(change);
  if (reached?.after?.type !== 'file') return null;
  if (reached.key !== null) return syncPointOf(reached.after, reached.key);
  // Older is safe: what the real tree has of it already comes once.
  if (reached.before?.type !== 'file') return null;
  return { ...syncPointOf(reached.before, null), maySee: 'any' };
}

/** More reached the real tree than the point knows, unless both are of the same moment. */
function settled(point: SyncPoint, change: RecordedChange | undefined): SyncPoint {
  const reached = change === undefined ? null : appliedStateOf(change);
  const isOfThen = point.realKey !== null && reached?.key === point.realKey;
  return reached === null || isOfThen ? point : { ...point, realKey: null, maySee: 'any' };
}
