/** What is judged of directories that come back as one: each entry in them, as that of any undo. */
import { createHash } from 'node:crypto';
import type { BytePath, Entry } from '../change.ts';
import { baseNameOf } from '../workspace/byte-path.ts';
import type { HeldReason } from '../workspace/commit/commit-filter.ts';
import type { CommitItem } from '../workspace/commit/commit-item.ts';
import { bulkDirectoryOf } from '../workspace/commit/move-directory.ts';
import { contentProtectionOf } from '../workspace/commit/protected-paths.ts';
import { TreePathResolver } from '../workspace/commit/tree-path-resolver.ts';
import { BulkDirectoryWalk } from '../workspace/commit/bulk-directory-walk.ts';

const textBytesMax = 256 * 1024;

type Judge = (items: readonly CommitItem[]) => Promise<ReadonlyMap<BytePath, HeldReason>>;

/** Asks about items and what is in them; for a held entry the whole directory is. */
export async function findHeldInBulkDirectories(
  items: readonly CommitItem[],
  judge: Judge,
): Promise<ReadonlyMap<BytePath, HeldReason>> {
  const all = [...items];
  const tops = new Map<BytePath, BytePath>();
  for (const item of items) {
    if (bulkDirectoryOf(item.after)?.kept === undefined) continue;
    for (const inside of await entriesOf(item)) {
      all.push(inside);
      tops.set(inside.path, item.path);
    }
  }
  const held = await judge(all);
  return new Map([...held].map(([path, reason]) => [tops.get(path) ?? path, reason]));
}

async function entriesOf({ path, source }: CommitItem): Promise<CommitItem[]> {
  if (source === null) return [];
  const steps = new TreePathResolver(source.tree);
  try {
    using walk = new BulkDirectoryWalk(source.tree, source.path, null);
    const [, ...rest] = (await walk.run()) ?? [];
    return rest.map(({ path: at, after }) => ({
      path: `${path}${at.slice(source.path.length)}`,
      base: null,
      baseKey: null,
      after: readOf(steps, at, after),
      source: { tree: source.tree, path: at },
      sourceKey: null,
    }));
  } catch {
    // It is not kept any more, and does not come back.
    return [];
  } finally {
    steps.close();
  }
}

/** With its hash, where the filter asks for its content. */
function readOf(steps: TreePathResolver, path: BytePath, entry: Entry | null): Entry | null {
  if (entry?.type !== 'file' || contentProtectionOf(baseNameOf(path)) === null) return entry;
  const text = steps.read(path, textBytesMax);
  if (text === null) return entry;
  return { ...entry, sha256: createHash('sha256').update(text, 'latin1').digest('hex') };
}
