/**
 * Looks a workspace over before a session uses it: what a command may change there and nowhere
 * else, and of that, what must stay as it is because something on the host would run it later.
 *
 *   exists                 a cover: mounted read-only or hidden, enforced by the kernel
 *   absent, or a link      guarded: undone after each command (`guard.ts`), because a mount point
 *                          made for it would be a file left on the host
 *
 * Not covered: git repositories that appear during a session (at the first two levels, what they
 * would run is guarded), and links or names past `entriesMax`.
 */
import path from 'node:path';
import type { FileGrants } from '../command.ts';
import { TrlError } from '../errors.ts';
import { bytePathOf, pathText } from './byte-path.ts';
import { GitConfiguration } from './git-configuration.ts';
import {
  type GrantedTree,
  refuseReservedGrants,
  type ReservedPaths,
  resolveGrants,
  supportsIdmap,
} from './grants.ts';
import { HostLookup } from './host-lookup.ts';
import { isBelow, lstatOrNull } from './inspect-path.ts';
import { parsePathRules, type PathRuleSet } from './path-rules.ts';
import { gitProtectedNames, unlayeredProtectedNames } from './protected-names.ts';
import { type GuardedPath, Protection, type ProtectionCover } from './protection.ts';
import { outsideCommonDirectory, type WalkResult, walkTree } from './walk.ts';

export interface WorkspaceFacts {
  readonly root: string | null;
  /** Whether commands write to a layer above `root`; absent in earlier surveys: no. */
  readonly layered?: boolean;
  readonly uid: number;
  readonly gid: number;
  readonly idmap: boolean;
  readonly granted: readonly GrantedTree[];
  readonly covers: readonly ProtectionCover[];
  readonly guarded: readonly GuardedPath[];
  /** Git directories known now; others that appear are new. */
  readonly gitDirectories: readonly string[];
  /** Protected names that are links; absent in earlier surveys. */
  readonly links?: readonly string[];
  /** Paths that should be covered and are not, for want of mounts. */
  readonly unprotected: number;
  /** Entries looked at, and whether that was all. */
  readonly entries: number;
  readonly complete: boolean;
}

export interface SurveyInput {
  /** Real path, or `null` for a session without a workspace. */
  readonly root: string | null;
  readonly files: FileGrants;
  readonly home: string;
  /** Trees that a sandbox shows anyway: denied paths below them are hidden. */
  readonly visible: readonly string[];
  /** Whether what commands write below `root` goes through the commit filter; default: no. */
  readonly layered?: boolean;
  /** Default: nothing. */
  readonly reserved?: ReservedPaths;
  /** Bound of the entries walked, {@link limits.workspaceEntries}. */
  readonly entriesMax: number;
}

/** Repositories outside the workspace that worktrees inside it may need. */
const commonDirectoriesMax = 8;

/**
 * Surveys a workspace and the files granted beyond it. Changes nothing.
 *
 * @throws TrlError INVALID_PARAMS for a grant that would undo the sandbox; SANDBOX_UNAVAILABLE
 *   where rules match more paths than can be held.
 */
export async function surveyWorkspace(input: SurveyInput): Promise<WorkspaceFacts> {
  const { root, files, home } = input;
  const rules = {
    write: parsePathRules(files.write.deny, { root, home }),
    read: parsePathRules(files.read.deny, { root, home }),
  };
  const either = (name: string): boolean => rules.write.matches(name) || rules.read.matches(name);
  const matches = rules.write.hasGlobs || rules.read.hasGlobs ? either : null;
  const look = (tree: GrantedTree): Promise<WalkResult> =>
    walkTree(tree.path, { matches, entriesMax: input.entriesMax });
  const { reserved = { hidden: [], readOnly: [] } } = input;
  const granted = await resolveGrants(files, { root, home }, reserved.hidden);
  refuseReservedGrants(granted, reserved, root);
  const all: WalkResult[] = [];
  for (const tree of granted) if (tree.writable || rules.read.hasGlobs) all.push(await look(tree));
  for (const tree of commonDirectories(root, granted, all)) {
    granted.push(tree);
    all.push(await look(tree));
  }
  if (matches !== null && !all.every((one) => one.complete)) {
    const reason = `more than ${input.entriesMax} entries to look for wildcards in; name paths`;
    throw new TrlError('SANDBOX_UNAVAILABLE', `Cannot protect the files as asked: ${reason}`);
  }
  const matched = all.flatMap((one) => one.matched);
  const { layered = false, visible } = input;
  const protection = new Protection({ granted, visible, root, layered });
  const hidden = [...rules.read.paths, ...matched.filter(rules.read.matches), ...reserved.hidden];
  for (const name of hidden) protection.hide(name);
  // What is not there for commands needs no mount over it.
  const isAbsent = (name: string): boolean => layered && hides(rules.read, name, root);
  const kept = [...rules.write.paths, ...matched.filter(rules.write.matches), ...reserved.readOnly];
  for (const name of kept) {
    if (!isAbsent(name)) protection.protect(name, 'asked');
  }
  await protection.finishRules(input.entriesMax);
  const lifted = new Set(parsePathRules(files.write.allow, { root, home }).paths);
  for (const name of persistencePaths(input, granted, all)) {
    if (!lifted.has(name)) protection.protect(name, 'built-in');
  }
  await protection.coverOtherNames(input.entriesMax);
  return { ...(await describe(root, granted, all)), layered, ...protection.result() };
}

