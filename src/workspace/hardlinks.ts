/** Other names of protected files. Costs a walk, and only where a protected file has any. */
import path from 'node:path';
import { lstatOrNull } from './inspect-path.ts';
import { walkTree } from './walk.ts';

interface Named<As extends string> {
  readonly path: string;
  readonly as: As;
}

/** Names in `trees` of the same files as `covers`, with the cover that each should get. */
export async function findOtherNames<As extends string>(
  covers: readonly Named<As>[],
  trees: readonly string[],
  entriesMax: number,
): Promise<Map<string, As>> {
  const wanted = new Map<string, As>();
  for (const cover of covers) {
    const stat = lstatOrNull(cover.path);
    if (stat?.isFile() && stat.nlink > 1) wanted.set(`${stat.dev}:${stat.ino}`, cover.as);
  }
  const found = new Map<string, As>();
  if (wanted.size === 0) return found;
  const known = new Set(covers.map((cover) => cover.path));
  const matches = (name: string): boolean => {
    const stat = lstatOrNull(name);
    const as = stat === null ? undefined : wanted.get(`${stat.dev}:${stat.ino}`);
    if (as !== undefined && !known.has(name)) found.set(path.normalize(name), as);
    return false;
  };
  for (const tree of trees) await walkTree(tree, { matches, entriesMax });
  return found;
}
