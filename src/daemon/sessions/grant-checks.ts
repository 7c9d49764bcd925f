/** What a policy refuses of a session's grants, when it is made and when its policy changes. */
import { realpathSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Grants } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import type { Policy } from '../../policy/policy.ts';
import { isBelow, realPathPrefix } from '../../workspace/inspect-path.ts';
import { parsePathRules, type RuleBase } from '../../workspace/path-rules.ts';

/**
 * Only a sandbox keeps files from a command. Network is the judge's: it is asked about, too.
 *
 * @throws TrlError `POLICY_DENIED` for a session without a sandbox under a policy that bounds files
 */
export function refuseUnenforceableGrants(
  { sandbox }: Pick<Grants, 'sandbox'>,
  { name, files }: Pick<Policy, 'name' | 'files'>,
): void {
  const lists = [...files.read, ...files.write];
  const isBound = files.deny.length > 0 || lists.some((list) => !list.includes('/'));
  if (sandbox !== 'none' || !isBound) return;
  const message = `Cannot run without a sandbox: nothing would hold what policy "${name}" says of`;
  throw new TrlError('POLICY_DENIED', `${message} files`);
}

/** @throws TrlError `POLICY_DENIED` for a tree that policy denies, or that a list does not hold */
export function refuseDeniedGrants(
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
  const isDenied = denialsOf(files.deny, { root: workspace, home });
  for (const tree of granted) {
    if (tree.path === workspace) continue;
    if (isDenied(tree.path)) {
      const message = `Cannot grant ${JSON.stringify(tree.path)}: policy "${name}" denies it`;
      throw new TrlError('POLICY_DENIED', message);
    }
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

/**
 * Whether a real path, or a directory above it, is denied. A longer grant overrides a session's
 * rule, but never a policy's. Opening a workspace is itself a grant for it.
 */
function denialsOf(deny: readonly string[], base: RuleBase): (path: string) => boolean {
  const rules = parsePathRules(deny, base);
  const paths = new Set(rules.paths.flatMap((one) => [one, realPathPrefix(one)]));
  const isDenied = (path: string): boolean =>
    path !== base.root &&
    (paths.has(path) || rules.matches(path) || (path !== '/' && isDenied(dirname(path))));
  return isDenied;
}

/** Grants are compared by real path. */
function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
