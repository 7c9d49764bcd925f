/** Puts what a session's commands changed, and what waits in its layer, into the store. */
import type { ChangeMethod, TreeId, WorkspaceMode } from '../../change.ts';
import type { ExecId, SessionId } from '../../command.ts';
import type { SnapshotStore } from '../../snapshot/store.ts';
import type { LayerCapture } from '../../workspace/changes/captured.ts';
import type { Pending } from './pending.ts';
import { contentsOf, recordKinds, type ChangeRecord, type RecordedChange } from './record.ts';
import type { Tree } from './tree.ts';

export interface RecordingParts {
  readonly session: SessionId;
  readonly method: ChangeMethod;
  readonly tree: Tree;
  readonly layer: LayerCapture | null;
  readonly store: SnapshotStore;
}

/** What a record says besides the changes. */
export interface Told {
  readonly exec: ExecId;
  readonly command: string;
  readonly mode: WorkspaceMode;
  readonly before: TreeId;
}

/** Nothing is on disk before the store was synced. */
export class Recording {
  readonly #parts: RecordingParts;
  readonly #pending: Pending;
  #at = 0;

  constructor(parts: RecordingParts, pending: Pending) {
    this.#parts = parts;
    this.#pending = pending;
  }

  append(record: ChangeRecord): void {
    const contents = contentsOf(record.changes);
    this.#parts.store.append(recordKinds.changes, record.exec, record, { contents });
  }

  appendWaiting(): void {
    const { store, session, layer } = this.#parts;
    if (layer === null) return;
    if (this.#pending.size === 0) {
      store.drop(recordKinds.layer, session);
      return;
    }
    const waiting = this.#pending.toJson();
    const kept = { waiting, ledger: layer.ledgerJson() };
    const contents = contentsOf(waiting.map(({ change }) => change));
    store.append(recordKinds.layer, session, kept, { contents, pin: true });
  }

  record(run: Told, changes: readonly RecordedChange[], complete: boolean): ChangeRecord {
    const { session, tree, method } = this.#parts;
    const { exec, command, mode, before } = run;
    this.#at = Math.max(this.#at + 1, Date.now());
    return {
      exec,
      session,
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

  /** The tree as the session sees it. */
  id(): TreeId {
    const { identity } = this.#parts.tree;
    const waiting = this.#pending.all('staged', 'held', 'discarded');
    if (waiting.length === 0) return identity.id();
    return identity.viewId(waiting.map(({ change }) => change));
  }
}
