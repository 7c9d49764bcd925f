/** What the filter needs to know of a workspace, from its survey and its rules. */
import path from 'node:path';
import type { BytePath } from '../../change.ts';
import type { FileGrants } from '../../command.ts';
import { configuredPaths } from '../git.ts';
import { isBelow } from '../inspect.ts';
import { readRules } from '../rules.ts';
import type { FilterInput } from './held.ts';

export interface FilterFacts {
  /** Real path of the workspace. */
  readonly root: string;
  readonly home: string;
  readonly files: FileGrants;
  /** As surveyed when the session was opened, absolute. */
  readonly gitDirectories: readonly string[];
  readonly isReserved: (path: BytePath) => boolean;
  readonly isProjectedGit: boolean;
  readonly changesMax: number;
  readonly bytesMax: number;
}

/** Reads the configuration of the git directories that are known; runs no git. */
export function filterInput(facts: FilterFacts): FilterInput {
  const { root, home, files, gitDirectories } = facts;
  const { isReserved, isProjectedGit, changesMax, bytesMax } = facts;
  const within = (names: readonly string[]): BytePath[] =>
    names
      .filter((name) => name !== root && isBelow(name, root))
      .map((name) => relative(root, name));
  const configured = gitDirectories.flatMap((git) =>
    configuredPaths(git, path.basename(git) === '.git' ? path.dirname(git) : null),
  );
  const denied = readRules(files.write.deny, { root, home });
  const deniedPaths = new Set(denied.paths);
  const isDenied = (name: BytePath): boolean => {
    const absolute = `${root}/${Buffer.from(name, 'latin1').toString('utf8')}`;
    return deniedPaths.has(absolute) || denied.matches(absolute);
  };
  return {
    root,
    isDenied: deniedPaths.size === 0 && !denied.hasGlobs ? () => false : isDenied,
    isReserved,
    lifted: within(readRules(files.write.allow, { root, home }).paths),
    gitDirectories: gitDirectories.flatMap((git) => (git === root ? [''] : within([git]))),
    configured: within(configured),
    isProjectedGit,
    changesMax,
    bytesMax,
  };
}

function relative(root: string, name: string): BytePath {
  return Buffer.from(path.relative(root, name)).toString('latin1');
}
