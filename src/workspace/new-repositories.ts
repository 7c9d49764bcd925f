/**
 * Finds what git on the host would run from repositories that were not there before: at the top of
 * a writable tree and one level below it, bare ones and `.git` files that lead elsewhere included.
 */
import path from 'node:path';
import { isHarmlessConfig } from './git-config.ts';
import { DirectoryHandle } from './directory-handle.ts';
import { isBelow, statOrUnreadable, realPathOrNull } from './inspect-path.ts';
import type { GuardedPath } from './protection.ts';

/** Directories of a workspace in which new repositories are looked for after each command. */
const childrenMax = 256;
/** Git knows fewer; where there are more, their directory is taken out as a whole. */
const hooksMax = 64;
const configBytesMax = 256 * 1024;

export interface KnownGitState {
  /** Writable trees, by real path. */
  readonly trees: readonly string[];
  /** Git directories, and paths that are guarded anyway. */
  readonly known: ReadonlySet<string>;
  /** What could not be written: nothing in it is new. */
  readonly covered: readonly string[];
}

/** A git directory that is new. */
interface Fresh {
  readonly tree: string;
  readonly path: string;
  /** What its `core.worktree` may name, where a `.git` file led to it. */
  readonly worktree: string | null;
}

/** Hooks and configuration to take out, each as a path that should be absent. */
export function findNewGitPrograms(before: KnownGitState): GuardedPath[] {
  const found = before.trees.flatMap((tree) =>
    places(tree).flatMap((place) => inPlace(tree, place, before)),
  );
  return [...new Map(found.map((one) => [one.path, one])).values()];
}

function places(tree: string): string[] {
  const top = DirectoryHandle.open(tree);
  if (top === null) return [];
  using _ = top;
  const children = top.entries().filter((entry) => entry.isDirectory());
  return [tree, ...children.slice(0, childrenMax).map((entry) => `${tree}/${entry.name}`)];
}

function inPlace(tree: string, place: string, before: KnownGitState): GuardedPath[] {
  const git = `${place}/.git`;
  const stat = before.known.has(git) ? null : statOrUnreadable(git);
  if (stat !== null && before.covered.some((cover) => isBelow(git, cover))) return [];
  const isPointer = stat !== null && stat !== 'unreadable' && stat.isFile();
  const isBare =
    !before.known.has(place) && statOrUnreadable(`${place}/HEAD`) !== null && looksBare(place);
  return [
    ...(isPointer ? behindPointer(tree, place, before) : []),
    ...(stat !== null && !isPointer ? inside({ tree, path: git, worktree: null }) : []),
    ...(isBare ? inside({ tree, path: place, worktree: null }) : []),
  ];
}

/** Git takes the directory it stands in for a repository where it has these. */
function looksBare(place: string): boolean {
  const has = (name: string): boolean => statOrUnreadable(`${place}/${name}`) !== null;
  return has('commondir') || (has('objects') && has('refs'));
}

/** A file that leads where nobody may look is taken out itself. */
function behindPointer(tree: string, place: string, before: KnownGitState): GuardedPath[] {
  const git = path.join(place, '.git');
  const text = readIn(tree, place, '.git');
  const out: GuardedPath[] = [{ kind: 'absent', tree, path: git }];
  const value = /^gitdir: ([^\r\n]+)[\r\n]*$/.exec(text ?? '')?.[1];
  const target = value === undefined ? null : fresh(place, value, before);
  if (target === null) return out;
  const common = readIn(target.tree, target.path, 'commondir');
  const hasCommon = statOrUnreadable(path.join(target.path, 'commondir')) !== null;
  const shared = fresh(target.path, common?.replace(/[\r\n]+$/, '') ?? '.', before);
  if (shared === null || (hasCommon && common === null)) return out;
  return [{ ...target, worktree: place }, shared]
    .filter((one, index) => !before.known.has(one.path) && (index === 0 || hasCommon))
    .flatMap((one) => inside(one, one.path === target.path));
}

/** The git directory that `value` names, where a command could write; never through a link. */
function fresh(from: string, value: string, { trees }: KnownGitState): Fresh | null {
  const written = path.isAbsolute(value) ? value : `${from}/${value}`;
  const real = realPathOrNull(written);
  // Through a link, `..` leads elsewhere than it reads.
  if (real === null || real !== path.resolve(written)) return null;
  const tree = trees.find((one) => isBelow(real, one));
  return tree === undefined ? null : { tree, path: real, worktree: null };
}

function inside({ tree, path: git, worktree }: Fresh, mayShare = false): GuardedPath[] {
  const out = (name: string): GuardedPath => ({ kind: 'absent', tree, path: path.join(git, name) });
  const handle = DirectoryHandle.walk(tree, git);
  // A link on the way, which git follows.
  if (handle === null) return [out('')];
  using _ = handle;
  const runs = (name: string): boolean => {
    if (handle.stat(name) === null) return false;
    const text = handle.read(name, configBytesMax);
    return text === null || !isHarmlessConfig(text, git, worktree);
  };
  const configs = ['config', 'config.worktree'].filter(runs);
  const shares = !mayShare && handle.stat('commondir') !== null ? ['commondir'] : [];
  const hooks = handle.stat('hooks') === null ? [] : activeHooks(handle);
  return [...hooks, ...configs, ...shares].map(out);
}

function activeHooks(git: DirectoryHandle): string[] {
  const hooks = git.enter('hooks');
  if (hooks === null) return ['hooks'];
  using _ = hooks;
  const active = hooks.names().filter((name) => !name.endsWith('.sample'));
  return active.length > hooksMax ? ['hooks'] : active.map((name) => `hooks/${name}`);
}

function readIn(tree: string, directory: string, name: string): string | null {
  const stat = statOrUnreadable(path.join(directory, name));
  if (stat === null || stat === 'unreadable' || !stat.isFile()) return null;
  const handle = DirectoryHandle.walk(tree, directory);
  if (handle === null) return null;
  using _ = handle;
  return handle.read(name, configBytesMax);
}
