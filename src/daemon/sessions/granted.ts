/** What a policy refuses of a session's grants, when it is made and when its policy changes. */
import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Grants } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import type { Policy } from '../../policy/policy.ts';
import { isBelow } from '../../workspace/inspect.ts';

/**
 * Only a sandbox keeps files from a command. Network is the judge's: it is asked about, too.
 *
 * @throws TrlError `POLICY_DENIED` for a session without a sandbox under a policy that bounds files
 */
export function refuseUnheld(
  { sandbox }: Pick<Grants, 'sandbox'>,
  { name, files }: Pick<Policy, 'name' | 'files'>,
): void {
  const lists = [...files.read, ...files.write];
  const isBound = files.deny.length > 0 || lists.some((list) => !list.includes('/'));
  if (sandbox !== 'none' || !isBound) return;
  const message = `Cannot run without a sandbox: nothing would hold what policy "${name}" says of`;
  throw new TrlError('POLICY_DENIED', `${message} files`);
}

/** @throws TrlError `POLICY_DENIED` for a tree that a list of the policy does not hold */
export function refuseGrants(
  granted: readonly { readonly path: string; readonly writable: boolean }[],
  by: {
    readonly workspace: string | null;
    readonly policy: Pick<Policy, 'name' | 'files'>;
    readonly home: string;
  },
): void {
  const { workspace, home } = by;
  const { name, files } = by.policy;
  const absolute = (entry: string): string =>
    resolve(entry === '~' || entry.startsWith('~/') ? home + entry.slice(1) : entry);
  for (const tree of granted) {
    if (tree.path === workspace) continue;
    const [verb, lists] = tree.writable ? ['write', files.write] : ['read', files.read];
    const holds = (list: readonly string[]): boolean =>
      list.some((one) => isBelow(tree.path, realOf(absolute(one))));
    if (lists.every(holds)) continue;
    const shown = JSON.stringify(tree.path);
    throw new TrlError(
      'POLICY_DENIED',
      `Cannot ${verb} ${shown}: policy "${name}" has not listed it`,
    );
  }
}

/** Grants are compared by real path. */
function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
