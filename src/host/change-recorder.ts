/** Stores what a view's commands changed, and the pending changes of its layer. */
import type { BytePath, Change, ChangeMethod, TreeId, WorkspaceMode } from '../change.ts';
import { fieldOf } from '../json-shape.ts';
import type { ExecId, SessionId } from '../command.ts';
import type { SnapshotStore } from '../snapshot/store.ts';
import type { CaptureResult, LayerCapture } from '../workspace/changes/capture.ts';
import { noStoredCopies, type StoredCopies } from './change-announcer.ts';
import {
  appliedStateOf,
  type ChangeRecord,
  changeRecordsOf,
  isChangeRecord,
  mergeRecordedChanges,
  originalHashesOf,
  type RecordedChange,
  recordedContents,
  recordKinds,
} from './change-record.ts';
import type { StoredDisplacedFile } from './displaced-files.ts';
import { discardedChange } from './change-outcomes.ts';
import { syncPointOf } from './file-merger.ts';
import {
  attributeChanges,
  type AttributedChanges,
  type SyncPoint,
  type SyncPointsJson,
  uniqueNowMs,
} from './file-versions.ts';
import type { PendingChanges, PendingEntry } from './pending-changes.ts';
import type { CommandStart } from './port.ts';
import type { RunningCommand } from './session-dependencies.ts';
import type { WorkspaceTree } from './workspace-tree.ts';

interface ChangeRecorderDependencies {
  readonly view: string;
  readonly method: ChangeMethod;
  readonly tree: WorkspaceTree;
  readonly layer: LayerCapture | null;
  readonly store: SnapshotStore;
}

/** What a record says besides the changes. */
interface RecordHeader {
  readonly exec: ExecId;
  readonly session: SessionId;
  readonly command: string;
  readonly mode: WorkspaceMode;
  readonly before: TreeId;
}

/** What one command reports, and its record with all earlier changes. */
export interface AttributedRecord extends AttributedChanges {
  readonly record: ChangeRecord;
}

/** Nothing is on disk before the store was synced. */
export class ChangeRecorder {
  readonly #parts: ChangeRecorderDependencies;
  readonly #pending: PendingChanges;
  #at = 0;
  #points = '';

  constructor(parts: ChangeRecorderDependencies, pending: PendingChanges) {
    this.#parts = parts;
    this.#pending = pending;
  }

  /** A command that begins now, or one that an earlier daemon followed. */
  running(beginning: CommandStart, overlapping: Iterable<ExecId>): RunningCommand {
    const known = this.#parts.store.get(recordKinds.changes, beginning.exec);
    return {
      ...beginning,
      begunAt: beginning.startedAt ?? uniqueNowMs(),
      before: isChangeRecord(known) ? known.before : this.id(),
      overlapping: new Set(overlapping),
      earlier: isChangeRecord(known) ? known.changes : [],
    };
  }

  append(record: ChangeRecord): void {
    const { store, tree, layer } = this.#parts;
    const contents = recordedContents(record.changes);
    const originals = layer === null ? [] : originalHashesOf(record.changes, tree.made);
    store.append(recordKinds.changes, record.exec, record, { contents, originals });
  }

  /** Changes that other records have only as shared. */
  appendRecords(reported: readonly AttributedRecord[]): void {
    for (const { isOwner, record } of reported) if (isOwner) this.append(record);
  }

  /** The records of all commands that share the changes which `finder` captured: its own first. */
  attribute(
    finder: RunningCommand,
    changes: readonly RecordedChange[],
    found: CaptureResult,
    running: Iterable<RunningCommand>,
  ): [AttributedRecord, ...AttributedRecord[]] {
    const recordOf = (part: AttributedChanges): AttributedRecord => {
      const all = mergeRecordedChanges(part.run.earlier, part.changes);
      return { ...part, record: this.record(part.run, all, found.complete) };
    };
    const [own, ...others] = attributeChanges(changes, found.changes, finder, running);
    return [recordOf(own), ...others.map(recordOf)];
  }

  /** A conflict of a file that had left the layer: the command's own version may be another. */
  appendOpen(run: RecordHeader, exec: ExecId, change: Change): void {
    const command = `(open in ${run.exec})`;
    const kept = { ...change, keptAs: `${exec}:${change.path}`, key: null };
    this.append(this.record({ ...run, exec, command }, [kept], true));
  }

  /** Keeps what a command changed in a layer that is gone. */
  appendDiscarded(
    run: CommandStart,
    { changes: found, complete }: CaptureResult,
    overlapping: readonly ExecId[],
  ): ChangeRecord {
    const of = { exec: run.exec, overlapping };
    const changes = found.map((one) => ({ ...discardedChange(one, of), key: null }));
    const record = this.record({ ...run, before: this.id() }, changes, complete);
    this.append(record);
    return record;
  }

