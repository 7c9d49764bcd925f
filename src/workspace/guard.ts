/**
 * Undoes, after each command, what could not be mounted over: a protected path that was absent and
 * now exists, a protected link that was changed, hooks of a repository that is new and its
 * configuration where that could run anything.
 *
 * Never follows a link that a command made: every step opens the next directory relative to the
 * last one (`/proc/self/fd/N/name`) and refuses links.
 *
 * Not undone: new repositories deeper than the first level of the workspace. The next session's
 * survey sees them.
 */
import { mkdtempSync, readlinkSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { TrlError } from '../errors.ts';
import { DirectoryHandle, quarantineEntry } from './directory-handle.ts';
import { isHarmlessConfig } from './git-config.ts';
import { isBelow, lstatOrNull, realPathOrNull, statOrUnreadable } from './inspect-path.ts';
import type { GuardedPath } from './protection.ts';
import type { WorkspaceFacts } from './workspace-survey.ts';

const nameShown = 64;
const failedShown = 8;

export interface Guard {
  /**
   * Puts guarded paths back as they were. What is taken out is kept in the quarantine directory.
   * Resolves with the names that changed, relative to the workspace where they lie in it.
   *
   * @throws TrlError INTERNAL_ERROR, after everything was tried, with the names that could neither
   *   be moved nor renamed away: the workspace must not be called protected then.
   */
  revert(): Promise<string[]>;
}

/** @param quarantine an existing directory, private to the runtime, outside every workspace. */
export function openGuard(facts: WorkspaceFacts, quarantine: string): Promise<Guard> {
  const known = new Set([...facts.gitDirectories, ...facts.guarded.map((one) => one.path)]);
  const show = (name: string): string =>
    facts.root !== null && name.startsWith(`${facts.root}/`)
      ? path.relative(facts.root, name)
      : name;
  const isLayered = (tree: string): boolean => facts.layered === true && tree === facts.root;
  const writable = facts.granted.filter((tree) => tree.writable).map((tree) => tree.path);
  const trees = writable.filter((tree) => !isLayered(tree));
  const covers = facts.covers.filter((cover) => cover.as !== 'pin');
  const before = { trees, known, covered: covers.map((cover) => cover.path) };
  const revert = (): string[] => {
    const suspects = facts.guarded.filter(hasChanged);
    const planted = findNewGitPrograms(before);
    if (suspects.length === 0 && planted.length === 0) return [];
    const kept = mkdtempSync(path.join(quarantine, 'reverted-'));
    const failed: string[] = [];
    const changed = [...suspects, ...planted].filter((one, index) => {
      const name = path.basename(one.path).slice(0, nameShown);
      try {
        return putBack(one, path.join(kept, `${index}-${name}`));
      } catch {
        failed.push(show(one.path));
        return false;
      }
    });
    if (failed.length > 0) {
      const names = failed.slice(0, failedShown).join(', ');
      throw new TrlError('INTERNAL_ERROR', `Cannot put back what is protected: ${names}`);
    }
    return changed.map((one) => show(one.path));
  };
  return Promise.resolve({ revert: () => Promise.resolve().then(revert) });
}

/** One `lstat`, which may be fooled into suspecting too much, never too little. */
function hasChanged(guarded: GuardedPath): boolean {
  if (guarded.kind === 'absent') return statOrUnreadable(guarded.path) !== null;
  const stat = lstatOrNull(guarded.path);
  return !(stat?.isSymbolicLink() === true && linkTarget(guarded.path) === guarded.target);
}

function linkTarget(name: string): string | null {
  try {
    return readlinkSync(name);
  } catch {
    return null;
  }
}

/** Whether something had to be changed. */
function putBack(guarded: GuardedPath, kept: string): boolean {
  const parts = path.relative(guarded.tree, guarded.path).split('/');
  let directory = DirectoryHandle.open(guarded.tree);
  for (const [index, part] of parts.entries()) {
    if (directory === null) {
      if (hasChanged(guarded)) throw new Error('a directory on the way cannot be opened');
      return false;
    }
    using current = directory;
    const isLast = index === parts.length - 1;
    const stat = current.stat(part);
    if (isLast && guarded.kind === 'link') return restoreLink(current, guarded, kept);
    if (stat === null) return false;
    // A link on the way was not there before: it makes the guarded path appear.
    if (isLast || stat.isSymbolicLink()) {
      quarantineEntry(current, part, kept);
      return true;
    }
    directory = current.enter(part);
  }
  return false;
}

function restoreLink(
  directory: DirectoryHandle,
  { path: name, target }: Extract<GuardedPath, { kind: 'link' }>,
  kept: string,
): boolean {
  const base = path.basename(name);
  if (directory.stat(base) !== null) quarantineEntry(directory, base, kept);
  symlinkSync(target, directory.at(base));
  return true;
}

// Finds what git on the host would run from repositories that were not there before: at the top of
// a writable tree and one level below it, bare ones and `.git` files that lead elsewhere included.

/** Directories of a workspace in which new repositories are looked for after each command. */
const childrenMax = 256;
/** Git knows fewer; where there are more, their directory is taken out as a whole. */
const hooksMax = 64;
const configBytesMax = 256 * 1024;

interface KnownGitState {
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
function findNewGitPrograms(before: KnownGitState): GuardedPath[] {
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

/** Git takes a directory for a repository if it contains these. */
function looksBare(place: string): boolean {
  const has = (name: string): boolean => statOrUnreadable(`${place}/${name}`) !== null;
  return has('commondir') || (has('objects') && has('refs'));
}

/** A git file that leads to an unreadable place is moved out itself. */
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
