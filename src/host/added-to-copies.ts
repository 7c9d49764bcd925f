/** What commands made, before a kill, of copies that the layer had of somebody else's files. */
import type { BytePath } from '../change.ts';
import type { SnapshotStore } from '../snapshot/store.ts';
import type { Copy } from '../workspace/changes/copies.ts';
import { startsWith } from '../workspace/merge/contents.ts';
import { standingFile } from '../workspace/merge/standing-file.ts';
import { pointOf } from './merging.ts';
import type { SyncPoint } from './sync-points.ts';

/** Of what is read. */
const bytesMax = 16 * 1024 * 1024;

export interface AddedTo {
  readonly upper: string;
  readonly store: Pick<SnapshotStore, 'read'>;
  /** Of the path, the versions that the layer may have had. */
  readonly copies: readonly Copy[];
  /** What its file may have been a delta against instead. */
  readonly own: readonly SyncPoint[];
}

/** The copy that the layer's file begins with, which is a delta against it; `null`: none. */
export async function copyAddedTo(
  path: BytePath,
  { upper, store, copies, own }: AddedTo,
): Promise<SyncPoint | null> {
  const found = standingFile(upper, path, bytesMax);
  if (found === null) return null;
  let start: SyncPoint | null = null;
  for (const point of [...copies.map(({ entry, key }) => pointOf(entry, key)), ...own]) {
    const { sha256, size } = point.layer;
    // Every file begins with an empty one.
    if (sha256 === null || size <= (start?.layer.size ?? 0)) continue;
    const bytes = await store.read(sha256);
    if (bytes !== null && startsWith(found.bytes, bytes)) start = point;
  }
  return start === null || own.includes(start) ? null : start;
}
