/** Small contents that were read just now: a commit does not read and compare them again. */
import type { SnapshotStore } from '../snapshot/store.ts';
import type { CommitItem } from '../workspace/commit/commit-item.ts';

/** Of one file, and of a commit. */
const [smallBytesMax, atHandBytesMax] = [64 * 1024, 1024 * 1024];

/** @returns by SHA-256 (hex) */
export function collectUnwrittenContents(
  items: readonly CommitItem[],
  store: Pick<SnapshotStore, 'getUnwritten'>,
): ReadonlyMap<string, Uint8Array> {
  const found = new Map<string, Uint8Array>();
  let room = atHandBytesMax;
  for (const { after } of items) {
    if (after?.type !== 'file' || after.sha256 === null) continue;
    const bytes = store.getUnwritten(after.sha256);
    if (bytes === null || bytes.length > Math.min(room, smallBytesMax)) continue;
    found.set(after.sha256, bytes);
    room -= bytes.length;
  }
  return found;
}
