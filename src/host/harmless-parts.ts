/** What is free of a change that is held as a whole, and its way into the real tree. */
import type { BytePath, StatKey } from '../change.ts';
import type { SnapshotStore } from '../snapshot/store.ts';
import type { CapturedChange } from '../workspace/changes/capture.ts';
import type { CommitFilter } from '../workspace/commit/commit-filter.ts';
import type { CommitItem, ItemResult } from '../workspace/commit/commit-item.ts';
import { fileEntryWithBytes, readCurrentFile } from '../workspace/merge/current-file.ts';
import type { CommitOrigin } from './change-outcomes.ts';
import type { PendingChanges } from './pending-changes.ts';
import type { AppliedState, RecordedChange } from './change-record.ts';
import type { WorkspaceTree } from './workspace-tree.ts';

const bytesMax = 256 * 1024;

interface Ground {
  readonly tree: WorkspaceTree;
  readonly store: SnapshotStore;
  /** What commits left in the real tree. */
  readonly left: Map<BytePath, StatKey | null>;
  readonly isConflict: (captured: CapturedChange) => boolean;
  readonly put: (items: readonly CommitItem[]) => Promise<ReadonlyMap<BytePath, ItemResult>>;
}

/** What came, by path. */
export type AppliedParts = ReadonlyMap<BytePath, AppliedState>;

/** Brings the plain part of held changes into the real tree. Where that fails, all is held. */
export async function applyHarmlessParts(
  { filter, pending }: { readonly filter: CommitFilter | null; readonly pending: PendingChanges },
  ground: Ground,
  changes: readonly CapturedChange[],
  { mode, isLost }: Pick<CommitOrigin, 'mode' | 'isLost'>,
): Promise<AppliedParts> {
  const { tree, store, left, isConflict, put } = ground;
  if (filter === null || mode !== 'direct' || isLost) return new Map();
  const found = new Map<BytePath, CommitItem>();
  for (const captured of changes) {
    const { path, after, baseKey } = captured;
    if (!filter.hasHarmlessPart(path) || pending.find(path)?.change.state !== 'held') continue;
    if (after?.type !== 'file' || after.sha256 === null || isConflict(captured)) continue;
    const standing = readCurrentFile(tree.root, path, bytesMax);
    const wanted = await store.read(after.sha256);
    if (standing === null || wanted === null || standing.key !== baseKey) continue;
    const texts = [standing.bytes, wanted].map((bytes) => bytes.toString('latin1'));
    const part = filter.harmlessPart(path, texts[0] ?? '', texts[1] ?? '');
    if (part === null) continue;
    const bytes = Buffer.from(part, 'latin1');
    store.put(standing.bytes);
    store.put(bytes);
    const entry = { ...fileEntryWithBytes(standing.entry, bytes), mtimeMs: Date.now() };
    const sides = { base: standing.entry, baseKey, after: entry };
    found.set(path, { path, ...sides, source: null, sourceKey: null });
  }
  if (found.size === 0) return new Map();
  const reached = new Map<BytePath, AppliedState>();
  const results = await put([...found.values()]).catch(() => new Map<BytePath, ItemResult>());
  for (const [path, result] of results) {
    const { base: before = null, after = null } = found.get(path) ?? {};
    if (result.state !== 'applied') continue;
    const part = { before, after, key: result.key };
    reached.set(path, part);
    pending.rebase(path, part);
    left.set(path, part.key);
    tree.identity.change(path, before, after);
  }
  tree.noteChanges([...reached.keys()]);
  return reached;
}

/** A held change of which a part is in the real tree. */
export function partiallyAppliedChange(
  change: RecordedChange,
  reached: AppliedState,
): RecordedChange {
  return { ...change, marks: [...change.marks, 'partly-applied'], reached };
}
