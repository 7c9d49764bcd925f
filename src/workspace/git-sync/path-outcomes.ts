/** What a receipt says of each changed path of a git directory. */
import type { StatKey } from '../../change.ts';
import type { GitOutcome } from './git-plan.ts';
import type { GitFileLocation } from './git-file-locator.ts';
import type { GitPathChange } from './git-session-view.ts';
import type { GitTransaction } from './transaction.ts';

export interface GitSyncOutcome {
  /** `discarded`: the host needs nothing of it; `staged`: it waits until git is done. */
  readonly state: 'applied' | 'conflict' | 'discarded' | 'staged';
  readonly reason: string | null;
  readonly key: StatKey | null;
  /** Where the host has something else than the session. */
  readonly merged?: { readonly from: Buffer; readonly to: Buffer };
}

/** Why a path of git's is dropped, one stable word each. */
const dropped = {
  /** Objects stay, whoever no longer needs them. */
  kept: 'git-objects-kept',
  /** The host has it in another form. */
  derived: 'git-derived',
  /** Another form of what both sides have, as after `git gc`. */
  same: 'git-unchanged',
} as const;

/** @param key of what stands at the path now */
export function gitSyncOutcomeOf(
  { item, place, before }: Pick<GitPathChange, 'item' | 'place' | 'before'>,
  transaction: GitTransaction,
  key: StatKey | null,
): GitSyncOutcome {
  const drop = (reason: string): GitSyncOutcome => ({ state: 'discarded', reason, key });
  const isFile = (item.after ?? before)?.type === 'file';
  const isThere = (item.after !== null) === (key !== null);
  const plain: GitSyncOutcome = isThere
    ? { state: 'applied', reason: null, key }
    : drop(dropped.same);
  const outcome = outcomeIn(transaction, place);
  switch (place.kind) {
    case 'object':
    case 'pack':
      if (transaction.refused.has(item.path)) {
        return { state: 'conflict', reason: 'git-objects', key };
      }
      if (isThere) return plain;
      return drop(item.after === null ? dropped.kept : dropped.derived);
    case 'packed':
      return drop(dropped.same);
    case 'ref':
    case 'log':
    case 'head':
    case 'index':
      return outcome === undefined || !isFile ? plain : worded(outcome, key, place.kind !== 'log');
    case 'lock':
    case 'derived':
    case 'scratch':
    case 'state':
      return plain;
  }
}

function outcomeIn(
  { refs, heads, indexes }: GitTransaction,
  { kind, git, name }: GitFileLocation,
): GitOutcome | undefined {
  if (kind === 'head') return heads.get(git);
  if (kind === 'index') return indexes.get(git);
  return kind === 'log' && name === 'HEAD' ? heads.get(git) : refs.get(name);
}

function worded(
  { state, reason, reached: merged, key: left }: GitOutcome,
  standing: StatKey | null,
  isValue: boolean,
): GitSyncOutcome {
  const key = left === undefined ? standing : left;
  return { state, reason, key, ...(merged === undefined || !isValue ? {} : { merged }) };
}
