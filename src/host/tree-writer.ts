/** Puts changes into the real tree: what is to be done is in the store before. */
import { randomBytes } from 'node:crypto';
import type { BytePath } from '../change.ts';
import type { SnapshotStore } from '../snapshot/store.ts';
import type { LayerCapture } from '../workspace/changes/capture.ts';
import { applyChanges } from '../workspace/commit/apply.ts';
import type { CommitItem, ItemResult } from '../workspace/commit/commit-item.ts';
import type { AtomicRenames } from '../workspace/commit/atomic-renames.ts';
import { collectUnwrittenContents } from './unwritten-contents.ts';
import type { FilterCheckDependencies } from './filter-check.ts';
import { recordKinds } from './change-record.ts';
import type { FileEntry } from '../workspace/merge/current-file.ts';
import type { WorkspaceTree } from './workspace-tree.ts';

export interface CommitterDependencies {
  readonly tree: WorkspaceTree;
  /** Whose files in the real tree are. */
  readonly owner: { readonly uid: number; readonly gid: number };
  readonly store: SnapshotStore;
  readonly renames: AtomicRenames;
  /** With an overlay, `capture` of its upper layer; `null`: commands write to the real tree. */
  readonly layer: LayerCapture | null;
  /** A directory of the runtime's own, for git. */
  readonly scratch: string;
  /** Makes the overlay show what lies in its layers now, above all in these directories. */
  readonly refresh: (directories: readonly BytePath[] | 'all') => Promise<void>;
  /** Must not throw. */
  readonly log: (text: string) => void;
}

type PuttingParts = Pick<CommitterDependencies, 'tree' | 'owner' | 'store' | 'renames'>;

export class TreeWriter {
  /** Intents that were carried out, and whose outcome is in no record yet. */
  readonly carriedOut: string[] = [];
  /** What changes are judged by before they are put there. */
  readonly filterCheck: Omit<FilterCheckDependencies, 'filter'>;
  readonly #parts: PuttingParts;

  constructor(parts: PuttingParts) {
    this.#parts = parts;
    const { tree, store } = parts;
    const isKept = (path: BytePath, before: FileEntry): boolean =>
      (before.sha256 !== null && store.has(before.sha256)) || tree.made.has(path, before);
    this.filterCheck = { root: tree.root, contents: store, isKept };
  }

  /** How it went was appended to the store: recovery has nothing to find out. */
  markRecorded(): void {
    for (const id of this.carriedOut.splice(0)) this.#parts.store.drop(recordKinds.intent, id);
  }

  async put(items: readonly CommitItem[]): Promise<Map<BytePath, ItemResult>> {
    const { tree, owner, store, renames } = this.#parts;
    const id = randomBytes(4).toString('hex');
    const place = { root: tree.root, ...owner };
    if (items.length > 0) store.append(recordKinds.intent, id, { id, tree: place, items });
    const atHand = collectUnwrittenContents(items, store);
    try {
      await store.sync();
    } catch (error) {
      store.drop(recordKinds.intent, id);
      throw error;
    }
    if (items.length === 0) return new Map();
    const input = { tree: place, id, items, contents: store, atHand, renames };
    const results = await tree.exclusive(() => applyChanges(input));
    this.carriedOut.push(id);
    const done = new Map(results.map((result) => [result.path, result]));
    tree.made.note(items.filter(({ path }) => done.get(path)?.state === 'applied'));
    return done;
  }
}
