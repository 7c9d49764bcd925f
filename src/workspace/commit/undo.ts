/**
 * Plans to take back what commands did: a path is only touched where it still is as the last of
 * them left it. Nothing is cleaned up, nothing that somebody else made is removed: the plan names
 * paths that were recorded, and is applied like any other change.
 */
import type { BytePath, Entry, StatKey } from '../../change.ts';
import type { Contents } from '../../contents.ts';
import { isSame, statKey } from '../stat.ts';
import type { CommitItem, ItemResult, Refusal, Tree, Undoable, UndoPlan } from './item.ts';
import { isEqual, isLike } from './match.ts';
import { statAt } from './standing.ts';
import { TreeSteps } from './steps.ts';

export interface UndoInput {
  readonly tree: Tree;
  /** What was applied, the newest record first: one to undo a command, more to go back further. */
  readonly records: readonly (readonly Undoable[])[];
  readonly contents: Pick<Contents, 'has'>;
}

/** A path's way back through the records. */
interface Chain {
  readonly after: Entry | null;
  readonly key: StatKey | null;
  before: Entry | null;
  /** Somebody else changed it between two records: only what came after that is undone. */
  isBroken: boolean;
}

/** Looks at the tree and plans. Changes nothing. */
export async function planUndo(input: UndoInput): Promise<UndoPlan> {
  const items: CommitItem[] = [];
  const refused: ItemResult[] = [];
  const steps = new TreeSteps(input.tree.root);
  try {
    for (const [path, chain] of chainsOf(input.records)) {
      const planned = await plan(path, chain, { steps, contents: input.contents });
      // What is open may be moved away while others have their turn.
      steps.close();
      if (planned === null) continue;
      if ('after' in planned) items.push(planned);
      else refused.push(planned);
      if (chain.isBroken) refused.push(refuse(path, 'changed-between'));
    }
  } finally {
    steps.close();
  }
  return { items, refused };
}

function chainsOf(records: readonly (readonly Undoable[])[]): Map<BytePath, Chain> {
  const chains = new Map<BytePath, Chain>();
  for (const { path, before, after, key } of records.flat()) {
    const chain = chains.get(path);
    if (chain === undefined) chains.set(path, { after, key, before, isBroken: false });
    else if (isEqual(after, chain.before)) chain.before = chain.isBroken ? chain.before : before;
    else chain.isBroken = true;
  }
  return chains;
}

interface World {
  readonly steps: TreeSteps;
  readonly contents: Pick<Contents, 'has'>;
}

async function plan(
  path: BytePath,
  chain: Chain,
  { steps, contents }: World,
): Promise<CommitItem | ItemResult | null> {
  const { after, key, before } = chain;
  const stat = statAt(steps, path);
  const isLeft = after === null ? stat === null : await isOurs(steps, path, { after, key });
  if (!isLeft) {
    const isBack = before === null ? stat === null : await isLike(steps, path, before);
    return isBack ? null : refuse(path, 'changed-meanwhile');
  }
  if (isEqual(before, after) && !isOnlyTimes(before, after)) return null;
  const reason = whyImpossible(before, after, contents);
  if (reason !== null) return refuse(path, reason);
  return {
    path,
    base: after,
    baseKey: stat === null ? null : statKey(stat),
    after: before,
    source: null,
    sourceKey: null,
  };
}

/** By key, or by content where a key has changed; another directory of equal mode is another. */
async function isOurs(
  steps: TreeSteps,
  path: BytePath,
  { after, key }: { readonly after: Entry; readonly key: StatKey | null },
): Promise<boolean> {
  if (key !== null && isSame(statAt(steps, path), key)) return true;
  return (key === null || after.type !== 'directory') && (await isLike(steps, path, after));
}

function whyImpossible(
  before: Entry | null,
  after: Entry | null,
  contents: Pick<Contents, 'has'>,
): Refusal | null {
  if (before === null || before.type === 'directory' || before.type === 'symlink') return null;
  if (before.type !== 'file') return 'special';
  if (before.sha256 === null) return 'before-unknown';
  const isThere = after?.type === 'file' && after.sha256 === before.sha256;
  return isThere || contents.has(before.sha256) ? null : 'no-content';
}

function isOnlyTimes(before: Entry | null, after: Entry | null): boolean {
  return (
    before?.type === 'file' &&
    after?.type === 'file' &&
    before.sha256 !== null &&
    before.mtimeMs !== after.mtimeMs
  );
}

function refuse(path: BytePath, reason: Refusal): ItemResult {
  const isTheirs = reason === 'changed-meanwhile' || reason === 'changed-between';
  const state = isTheirs ? 'conflict' : 'failed';
  return { path, state, reason, detail: null, keptAt: null };
}
