/** Reads what stands at a path, and keeps its content. */
import { closeSync } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import type { Entry, StatKey } from '../../change.ts';
import type { ContentStore } from '../../content-store.ts';
import { readUpTo } from '../descriptor.ts';
import { baseNameOf, parentPathOf } from '../byte-path.ts';
import { fileEntry, permissionsOf, statKey, entryTypeOf } from '../stat.ts';
import type { CaptureBudget } from './capture-budget.ts';
import type { CapturedSource } from './capture.ts';
import { TreeCursor } from './tree-cursor.ts';

/** What stood somewhere, with the key that it had before its content was read. */
export interface ObservedEntry {
  readonly entry: Entry;
  readonly key: StatKey;
  readonly ctimeNs: bigint;
  /** `uid:gid`. */
  readonly owner: string;
  readonly links: number;
}

export interface EntryReadContext {
  readonly contents: ContentStore;
  readonly allowance: CaptureBudget;
}

const blockBytes = 512n;
/** Files of at most this size are read at once, larger ones in parts between other work. */
const atOnceBytes = 256 * 1024;

/** What a stat alone tells: a file's hash stays unknown. */
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
 * What stands at `name` where the cursor is, its content kept. `null`: it went away meanwhile.
 * Special files are not opened, links not followed, and what is nothing but holes stays unread
 * where others had more than may be. A file that is written meanwhile is told as it was read, under
 * the key of before: the next look finds it changed.
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
