/** Whether the current entry at a path is a recorded one, by content. */
import { closeSync, fstatSync } from 'node:fs';
import type { BytePath, Entry } from '../../change.ts';
import type { ContentStore } from '../../content-store.ts';
import type { CommitItem } from './commit-item.ts';
import { hashFile, readFileRange } from './new-content.ts';
import { entryAt, TreePathResolver } from './tree-path-resolver.ts';

const partBytes = 1024 * 1024;

/** Times are left aside: they say nothing that content and mode do not. */
export async function matchesEntry(
  steps: TreePathResolver,
  path: BytePath,
  wanted: Entry,
): Promise<boolean> {
  const entry = entryAt(steps, path);
  if (entry?.type !== wanted.type) return false;
  if (entry.type === 'symlink' || wanted.type === 'symlink') {
    return wanted.type === 'symlink' && entry.type === 'symlink' && entry.target === wanted.target;
  }
  if (entry.mode !== wanted.mode) return false;
  if (entry.type !== 'file' || wanted.type !== 'file') return true;
  if (entry.size !== wanted.size || wanted.sha256 === null) return false;
  const fd = steps.open(path);
  if (fd === null) return false;
  try {
    return (await hashFile(fd)) === wanted.sha256;
  } finally {
    closeSync(fd);
  }
}

/** Whether a file is the new content of an item, or the start of it. */
export async function isPartOfNewContent(
  steps: TreePathResolver,
  path: BytePath,
  item: CommitItem,
  contents: Pick<ContentStore, 'read'>,
): Promise<boolean> {
  const { after } = item;
  const fd = steps.open(path);
  if (fd === null || after?.type !== 'file') return false;
  try {
    const { size } = fstatSync(fd);
    if (size > after.size) return false;
    if (size === 0) return true;
    if (size === after.size && (await hashFile(fd)) === after.sha256) return true;
    const whole = await wholeOf(item, contents);
    if (whole === null) return false;
    try {
      return await isPart(fd, whole);
    } finally {
      if (typeof whole === 'number') closeSync(whole);
    }
  } finally {
    closeSync(fd);
  }
}

/** The new content: kept bytes, or an open file. */
async function wholeOf(
  { after, source }: CommitItem,
  contents: Pick<ContentStore, 'read'>,
): Promise<Buffer | number | null> {
  const kept =
    after?.type === 'file' && after.sha256 !== null ? await contents.read(after.sha256) : null;
  if (kept !== null || source === null) return kept;
  const steps = new TreePathResolver(source.tree);
  try {
    return steps.open(source.path);
  } finally {
    steps.close();
  }
}

async function isPart(fd: number, whole: Buffer | number): Promise<boolean> {
  for (let at = 0; ;) {
    const part = await readFileRange(fd, at, partBytes);
    if (part.length === 0) return true;
    const same =
      typeof whole === 'number'
        ? await readFileRange(whole, at, part.length)
        : whole.subarray(at, at + part.length);
    if (!part.equals(same.subarray(0, part.length))) return false;
    at += part.length;
  }
}

/** Whether two records mean the same thing at a path. Times are left aside. */
export function isEqualEntry(a: Entry | null, b: Entry | null): boolean {
  if (a === null || b === null) return a === b;
  if (a.type === 'symlink' || b.type === 'symlink') {
    return a.type === 'symlink' && b.type === 'symlink' && a.target === b.target;
  }
  if (a.type !== b.type || a.mode !== b.mode) return false;
  if (a.type !== 'file' || b.type !== 'file') return true;
  if (a.size !== b.size) return false;
  // If one of them was not read, the same size and time are the same file.
  if (a.sha256 === null || b.sha256 === null) return a.mtimeMs === b.mtimeMs;
  return a.sha256 === b.sha256;
}
