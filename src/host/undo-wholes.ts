/** What is judged of directories that come back as one: each entry in them, as that of any undo. */
import { createHash } from 'node:crypto';
import type { BytePath, Entry } from '../change.ts';
import { nameOf } from '../workspace/byte-path.ts';
import type { HeldReason } from '../workspace/commit/held.ts';
import type { CommitItem } from '../workspace/commit/item.ts';
import { wholeOf } from '../workspace/commit/moving.ts';
import { protectedByContent } from '../workspace/commit/protected.ts';
import { TreeSteps } from '../workspace/commit/steps.ts';
import { WholeWalk } from '../workspace/commit/whole-walk.ts';

const textBytesMax = 256 * 1024;

type Judge = (items: readonly CommitItem[]) => Promise<ReadonlyMap<BytePath, HeldReason>>;

/** Asks about items and what is in them; for a held entry the whole directory is. */
export async function heldWithWholes(
  items: readonly CommitItem[],
  judge: Judge,
): Promise<ReadonlyMap<BytePath, HeldReason>> {
  const all = [...items];
  const tops = new Map<BytePath, BytePath>();
  for (const item of items) {
    if (wholeOf(item.after)?.kept === undefined) continue;
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
  const steps = new TreeSteps(source.tree);
  try {
    using walk = new WholeWalk(source.tree, source.path, null);
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
function readOf(steps: TreeSteps, path: BytePath, entry: Entry | null): Entry | null {
  if (entry?.type !== 'file' || protectedByContent(nameOf(path)) === null) return entry;
  const text = steps.read(path, textBytesMax);
  if (text === null) return entry;
  return { ...entry, sha256: createHash('sha256').update(text, 'latin1').digest('hex') };
}
