/** What came as one directory with thousands of entries, entry by entry, for the way back. */
import type { BytePath, Entry, StatKey, Whole } from '../change.ts';
import type { Contents } from '../contents.ts';
import type { Undoable } from '../workspace/commit/item.ts';
import { readManifest } from '../workspace/commit/manifest.ts';
import { wholeOf } from '../workspace/commit/moving.ts';
import { permissions, quickKey } from '../workspace/stat.ts';

const typeBits = 0o170000;
const types: ReadonlyMap<number, 'directory' | 'file' | 'symlink'> = new Map([
  [0o040000, 'directory'],
  [0o100000, 'file'],
  [0o120000, 'symlink'],
]);

/** With all that came in directories that are told as one. */
export async function expanded(
  undoable: readonly Undoable[],
  contents: Pick<Contents, 'read'>,
): Promise<Undoable[]> {
  const all: Undoable[] = [];
  for (const one of undoable) {
    all.push(one);
    const whole = wholeOf(one.after);
    if (whole !== null) all.push(...(await entriesOf(one.path, whole, contents)));
  }
  return all;
}

async function entriesOf(
  directory: BytePath,
  whole: Whole,
  contents: Pick<Contents, 'read'>,
): Promise<Undoable[]> {
  const found: Undoable[] = [];
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
  if (type === 'directory') return { type, mode: mode & permissions };
  if (type === 'file') return { type, mode: mode & permissions, size, mtimeMs, sha256: null };
  return type === undefined ? null : { type, target: '' };
}
