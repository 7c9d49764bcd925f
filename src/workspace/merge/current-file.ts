/** A file of the real tree now: its entry and its bytes. */
import { createHash } from 'node:crypto';
import { closeSync, fstatSync } from 'node:fs';
import type { BytePath, Entry, StatKey } from '../../change.ts';
import { readUpTo } from '../byte-path.ts';
import { TreePathResolver } from '../commit/tree-path-resolver.ts';
import { fileEntry, statKey } from '../stat.ts';

export type FileEntry = Extract<Entry, { readonly type: 'file' }>;

interface CurrentFile {
  readonly entry: FileEntry;
  readonly key: StatKey;
  readonly uid: number;
  /** Unix ms. */
  readonly ctimeMs: number;
  readonly bytes: Buffer;
}

/** How often a file that is written while it is read is read again. */
const attemptsMax = 3;

/**
 * Reads a regular file. `null`: there is none, it is larger than `bytesMax`, may not be read, or is
 * written all the time.
 *
 * @param root absolute, without a link in it
 */
export function readCurrentFile(
  root: string,
  path: BytePath,
  bytesMax: number,
): CurrentFile | null {
  const steps = new TreePathResolver(root);
  try {
    for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
      const fd = steps.open(path);
      if (fd === null) return null;
      const found = readFile(fd, bytesMax);
      if (found !== 'written') return found;
    }
    return null;
  } catch {
    return null;
  } finally {
    steps.close();
  }
}

/** Reads an open file and closes it. */
function readFile(fd: number, bytesMax: number): CurrentFile | null | 'written' {
  try {
    const stat = fstatSync(fd, { bigint: true });
    if (stat.size > BigInt(bytesMax)) return null;
    const bytes = readUpTo(fd, Number(stat.size) + 1);
    const key = statKey(stat);
    const uid = Number(stat.uid);
    if (statKey(fstatSync(fd, { bigint: true })) !== key) return 'written';
    return {
      entry: fileEntryWithBytes(fileEntry(stat), bytes),
      key,
      uid,
      ctimeMs: msOf(stat.ctimeNs),
      bytes,
    };
  } finally {
    closeSync(fd);
  }
}

const msOf = (ns: bigint): number => Number(ns / 1_000_000n);

/** The entry of a file that has these bytes. */
export function fileEntryWithBytes(entry: FileEntry, bytes: Buffer): FileEntry {
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return { ...entry, size: bytes.length, sha256 };
}
