/** What becomes of a ref that a session changed, when the host's may have moved meanwhile. */
import type { BytePath } from '../../change.ts';
import type { RefChange, RefValue } from './git-plan.ts';
import type { GitHistory } from './git-history.ts';
import { isOid } from './ref-values.ts';

export type RefDecision =
  /** The host has it, or needs nothing of it. */
  | { readonly kind: 'none' }
  | { readonly kind: 'set'; readonly from: RefValue; readonly to: RefValue }
  /** Both were merged into `to`. */
  | { readonly kind: 'merge'; readonly from: string; readonly to: string }
  /** The host's stands, and the session's is kept under another name. */
  | { readonly kind: 'aside'; readonly to: string }
  /** The host's stands, and nothing of the session's would be lost. */
  | { readonly kind: 'theirs' };

const branches = 'refs/heads/';

export interface RefDecisionContext {
  /** `null` without git: what would need it is set aside. */
  readonly history: GitHistory | null;
  /** Whether a command of the session has written to a path of the worktree. */
  readonly isTouched: (path: BytePath) => boolean;
}

/** @param host what the ref is now */
export async function decideRef(
  deciding: RefDecisionContext,
  change: RefChange,
  host: RefValue,
): Promise<RefDecision> {
  const { history } = deciding;
  const { name, base, now } = change;
  if (host === now) return { kind: 'none' };
  if (change.isUnsure === true && isOid(host)) {
    if (now === null) return { kind: 'none' };
    // Never back to what was there before by mistake; what is newer comes by the next look.
    const isOlder = isOid(now) && (await history?.isAncestor(now, host)) !== false;
    if (isOlder) return { kind: 'none' };
  }
  const kept = await keep(deciding, change, host);
  if (kept !== null) return kept;
  if (host === base) return { kind: 'set', from: host, to: now };
  if (!isOid(now)) return { kind: 'theirs' };
  if (host === null && base === undefined) return { kind: 'set', from: host, to: now };
  if (!isOid(host) || history === null) return { kind: 'aside', to: now };
  if (await history.isAncestor(now, host)) return { kind: 'none' };
  if (await history.isAncestor(host, now)) return { kind: 'set', from: host, to: now };
  // Where either side has rewritten what both had, a merge would bring that back.
  if (!name.startsWith(branches) || base === null) return { kind: 'aside', to: now };
  const isGrown = base === undefined || (await isBehind(history, base, [host, now]));
  const tree = isGrown ? await history.merge(host, now) : null;
  if (tree === null) return { kind: 'aside', to: now };
  const to = await history.commit(tree, [host, now], messageOf(name));
  return { kind: 'merge', from: host, to };
}

async function isBehind(
  history: GitHistory,
  base: string,
  all: readonly string[],
): Promise<boolean> {
  for (const one of all) if (!(await history.isAncestor(base, one))) return false;
  return true;
}

/**
 * A session that saw the host's new commit, but had an index from before, has committed the reverse
 * of what the host did, and nobody meant that: its files are still as the host made them.
 *
 * @returns `null`: there is nothing to keep
 */
async function keep(
  { history, isTouched }: RefDecisionContext,
  { now, blind = null }: RefChange,
  host: RefValue,
): Promise<RefDecision | null> {
  if (blind === null || history === null || !isOid(now) || !isOid(host)) return null;
  const { from, to } = blind;
  if (!(await isBehind(history, from, [to])) || !(await isBehind(history, to, [host, now]))) {
    return null;
  }
  const [theirs, ours] = [await history.differing(from, to), await history.differing(to, now)];
  // A file that the session has written, and has as it was: that one it meant.
  const isLost = [...theirs].some(([path, { from: was }]) => {
    const own = ours.get(path);
    return own !== undefined && !(own.to?.oid === was?.oid && isTouched(path));
  });
  if (!isLost) return null;
  const tree = await history.treeOf(now);
  const alone = await history.commit(tree, [from], 'as if alone', now);
  const both = await history.merge(host, alone);
  if (both === tree) return null;
  if (both === null) return { kind: 'aside', to: now };
  const parents = (await history.isAncestor(host, now)) ? [now] : [host, now];
  const made = await history.commit(both, parents, keepingMessage, now);
  return { kind: 'merge', from: host, to: made };
}

const keepingMessage =
  'Keep what was committed while a session prepared its commit\n\n' +
  'Its index was of before, and the commit took back what came meanwhile.\n';

const messageOf = (name: string): string =>
  `Merge what a session committed to ${name.slice(branches.length)}\n\n` +
  'Both sides committed at the same time; their changes do not touch each other.\n';

/** Where what was set aside is found. */
export const asideRefName = (label: string, name: string): string =>
  `refs/trl/${label}/${name.startsWith(branches) ? name.slice(branches.length) : name}`;
