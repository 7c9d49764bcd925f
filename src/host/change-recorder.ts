/** Puts what a view's commands changed, and what waits in its layer, into the store. */
import { fieldOf } from '../json-shape.ts';
import type { Change, ChangeMethod, TreeId, WorkspaceMode } from '../change.ts';
import type { ExecId, SessionId } from '../command.ts';
import type { SnapshotStore } from '../snapshot/store.ts';
import type { CaptureResult, LayerCapture } from '../workspace/changes/capture.ts';
import { noStoredCopies, type StoredCopies } from './change-announcer.ts';
import { attributeChanges, type AttributedChanges } from './attribution.ts';
import type { StoredDisplacedFile } from './displaced-files.ts';
import type { PendingChanges, PendingEntry } from './pending-changes.ts';
import {
  recordedContents,
  mergeRecordedChanges,
  originalHashesOf,
  recordKinds,
  type ChangeRecord,
  type RecordedChange,
} from './change-record.ts';
import type { RunningCommand } from './session-dependencies.ts';
import type { SyncPointsJson } from './sync-points.ts';
import type { WorkspaceTree } from './workspace-tree.ts';

export interface ChangeRecorderDependencies {
  readonly view: string;
  readonly method: ChangeMethod;
  readonly tree: WorkspaceTree;
  readonly layer: LayerCapture | null;
  readonly store: SnapshotStore;
}

/** What a record says besides the changes. */
export interface RecordHeader {
  readonly exec: ExecId;
  readonly session: SessionId;
  readonly command: string;
  readonly mode: WorkspaceMode;
  readonly before: TreeId;
}

/** What one command tells, and its record with all that it told before. */
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

  append(record: ChangeRecord): void {
    const { store, tree, layer } = this.#parts;
    const contents = recordedContents(record.changes);
    const originals = layer === null ? [] : originalHashesOf(record.changes, tree.made);
    store.append(recordKinds.changes, record.exec, record, { contents, originals });
  }

  /** What is in nobody else's record but as shared. */
  appendRecords(told: readonly AttributedRecord[]): void {
    for (const { isOwner, record } of told) if (isOwner) this.append(record);
  }

  /** What commands tell of changes that `finder` came upon: its own record, then the others'. */
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

export interface StoredSyncState {
  readonly points: SyncPointsJson;
  readonly displaced: readonly StoredDisplacedFile[];
  readonly copies: StoredCopies;
}

/** What {@link ChangeRecorder.appendPending} kept. */
export function readStoredPending(kept: unknown): {
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
export function readStoredSyncState(kept: unknown): StoredSyncState {
  const none: StoredSyncState = { points: [], displaced: [], copies: noStoredCopies };
  return isKeptPoints(kept) ? { ...none, ...kept } : none;
}

function isKeptPoints(value: unknown): value is StoredSyncState {
  if (typeof value !== 'object' || value === null) return false;
  return ['points', 'displaced'].every((name) => Array.isArray(fieldOf(value, name)));
}
