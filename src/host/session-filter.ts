/** What of a session's changes may go into the real tree by itself. */
import type { BytePath } from '../change.ts';
import { limits } from '../limits.ts';
import { isAtOrBelow } from '../workspace/byte-path.ts';
import { openCommitFilter } from '../workspace/commit/filter.ts';
import type { CommitFilter } from '../workspace/commit/commit-filter.ts';
import { buildFilterInput } from '../workspace/commit/filter-input.ts';
import type { IssuedTags } from '../redacted.ts';
import { gitView } from './masks.ts';
import type { PathRules } from '../command.ts';
import type { MaskState } from '../workspace/projection/mask.ts';
import type { WorkspaceFacts } from '../workspace/workspace-survey.ts';

export interface CommitFilterScope {
  readonly root: string;
  /** Of the person on the host. */
  readonly home: string;
  /** Given out in the place of secrets. */
  readonly tags: IssuedTags;
  /** Whether a path leads to what every sandbox shows read-only, and to nothing of these. */
  readonly systemOf: (hidden: readonly string[]) => (target: BytePath) => boolean;
}

/** @returns `null` where there is no layer */
export function createSessionFilter(
  { root, home, tags, systemOf }: CommitFilterScope,
  given: {
    readonly facts: WorkspaceFacts | null;
    readonly write: PathRules;
    readonly hidden: MaskState | null | 'no-layer';
  },
): CommitFilter | null {
  const { facts, write, hidden } = given;
  if (hidden === 'no-layer' || facts === null) return null;
  const repositories = hidden?.repositories ?? [];
  const projected = new Set(
    repositories.flatMap(({ kind, path }) => (kind === 'projected' ? [path] : [])),
  );
  const isProjected = (path: BytePath): boolean => isAtOrBelow(path, projected);
  const input = buildFilterInput({
    root,
    home,
    write,
    gitDirectories: facts.gitDirectories,
    links: facts.links ?? [],
    isReserved: (path) => !isProjected(path) && (hidden?.hides(path) ?? false),
    isSystem: systemOf([root, ...facts.covers.map(({ path }) => path)]),
    tags,
    isProjectedGit: gitView(root, hidden) === 'projected',
    changesMax: limits.commitChanges.default,
    bytesMax: limits.commitBytes.default,
  });
  return openCommitFilter(input);
}