/** Whether read rules name a path, or a directory of the workspace that holds it. */
function hides(
  { paths, matches }: Pick<PathRuleSet, 'paths' | 'matches'>,
  name: string,
  root: string | null,
): boolean {
  if (root === null || name === root || !isBelow(name, root)) return false;
  const isNamed = paths.includes(name) || matches(name);
  return isNamed || hides({ paths, matches }, path.dirname(name), root);
}

async function describe(
  root: string | null,
  granted: readonly GrantedTree[],
  all: readonly WalkResult[],
): Promise<Omit<WorkspaceFacts, 'covers' | 'guarded' | 'unprotected'>> {
  const { uid, gid } = granted.find((tree) => tree.path === root) ?? { uid: 0, gid: 0 };
  return {
    root,
    uid,
    gid,
    idmap: await supportsIdmap(granted),
    granted,
    gitDirectories: all.flatMap((one) => one.gitDirectories),
    links: all.flatMap((one) => one.links),
    entries: all.reduce((sum, one) => sum + one.entries, 0),
    complete: all.every((one) => one.complete),
  };
}

/** A worktree with a repository elsewhere can commit only if it may write there. */
function commonDirectories(
  root: string | null,
  granted: readonly GrantedTree[],
  all: readonly WalkResult[],
): GrantedTree[] {
  const owner = granted.find((tree) => tree.path === root);
  if (root === null || owner === undefined) return [];
  const found = new Map<string, GrantedTree>();
  for (const worktree of all.flatMap((one) => one.worktrees)) {
    const common = outsideCommonDirectory(worktree, root, owner.uid);
    const isKnown = (tree: GrantedTree): boolean =>
      common !== null && tree.writable && isBelow(common.path, tree.path);
    if (common === null || granted.some(isKnown) || found.size >= commonDirectoriesMax) continue;
    found.set(common.path, { ...common, writable: true });
  }
  return [...found.values()];
}

/**
 * Names whose content is executed later. The top of a tree comes first: nested repositories, of
 * which a command can make any number, must not use up the mounts.
 */
function persistencePaths(
  { root, home }: Pick<SurveyInput, 'root' | 'home'>,
  granted: readonly GrantedTree[],
  all: readonly WalkResult[],
): string[] {
  const configuration = new GitConfiguration(new HostLookup(), home);
  const inGit = (git: string): string[] => pathsInGit(git, configuration);
  const tops = new Set(granted.flatMap((tree) => [tree.path, path.join(tree.path, '.git')]));
  const gits = all.flatMap((one) => one.gitDirectories).toSorted((a, b) => a.length - b.length);
  const worktrees = new Set(all.flatMap((one) => one.worktrees));
  for (const worktree of worktrees) configuration.directoryOf(bytePathOf(`${worktree}/.git`));
  if (root !== null) worktrees.delete(root);
  return [
    ...gits.filter((git) => tops.has(git)).flatMap(inGit),
    ...(root === null ? [] : pathsInTree(root)),
    ...gits.filter((git) => !tops.has(git)).flatMap(inGit),
    ...[...worktrees].flatMap(pathsInTree),
  ];
}

function pathsInGit(git: string, configuration: GitConfiguration): string[] {
  return [
    ...gitProtectedNames.map((name) => path.join(git, name)),
    ...configuration.obeyedPaths(bytePathOf(git)).map((name) => path.normalize(pathText(name))),
  ];
}

/** A `.git` that is a file or a link says whose configuration and hooks git takes. */
function pathsInTree(tree: string): string[] {
  const git = path.join(tree, '.git');
  const stat = lstatOrNull(git);
  const pointer = stat === null || stat.isDirectory() ? [] : [git];
  return [...pointer, ...unlayeredProtectedNames.map((name) => path.join(tree, name))];
}