  appendPending(): void {
    const { store, view, layer } = this.#parts;
    if (layer === null) return;
    if (this.#pending.size === 0) {
      store.drop(recordKinds.layer, view);
      return;
    }
    const waiting = this.#pending.toJson();
    const kept = { waiting, ledger: layer.ledgerJson() };
    const contents = recordedContents(waiting.map(({ change }) => change));
    store.append(recordKinds.layer, view, kept, { contents, pin: true });
  }

  /** Keeps what commands that run go on to write is a delta against. */
  appendSyncState(kept: StoredSyncState): void {
    const { store, view } = this.#parts;
    const { points, displaced, copies } = kept;
    const next = JSON.stringify(kept);
    if (next === this.#points) return;
    this.#points = next;
    const all = [...points.flatMap(([, some]) => some), ...displaced.map(({ point }) => point)];
    const shas = all.flatMap(({ layer, real }) => [layer.sha256 ?? '', real.sha256 ?? '']);
    for (const { entry } of copies.copies.flatMap(([, some]) => some)) {
      shas.push(entry.sha256 ?? '');
    }
    const isEmpty = all.length === 0 && Object.values(copies).every((some) => !some?.length);
    if (isEmpty) store.drop(recordKinds.sync, view);
    else store.append(recordKinds.sync, view, kept, { contents: shas, pin: true });
  }

  record(run: RecordHeader, changes: readonly RecordedChange[], complete: boolean): ChangeRecord {
    const { view, tree, method } = this.#parts;
    const { exec, session, command, mode, before } = run;
    this.#at = Math.max(this.#at + 1, Date.now());
    return {
      exec,
      session,
      view,
      root: tree.root,
      command,
      mode,
      method,
      before,
      after: this.id(),
      at: this.#at,
      changes,
      complete,
      undone: false,
    };
  }

  /** The tree as the view's commands see it. */
  id(): TreeId {
    const { identity } = this.#parts.tree;
    const waiting = this.#pending.all('staged', 'held', 'discarded');
    if (waiting.length === 0) return identity.id();
    return identity.viewId(waiting.map(({ change }) => change));
  }
}

interface StoredSyncState {
  readonly points: SyncPointsJson;
  readonly displaced: readonly StoredDisplacedFile[];
  readonly copies: StoredCopies;
}

/** What {@link ChangeRecorder.appendPending} kept. */
function readStoredPending(kept: unknown): {
  readonly waiting: readonly PendingEntry[];
  readonly ledger: string | null;
} {
  if (typeof kept !== 'object' || kept === null) return { waiting: [], ledger: null };
  const waiting = fieldOf(kept, 'waiting');
  return {
    waiting: Array.isArray(waiting) ? waiting : [],
    ledger: String(fieldOf(kept, 'ledger')),
  };
}

/** What {@link ChangeRecorder.appendSyncState} kept. */
function readStoredSyncState(kept: unknown): StoredSyncState {
  const none: StoredSyncState = { points: [], displaced: [], copies: noStoredCopies };
  return isKeptPoints(kept) ? { ...none, ...kept } : none;
}

function isKeptPoints(value: unknown): value is StoredSyncState {
  if (typeof value !== 'object' || value === null) return false;
  return ['points', 'displaced'].every((name) => Array.isArray(fieldOf(value, name)));
}

// What commands that outlived their daemon go on to write is a delta against what that daemon
// brought into the real tree last. It may have died before it kept how that went.

type Layer = Pick<LayerCapture, 'has'>;
type RecordReader = Pick<SnapshotStore, 'get' | 'records'>;

export interface RecoveredViewState extends StoredSyncState {
  readonly waiting: readonly PendingEntry[];
  /** Of what was captured; `null`: nothing was pending. */
  readonly ledger: string | null;
  /** Planned, and possibly applied: it must be captured again. */
  readonly unsettled: readonly BytePath[];
}

/** @param layer `null`: no command runs that could go on */
export function recoverViewState(
  store: RecordReader,
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

/** For a file that only the record knows. */
function startAfter(change: RecordedChange): SyncPoint | null {
  const reached = appliedStateOf(change);
  if (reached?.after?.type !== 'file') return null;
  if (reached.key !== null) return syncPointOf(reached.after, reached.key);
  // An older version is safe: what the real tree already has is not added twice.
  if (reached.before?.type !== 'file') return null;
  return { ...syncPointOf(reached.before, null), maySee: 'any' };
}

/** More reached the real tree than the point knows, unless both are of the same moment. */
function settled(point: SyncPoint, change: RecordedChange | undefined): SyncPoint {
  const reached = change === undefined ? null : appliedStateOf(change);
  const isOfThen = point.realKey !== null && reached?.key === point.realKey;
  return reached === null || isOfThen ? point : { ...point, realKey: null, maySee: 'any' };
}
