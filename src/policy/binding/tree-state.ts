/** The state of a whole tree, from the metadata of each entry. Reads no content. */
import { createHash } from 'node:crypto';
import {
  accessSync,
  constants,
  lstatSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  type BigIntStats,
} from 'node:fs';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { isPathInside } from '../path-containment.ts';

/** Entries that are looked at, about 20 µs each; a larger tree is not bound. */
export const treeEntriesMax = 50_000;
const entriesPerTurn = 256;

/** Rewritten by each fetch, even without changes: identified by its content. */
const fetched = /\/\.git\/FETCH_HEAD$/;
const fetchedBytesMax = 65_536;

export interface TreeState {
  /** SHA-256 (hex). */
  readonly sha256: string;
  readonly entries: number;
  /** Where links of it lead that leave it, by their names. */
  readonly leaving: ReadonlyMap<string, string>;
}

/**
 * `null`: it has more entries than are looked at, or hides some.
 *
 * @param isKnown whether an entry adds nothing new
 */
export async function readTreeState(
  root: string,
  isKnown: (name: string, stat: BigIntStats) => boolean = () => false,
  max = treeEntriesMax,
): Promise<TreeState | null> {
  const lines: string[] = [];
  const leaving = new Map<string, string>();
  const queue = [root];
  let seen = 0;
  for (const directory of queue) {
    const names = list(directory);
    if (names === null) return null;
    for (const name of names) {
      const file = path.join(directory, name);
      seen += 1;
      if (seen > max) return null;
      if (seen % entriesPerTurn === 0) await turn();
      const stat = statIfPresent(file);
      if (stat === null) continue;
      if (stat.isDirectory()) queue.push(file);
      const relative = path.relative(root, file);
      if (isKnown(relative, stat)) continue;
      const to = stat.isSymbolicLink() ? targetOf(file) : null;
      if (to !== null && !isPathInside(to, root)) leaving.set(relative, to);
      lines.push(`${relative}\0${identityOf(file, stat)}`);
    }
  }
  const sha256 = createHash('sha256').update(lines.toSorted().join('\n')).digest('hex');
  return { sha256, entries: lines.length, leaving };
}

/** Of a link, what it leads to as well: that may lie outside. */
function identityOf(file: string, stat: BigIntStats): string {
  if (fetched.test(file) && stat.isFile() && stat.size <= fetchedBytesMax) {
    return createHash('sha256').update(readFileSync(file)).digest('hex');
  }
  if (!stat.isSymbolicLink()) return formatStatIdentity(stat);
  const there = statSync(file, { bigint: true, throwIfNoEntry: false });
  return `${formatStatIdentity(stat)} ${there === undefined ? '' : formatStatIdentity(there)}`;
}

/** The part of the path that exists; `null` if none does. */
function targetOf(file: string): string | null {
  try {
    return realpathSync.native(file);
  } catch {
    return null;
  }
}

/** Of a directory its size and times say only that something in it came or went. */
export function formatStatIdentity(stat: BigIntStats): string {
  const { dev, ino, mode, size, mtimeNs, ctimeNs } = stat;
  const parts = stat.isDirectory() ? [dev, ino, mode] : [dev, ino, mode, size, mtimeNs, ctimeNs];
  return parts.join(':');
}

/** `null`: nothing is there. */
export function statIfPresent(file: string): BigIntStats | null {
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

/** `null`: its names are hidden, and can be used; what may not even be entered, no command may. */
function list(directory: string): readonly string[] | null {
  try {
    return readdirSync(directory);
  } catch {
    try {
      accessSync(directory, constants.X_OK);
      return statIfPresent(directory) === null ? [] : null;
    } catch {
      return [];
    }
  }
}
