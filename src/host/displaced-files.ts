/**
 * Files that left a session's layer while its commands may have them open. What they go on to write
 * there has no name any more, and is looked for here until no command runs.
 */
import { closeSync, constants, fstatSync, openSync, rmSync } from 'node:fs';
import type { BytePath } from '../change.ts';
import type { ExecId } from '../command.ts';
import type { SnapshotStore } from '../snapshot/store.ts';
import type { CapturedChange, LayerCapture } from '../workspace/changes/capture.ts';
import type { DisplacedFile } from '../workspace/changes/prune-applied.ts';
import { statKey } from '../workspace/stat.ts';
import { WorkPacer } from '../workspace/time-slices.ts';
import type { ChangeCommitter } from './change-committer.ts';
import { newRecordId } from './change-record.ts';
import type { SyncPoint } from './file-versions.ts';
import type { WorkspaceTree } from './workspace-tree.ts';

/** Open at once; where there are more, a file stays in the layer. */
const filesMax = 256;

interface Followed extends DisplacedFile {
  /** Of what is in conflict: the record that has it. */
  readonly record: ExecId;
  point: SyncPoint;
  /** As it was when it was read last. */
  key: string;
}

export type StoredDisplacedFile = Omit<Followed, 'fd' | 'key'>;

interface DisplacedChange {
  readonly captured: CapturedChange;
  readonly start: SyncPoint;
  /** See {@link Followed.record}. */
  readonly record: ExecId;
  /** To be called with what was brought into the real tree. */
  readonly synced: (point: SyncPoint) => void;
}

export class DisplacedFiles {
  readonly #tree: WorkspaceTree;
  readonly #store: SnapshotStore;
  #all: Followed[] = [];

  constructor(tree: WorkspaceTree, store: SnapshotStore) {
    this.#tree = tree;
    this.#store = store;
  }

  /** As JSON, for a later process. */
  toJson(): StoredDisplacedFile[] {
    return this.#all.map(({ path, at, entry, point, record }) => {
      return { path, at, entry, point, record };
    });
  }

  /** Goes on with what was kept, by a process that may have died before it was out of the layer. */
  async restore(kept: readonly StoredDisplacedFile[], layer: LayerCapture): Promise<void> {
    for (const one of kept) {
      try {
        const fd = openSync(
          one.at,
          constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
        );
        if (fstatSync(fd).isFile()) this.#all.push({ ...one, fd, key: '' });
        else closeSync(fd);
      } catch {
        // No process has it open any more.
      }
    }
    await layer.removeDisplaced(this.#all);
  }

  /**
   * Removes from the layer those of `paths` that were applied and would hide what others made of
   * them.
   *
   * @param keep appends the followed files to the store, before anything leaves the layer
   * @returns the removed paths
   */
  async displace(
    layer: LayerCapture,
    committing: ChangeCommitter,
    paths: readonly BytePath[],
    keep: () => void,
  ): Promise<readonly BytePath[]> {
    const aside: Followed[] = [];
    const pace = new WorkPacer();
    for (const path of paths) {
      if (this.#all.length === filesMax) break;
      if (pace.isDue()) await pace.rest();
      if (!committing.isOutdated(path)) continue;
      const displaced = await layer.displace(path);
      if (displaced === null) continue;
      const point = committing.noteYielded(path, displaced.entry);
      const followed = { ...displaced, point, key: '', record: newRecordId() };
      this.#all.push(followed);
      aside.push(followed);
    }
    if (aside.length === 0) return [];
    keep();
    await this.#store.sync();
    await layer.removeDisplaced(aside);
    return aside.map(({ path }) => path);
  }

  /** What was written since the last look, one after the other. */
  async *changes(): AsyncGenerator<DisplacedChange> {
    for (const file of this.#all) {
      const stat = fstatSync(file.fd, { bigint: true });
      const key = statKey(stat);
      if (key === file.key) continue;
      const { path, point } = file;
      const before = point.layer;
      const { sha256, size } = await this.#store.putFile(file.fd);
      if (sha256 === before.sha256) {
        file.key = key;
        continue;
      }
      const after = { ...before, size, sha256, mtimeMs: Number(stat.mtimeNs) / 1e6 };
      const sides = { path, kind: 'modified', before, after, marks: [] } as const;
      const base = { base: point.real, baseKey: this.#tree.keyAt(path), baseCtimeNs: null };
      const rest = { isCopyUp: false, isMasked: false, hasMaskedBelow: false };
      yield {
        captured: { ...sides, ...base, ...rest, sourceAt: null, upperKey: null },
        start: point,
        record: file.record,
        synced: (next) => {
          file.point = next;
          file.key = key;
        },
      };
    }
  }

  /** No command runs that could write to them. */
  clear(): void {
    for (const { at } of this.#all) rmSync(at, { force: true });
    this.close();
  }

  close(): void {
    for (const { fd } of this.#all.splice(0)) closeSync(fd);
  }
}
