/** Reads the entry at a path, and stores its content. */
import { type BigIntStats, closeSync } from 'node:fs';
import type { BytePath, Entry, StatKey } from '../../change.ts';
import type { ContentStore } from '../../content-store.ts';
import { baseNameOf, parentPathOf, readUpTo } from '../byte-path.ts';
import { entryTypeOf, fileEntry, permissionsOf, statKey } from '../stat.ts';
import type { CapturedSource } from './capture.ts';
import { TreeCursor } from './tree-cursor.ts';

/** An entry, with the key that it had before its content was read. */
export interface ObservedEntry {
  readonly entry: Entry;
  readonly key: StatKey;
  readonly ctimeNs: bigint;
  /** `uid:gid`. */
  readonly owner: string;
  readonly links: number;
}

interface EntryReadContext {
  readonly contents: ContentStore;
  readonly allowance: CaptureBudget;
}

const blockBytes = 512n;
/** Files of at most this size are read at once, larger ones in parts between other work. */
const atOnceBytes = 256 * 1024;

/** The entry that a stat alone shows: a file's hash stays unknown. */
export function observeEntry(
  cursor: TreeCursor,
  name: string,
  stat: BigIntStats,
): ObservedEntry | null {
  const type = entryTypeOf(stat);
  if (type === 'file') return about(stat, fileEntry(stat));
  if (type !== 'symlink') return about(stat, { type, mode: permissionsOf(stat) });
  const target = cursor.readLink(name);
  return target === null ? null : about(stat, { type, target });
}

/**
 * Reads the entry `name` of the cursor's directory and stores its content. `null`: it disappeared
 * meanwhile. Special files are not opened, links not followed, and a file that consists of holes
 * only is not read if other files use up the bound. A file that is written meanwhile is captured as
 * read, under its earlier key: the next capture finds it changed.
 */
export async function readEntry(
  cursor: TreeCursor,
  name: string,
  stat: BigIntStats,
  { contents, allowance }: EntryReadContext,
): Promise<ObservedEntry | null> {
  if (!stat.isFile()) return observeEntry(cursor, name, stat);
  const file = cursor.openFile(name);
  if (file === 'missing') return null;
  if (file === 'closed') return observeEntry(cursor, name, stat);
  try {
    const { size: length, blocks } = file.stat;
    if (!allowance.takeHoles(Number(length), Number(blocks * blockBytes))) {
      return about(file.stat, fileEntry(file.stat));
    }
    const { sha256, size } = await keep(file.fd, file.stat, contents);
    return about(file.stat, { ...fileEntry(file.stat), size, sha256 });
  } finally {
    closeSync(file.fd);
  }
}

/**
 * Opens a regular file for reading, whatever its depth, without following a link; `null` where
 * there is none. The caller closes it.
 */
export function openSource(source: CapturedSource, options = { mayWiden: false }): number | null {
  using cursor = new TreeCursor(source.tree, options);
  if (cursor.goto(parentPathOf(source.path)) !== 'here') return null;
  const file = cursor.openFile(baseNameOf(source.path));
  return typeof file === 'string' ? null : file.fd;
}

async function keep(
  fd: number,
  stat: BigIntStats,
  contents: ContentStore,
): Promise<{ sha256: string; size: number }> {
  if (stat.size > Math.min(atOnceBytes, contents.fileBytesMax)) return contents.putFile(fd);
  const bytes = readUpTo(fd, Number(stat.size));
  return { sha256: contents.put(bytes), size: bytes.length };
}

function about(stat: BigIntStats, entry: Entry): ObservedEntry {
  return {
    entry,
    key: statKey(stat),
    ctimeNs: stat.ctimeNs,
    owner: `${stat.uid}:${stat.gid}`,
    links: Number(stat.nlink),
  };
}

// How much one capture may report. All of it is in memory and stored as one text, and a command can
// create a million names of 16 KiB in seconds.

const entriesMax = 500_000;
/** Of all paths, as they are written in JSON: a tree of half a million files has less. */
const bytesMax = 32 * 1024 * 1024;
/** One byte takes so many, as `\u0001`. */
const escapedBytes = 6;
/** Of holes in files: a command makes them for nothing, and they take time to read. */
const holesMax = 1024 * 1024 * 1024;
const plain = /^[ !#-[\]-~]*$/;

export class CaptureBudget {
  #entries = entriesMax;
  #bytes = bytesMax;
  #holes = holesMax;

  /** @param known paths that are captured already, and are kept with the new ones */
  constructor(known: Iterable<BytePath> = []) {
    for (const path of known) this.take(path);
  }

  /** `false`: there is no room for it. */
  take(path: BytePath): boolean {
    this.#entries -= 1;
    this.#bytes -= plain.test(path) ? path.length : path.length * escapedBytes;
    return this.#entries >= 0 && this.#bytes >= 0;
  }

  /** Whether a file may be read: `size` and `written` in bytes, `written` without its holes. */
  takeHoles(size: number, written: number): boolean {
    const holes = Math.max(0, size - written);
    if (holes > this.#holes) return false;
    this.#holes -= holes;
    return true;
  }
}
