/** Names by which a file in a project is run later, by a tool, on the host. Pure. */
import { protectedNamesTable } from './protected-names.ts';

/**
 * At the root of the workspace and of every git worktree in it, where there is no layer.
 * `.gitattributes` stays writable: the filters it names do nothing without the configuration, which
 * is protected.
 */
export const unlayeredProtectedNames: readonly string[] = protectedNamesTable.flatMap(
  ({ withoutLayer }) => withoutLayer?.split(' ') ?? [],
);

/**
 * In every git directory. `commondir` would make git read another directory's configuration;
 * `config.worktree` and `info/attributes` are read beside the ones that people look at.
 */
export const gitProtectedNames: readonly string[] = [
  'hooks',
  'config',
  'config.worktree',
  'commondir',
  'info/attributes',
];
