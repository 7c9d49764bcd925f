/**
 * Copies of files that others saved, which the layer has so that watches inside report them. They
 * are no change of a command; a command's edit of one is.
 */
import { createHash, hash } from 'node:crypto';
import { closeSync, readSync, rmdirSync, unlinkSync } from 'node:fs';
import type { BytePath, Entry, StatKey } from '../../change.ts';
import type { ContentStore } from '../../content-store.ts';
import { baseNameOf, parentPathOf, readUpTo } from '../byte-path.ts';
import { fileEntry, isWhiteout, permissionsOf, statKey } from '../stat.ts';
import type { Ledger } from './ledger.ts';
import type { TreeCursor } from './tree-cursor.ts';

const pieceBytes = 1024 * 1024;

type FileEntry = Extract<Entry, { readonly type: 'file' }>;

export interface LayerCopiesContext {
  readonly ledger: Ledger;
  readonly settled: Set<BytePath>;
  readonly upperCursor: TreeCursor;
}

/** A file of the tree as it was copied. */
export interface LayerCopy {
  readonly entry: FileEntry;
  readonly key: StatKey;
}

/** A file of the layer that is as captured. */
interface KnownLayerFile {
  readonly entry: FileEntry;
  readonly upperKey: StatKey;
}

/** What the layer has at a path: `none`, a file as captured last, or `other`. */
export type LayerState = 'none' | 'other' | KnownLayerFile;

export function layerStateOf(
  { ledger, upperCursor }: LayerCopiesContext,
  path: BytePath,
): LayerState {
  const entered = upperCursor.goto(parentPathOf(path));
  if (entered !== 'here') return entered === 'missing' ? 'none' : 'other';
  const stat = upperCursor.stat(baseNameOf(path));
  if (stat === null) return 'none';
  const captured = ledger.get(path);
  const isCaptured = captured?.key === statKey(stat) && !captured.isFresh;
  return isCaptured && captured.entry?.type === 'file'
    ? { entry: captured.entry, upperKey: statKey(stat) }
    : 'other';
}

/**
 * Takes what the layer has at a path for a copy, or for what a command made of one since.
 *
 * @param isCertain it was put there; else only what has the copy's content is one
 * @returns whether it did
 */
export function adoptCopy(
  { ledger, settled, upperCursor }: LayerCopiesContext,
  path: BytePath,
  { entry, key: baseKey, isCertain }: LayerCopy & { readonly isCertain: boolean },
): boolean {
  if (upperCursor.goto(parentPathOf(path)) !== 'here') return false;
  const name = baseNameOf(path);
  const stat = upperCursor.stat(name);
  if (stat?.isFile() !== true) return false;
  if (!isCertain && contentOf(upperCursor, name, entry.size) !== entry.sha256) return false;
  const captured = { ...entry, mtimeMs: fileEntry(stat).mtimeMs };
  ledger.set(path, {
    key: statKey(stat),
    entry: captured,
    owner: `${stat.uid}:${stat.gid}`,
    hides: true,
    // A command may have written to it since: the next look reads it.
    isFresh: true,
    base: { key: baseKey, entry },
  });
  settled.add(path);
  return true;
}

/**
 * Takes a directory of the layer for the tree's, which something below it brought there: where the
 * tree has it no more, it is no directory that a command made.
 *
 * @returns whether it is one
 */
export function adoptLayerDirectory(
  { ledger, settled, upperCursor }: LayerCopiesContext,
  path: BytePath,
): boolean {
  if (upperCursor.goto(parentPathOf(path)) !== 'here') return false;
  const stat = upperCursor.stat(baseNameOf(path));
  if (stat?.isDirectory() !== true) return false;
  if (ledger.get(path) !== undefined) return settled.has(path);
  ledger.set(path, {
    key: statKey(stat),
    entry: { type: 'directory', mode: permissionsOf(stat) },
    owner: `${stat.uid}:${stat.gid}`,
    hides: false,
    isFresh: false,
    base: null,
  });
  settled.add(path);
  return true;
}

/** Removes the marker of a deletion that a process was announcing when it ended. */
export function removeDeletionMarker(
  { ledger, upperCursor }: LayerCopiesContext,
  path: BytePath,
): void {
  const captured = ledger.get(path);
  if (captured?.entry === null || upperCursor.goto(parentPathOf(path)) !== 'here') return;
  const at = upperCursor.at(baseNameOf(path));
  const stat = upperCursor.stat(baseNameOf(path));
  try {
    if (stat?.isDirectory() === true && captured === undefined) rmdirSync(at);
    if (stat === null || !isWhiteout(stat)) return;
    unlinkSync(at);
    ledger.forget([path]);
  } catch {
    // A command put something into it: that is its own.
  }
}

/**
 * Removes what was on its way into the layer, or just out of it, when a process ended. A command
 * that had come for a file while it was exchanged may have written to it since: that stays.
 *
 * @returns whether there was anything: else all of it had come, or nothing
 */
export async function removeCopyStaging(
  { upperCursor }: LayerCopiesContext,
  name: string,
  known: {
    readonly contents: Pick<ContentStore, 'has' | 'read'>;
    readonly copies: readonly LayerCopy[];
  },
): Promise<boolean> {
  if (upperCursor.goto(name) !== 'here') return false;
  const files = await upperCursor.names();
  try {
    for (const file of files) {
      if (await isKnown(upperCursor, file, known)) unlinkSync(upperCursor.at(file));
    }
    upperCursor.leave();
    rmdirSync(upperCursor.at(name));
  } catch {
    // A command made something there: that is its own.
  }
  return files.length > 0;
}

/** Whether the store has what is in a file, or it is the start of a copy. */
async function isKnown(
  cursor: TreeCursor,
  name: string,
  { contents, copies }: Parameters<typeof removeCopyStaging>[2],
): Promise<boolean> {
  const file = cursor.openFile(name);
  if (typeof file === 'string') return false;
  try {
    const { size, sha256 } = hashed(file.fd);
    if (size === 0 || contents.has(sha256)) return true;
    for (const { entry } of copies) {
      if (entry.size <= size || entry.sha256 === null) continue;
      const bytes = await contents.read(entry.sha256);
      if (bytes !== null && hash('sha256', bytes.subarray(0, size), 'hex') === sha256) return true;
    }
    return false;
  } finally {
    closeSync(file.fd);
  }
}

function hashed(fd: number): { readonly size: number; readonly sha256: string } {
  const whole = createHash('sha256');
  const piece = Buffer.allocUnsafe(pieceBytes);
  let size = 0;
  for (let count = readSync(fd, piece); count > 0; count = readSync(fd, piece)) {
    whole.update(piece.subarray(0, count));
    size += count;
  }
  return { size, sha256: whole.digest('hex') };
}

/** SHA-256 of a file that has no more than `size` bytes. */
function contentOf(cursor: TreeCursor, name: string, size: number): string | null {
  const file = cursor.openFile(name);
  if (typeof file === 'string') return null;
  try {
    return createHash('sha256')
      .update(readUpTo(file.fd, size + 1))
      .digest('hex');
  } finally {
    closeSync(file.fd);
  }
}
