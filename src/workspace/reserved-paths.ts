/** What the runtime obeys and keeps must not come to be, or be led elsewhere, by a grant. */
import { TrlError } from '../errors.ts';
import { grantedTreeOf, type GrantedTree } from './grants.ts';
import { statOrUnreadable } from './inspect-path.ts';
import { linkTrailOf } from './link-trail.ts';

/** What no grant opens. Absolute paths, which need not be there. */
export interface ReservedPaths {
  /** Not even for reading. */
  readonly hidden: readonly string[];
  readonly readOnly: readonly string[];
}

/**
 * A mount covers what is there, but neither a link on the way to it nor a name that is still to be:
 * a command would make that, and the runtime obey it, at once or at its next start. A workspace has
 * nothing of it at all, also where it was brought there after the runtime had started.
 *
 * @param root of the workspace
 * @throws TrlError INVALID_PARAMS for a tree that would let one be made or replaced
 */
export function refuseReservedGrants(
  granted: readonly GrantedTree[],
  reserved: ReservedPaths,
  root: string | null,
): void {
  for (const name of [...reserved.hidden, ...reserved.readOnly]) {
    for (const at of linkTrailOf(name)) {
      const tree = grantedTreeOf(granted, at);
      if (tree?.writable !== true) continue;
      if (tree.path === root) throw refusal(tree, `the runtime obeys "${at}" in it`);
      const stat = statOrUnreadable(at);
      if (stat === null) throw refusal(tree, `the runtime would obey "${at}", which is not there`);
      if (stat === 'unreadable' || !stat.isSymbolicLink()) continue;
      throw refusal(tree, `the runtime obeys what the link "${at}" leads to`);
    }
  }
}

const refusal = ({ path }: GrantedTree, why: string): TrlError =>
  new TrlError('INVALID_PARAMS', `Cannot let commands write "${path}": ${why}; grant less`);
