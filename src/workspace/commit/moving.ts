/** A directory that came with thousands of entries goes into the real tree in one step. */
import { lstatSync, type BigIntStats } from 'node:fs';
import type { Entry, StatKey, Whole } from '../../change.ts';
import type { Contents } from '../../contents.ts';
import { below } from '../descriptor.ts';
import { nameOf, parentOf } from '../byte-path.ts';
import { isSame, statKey } from '../stat.ts';
import type { CommitItem, Refusal } from './item.ts';
import { readManifest } from './manifest.ts';
import type { AtomicRenames } from './renames.ts';
import { statAt } from './standing.ts';
import { TreeSteps } from './steps.ts';

/** What is moved, where the change of a path is that. */
export function wholeOf(entry: Entry | null): Whole | null {
  return entry?.type === 'directory' ? (entry.whole ?? null) : null;
}

/**
 * Moves the source of an item to its path in the open `directory`, where nothing has the name.
 *
 * @returns the key of what stands there then, or why it is not moved
 */
export async function moveWhole(
  { path, source }: CommitItem,
  directory: number,
  renames: AtomicRenames,
): Promise<{ readonly key: StatKey } | Refusal> {
  if (source === null) return 'no-content';
  const steps = new TreeSteps(source.tree);
  try {
    const from = steps.directory(parentOf(source.path));
    if (from === null) return 'no-content';
    const names = { name: nameOf(path), temporary: nameOf(source.path), kept: '' };
    const [answer] = await renames.run([
      { kind: 'name', directory, staging: from, ...names, key: '' },
    ]);
    if (answer === 'changed') return 'changed-meanwhile';
    if (answer !== 'done') return 'refused';
    return { key: statKey(lstatSync(below(directory, names.name), { bigint: true })) };
  } finally {
    steps.close();
  }
}

/** Whether all that is to be moved is there as it was told, as far as its stats say. */
export async function isAsTold(
  { after, source }: Pick<CommitItem, 'after' | 'source'>,
  contents: Pick<Contents, 'read'>,
): Promise<boolean> {
  const whole = wholeOf(after);
  if (whole === null || source === null) return false;
  const steps = new TreeSteps(source.tree);
  try {
    for await (const line of readManifest(whole, contents)) {
      if (line === null) return false;
      const stat: BigIntStats | null = statAt(steps, `${source.path}/${line.path}`);
      if (!isSame(stat, line.key)) return false;
    }
    return true;
  } finally {
    steps.close();
  }
}
