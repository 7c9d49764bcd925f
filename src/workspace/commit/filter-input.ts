/** What the filter needs to know of a workspace, from its survey and its rules. */
import type { BytePath } from '../../change.ts';
import type { PathRules } from '../../command.ts';
import { bytePathOf } from '../byte-path.ts';
import { isBelow } from '../inspect-path.ts';
import { readVisibility } from '../projection/visibility.ts';
import { parsePathRules } from '../path-rules.ts';
import type { FilterInput } from './commit-filter.ts';

export interface FilterFacts extends Pick<
  FilterInput,
  'home' | 'isReserved' | 'isSystem' | 'isProjectedGit' | 'tags' | 'changesMax' | 'bytesMax'
> {
  /** Real path of the workspace. */
  readonly root: string;
  /** Rules for writing. */
  readonly write: PathRules;
  /** As surveyed when the session was opened, absolute. */
  readonly gitDirectories: readonly string[];
  readonly links: readonly string[];
}

export function buildFilterInput(facts: FilterFacts): FilterInput {
  const { root, home, write, gitDirectories, links, ...asTold } = facts;
  const within = (names: readonly string[]): BytePath[] =>
    names
      .filter((name) => isBelow(name, root))
      .map((name) => bytePathOf(name.slice(root.length + 1)));
  const denied = readVisibility({ allow: [], deny: write.deny }, { root, home });
  return {
    ...asTold,
    root,
    isDenied: (path) => denied.hides(path),
    lifted: within(parsePathRules(write.allow, { root, home }).paths),
    gitDirectories: within(gitDirectories),
    links: within(links),
    home,
  };
}
