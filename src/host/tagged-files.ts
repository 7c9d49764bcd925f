/** Files that a command wrote back with tags: the values that stand there so far come back. */
import { setImmediate as turn } from 'node:timers/promises';
import type { BytePath } from '../change.ts';
import type { SnapshotStore } from '../snapshot/store.ts';
import type { CapturedChange } from '../workspace/changes/capture.ts';
import {
  taggedFileBytesMax,
  type CommitFilter,
  type HeldReason,
} from '../workspace/commit/commit-filter.ts';
import {
  fileEntryWithBytes,
  readCurrentFile,
  type FileEntry,
} from '../workspace/merge/current-file.ts';
import { isOrdinaryFile } from './git-sync.ts';
import { isFileOverFile } from './change-outcomes.ts';
import type { DesiredFile } from './file-merger.ts';
import type { CommitterDependencies } from './tree-writer.ts';
import type { GitCommitOrigin } from './dispositions.ts';

const reason: HeldReason = 'redaction-tag';
const readable = 0o400;
const permissions = 0o777;
/** Of one look: each is searched for up to some 100 ms. The others are held. */
const searchedMax = 64;

interface Ground extends Pick<CommitterDependencies, 'tree' | 'owner'> {
  readonly store: Pick<SnapshotStore, 'read' | 'put' | 'has'>;
  readonly filter: CommitFilter;
  /** Whether somebody else changed the path meanwhile. */
  readonly isConflict: (captured: CapturedChange) => boolean;
}

/**
 * What is held for its tags alone and may pass with the values back in their lines. Only of a file
 * that stands in the real tree, that its owner, as whom commands run, may read, and whose new
 * version nobody else may read who could not read the old one.
 */
export async function restoreTaggedFiles(
  changes: readonly CapturedChange[],
  held: ReadonlyMap<BytePath, string>,
  { mode, isLost, places }: GitCommitOrigin,
  ground: Ground,
): Promise<ReadonlyMap<BytePath, FileEntry>> {
  const { tree, owner, store, filter, isConflict } = ground;
  const found = new Map<BytePath, FileEntry>();
  let searched = 0;
  if (mode !== 'direct' || isLost) return found;
  for (const captured of changes) {
    const { path, after, baseKey } = captured;
    if (held.get(path) !== reason || !isFileOverFile(captured)) continue;
    if (after?.type !== 'file' || after.sha256 === null) continue;
    if (!isOrdinaryFile(places.get(path)) || isConflict(captured)) continue;
    const standing = readCurrentFile(tree.root, path, taggedFileBytesMax);
    if (standing === null || standing.key !== baseKey || standing.uid !== owner.uid) continue;
    const { mode: was } = standing.entry;
    if ((was & readable) === 0 || (after.mode & ~was & permissions) !== 0) continue;
    const written = await store.read(after.sha256);
    if (written === null) continue;
    const texts = [standing.bytes, written].map((bytes) => bytes.toString('latin1'));
    if ((searched += 1) > searchedMax) break;
    await turn();
    const text = filter.restoreTagValues(texts[0] ?? '', texts[1] ?? '');
    if (text === null) continue;
    const bytes = Buffer.from(text, 'latin1');
    if (store.has(store.put(bytes))) found.set(path, fileEntryWithBytes(after, bytes));
  }
  return found;
}

/** The file with its values, but where the real tree has them and the tags are no change. */
export function desiredWithValues(wanted: DesiredFile, values: FileEntry | undefined): DesiredFile {
  const { item, start } = wanted;
  const isThere = start !== null && start.layer.sha256 !== start.real.sha256;
  if (values === undefined || isThere) return wanted;
  return {
    ...wanted,
    item: { ...item, after: values, source: null, sourceKey: null },
    hasValuesBack: true,
  };
}
