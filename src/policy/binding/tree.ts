/** The state of a whole tree, told by what the file system says of each entry. Reads no content. */
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, type BigIntStats } from 'node:fs';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';

/** Entries that are looked at, about 20 µs each; a larger tree is not bound. */
export const entriesMax = 50_000;
const entriesPerTurn = 256;

/** Git's own stores: nothing in them is run, and each look of git at its tree may write there. */
const stores = /\/\.git\/(?:objects|logs|lfs|FETCH_HEAD)$/;

export interface TreeState {
  /** SHA-256 (hex). */
  readonly sha256: string;
  readonly entries: number;
}

/**
 * `null`: it has more entries than are looked at.
 *
 * @param isKnown says of an entry that it tells nothing new
 */
export async function treeState(
  root: string,
  isKnown: (name: string, stat: BigIntStats) => boolean = () => false,
  max = entriesMax,
): Promise<TreeState | null> {
  const lines: string[] = [];
  const queue = [root];
  let seen = 0;
  for (const directory of queue) {
    for (const name of list(directory)) {
      const file = path.join(directory, name);
      seen += 1;
      if (seen > max) return null;
      if (seen % entriesPerTurn === 0) await turn();
      const stat = statOf(file);
      if (stat === null || stores.test(file)) continue;
      if (stat.isDirectory()) queue.push(file);
      const relative = path.relative(root, file);
      if (!isKnown(relative, stat)) lines.push(`${relative}\0${spell(stat)}`);
    }
  }
  const sha256 = createHash('sha256').update(lines.toSorted().join('\n')).digest('hex');
  return { sha256, entries: lines.length };
}

/** Of a directory its size and times say only that something in it came or went. */
export function spell(stat: BigIntStats): string {
  const { dev, ino, mode, size, mtimeNs, ctimeNs } = stat;
  const parts = stat.isDirectory() ? [dev, ino, mode] : [dev, ino, mode, size, mtimeNs, ctimeNs];
  return parts.join(':');
}

/** `null`: nothing is there. */
export function statOf(file: string): BigIntStats | null {
  try {
    return lstatSync(file, { bigint: true });
  } catch (error) {
    if (isAbsence(error)) return null;
    throw error;
  }
}

const isAbsence = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  (error.code === 'ENOENT' || error.code === 'ENOTDIR');

/** What this process may not list, no command may: it has no more rights. */
function list(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
