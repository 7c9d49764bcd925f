/** What came as one directory with thousands of entries, entry by entry, for the way back. */
import type { BytePath, Entry, StatKey, DirectorySummary } from '../change.ts';
import type { ContentStore } from '../content-store.ts';
import type { UndoableChange } from '../workspace/commit/commit-item.ts';
import { readManifest } from '../workspace/commit/manifest.ts';
import { bulkDirectoryOf } from '../workspace/commit/move-directory.ts';
import { permissionBits, quickKey } from '../workspace/stat.ts';

const typeBits = 0o170000;
const types: ReadonlyMap<number, 'directory' | 'file' | 'symlink'> = new Map([
  [0o040000, 'directory'],
  [0o100000, 'file'],
  [0o120000, 'symlink'],
]);

/** With all that came in directories that are told as one. */
export async function expandBulkDirectories(
  undoable: readonly UndoableChange[],
  contents: Pick<ContentStore, 'read'>,
): Promise<UndoableChange[]> {
  const all: UndoableChange[] = [];
  for (const one of undoable) {
    all.push(one);
    const whole = bulkDirectoryOf(one.after);
    if (whole !== null) all.push(...(await entriesOf(one.path, whole, contents)));
  }
  return all;
}

async function entriesOf(
  directory: BytePath,
  whole: DirectorySummary,
  contents: Pick<ContentStore, 'read'>,
): Promise<UndoableChange[]> {
  const found: UndoableChange[] = [];
  for await (const line of readManifest(whole, contents)) {
    // What is not known is not taken back, nor the directory that it is in.
    const after = line === null ? null : entryOf(line.key);
    if (line === null || after === null) continue;
    found.push({ path: `${directory}/${line.path}`, before: null, after, key: line.key });
  }
  return found;
}

/** As far as a stat tells. */
function entryOf(key: StatKey): Entry | null {
  const { mode, size, mtimeMs } = quickKey(key);
  const type = types.get(mode & typeBits);
  if (type === 'directory') return { type, mode: mode & permissionBits };
  if (type === 'file') return { type, mode: mode & permissionBits, size, mtimeMs, sha256: null };
  return type === undefined ? null : { type, target: '' };
}
