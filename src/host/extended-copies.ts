/** What commands made, before a kill, of copies that the layer had of somebody else's files. */
import type { BytePath } from '../change.ts';
import type { SnapshotStore } from '../snapshot/store.ts';
import type { LayerCopy } from '../workspace/changes/layer-copies.ts';
import { hasPrefixBytes } from '../workspace/merge/merge-contents.ts';
import { readCurrentFile } from '../workspace/merge/current-file.ts';
import { syncPointOf } from './file-merger.ts';
import type { SyncPoint } from './sync-points.ts';

/** Of what is read. */
const bytesMax = 16 * 1024 * 1024;

export interface CopyCandidates {
  readonly upper: string;
  readonly store: Pick<SnapshotStore, 'read'>;
  /** Of the path, the versions that the layer may have had. */
  readonly copies: readonly LayerCopy[];
  /** What its file may have been a delta against instead. */
  readonly own: readonly SyncPoint[];
}

/** The copy that the layer's file begins with, which is a delta against it; `null`: none. */
export async function findExtendedCopy(
  path: BytePath,
  { upper, store, copies, own }: CopyCandidates,
): Promise<SyncPoint | null> {
  const found = readCurrentFile(upper, path, bytesMax);
  if (found === null) return null;
  let start: SyncPoint | null = null;
  for (const point of [...copies.map(({ entry, key }) => syncPointOf(entry, key)), ...own]) {
    const { sha256, size } = point.layer;
    // Every file begins with an empty one.
    if (sha256 === null || size <= (start?.layer.size ?? 0)) continue;
    const bytes = await store.read(sha256);
    if (bytes !== null && hasPrefixBytes(found.bytes, bytes)) start = point;
  }
  return start === null || own.includes(start) ? null : start;
}
