/** Walks trees for what must be protected: git directories, worktrees, names that rules match. */
import { type Dirent, lstatSync, readdirSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { readSmallText } from './beneath.ts';
import { bytePathOf, foldName } from './byte-path.ts';
import { nameProtectionOf } from './commit/protected-paths.ts';
import { isBelow, lstatOrNull } from './inspect-path.ts';

export interface WalkResult {
  /** Git directories, bare ones and those of submodules and worktrees included. */
  readonly gitDirectories: readonly string[];
  /** Directories with a `.git` of any kind. */
  readonly worktrees: readonly string[];
  readonly matched: readonly string[];
  /** Protected names that are links, or in a protected directory. */
  readonly links: readonly string[];
  readonly entries: number;
  /** Whether every directory that could be read was read. */
  readonly complete: boolean;
}

interface WalkOptions {
  /** `null`: nothing is looked for by name. */
  readonly matches: ((name: string) => boolean) | null;
  /** Bound of the entries looked at, nearest to the root first. */
  readonly entriesMax: number;
}

/** Git's own stores: many, and nothing in them is run. */
const storesOfGit: ReadonlySet<string> = new Set(['objects', 'refs', 'logs', 'lfs']);
const directoriesPerTurn = 256;

/** Breadth first, without following links. Directories that cannot be read are left out. */
export async function walkTree(tree: string, options: WalkOptions): Promise<WalkResult> {
  const gitDirectories = new Set<string>();
  const worktrees: string[] = [];
  const matched: string[] = [];
  const links: string[] = [];
  let entries = 0;
  const queue = [tree];
  // The queue grows while it is read: an iterator sees what is added.
  for (const [at, directory] of queue.entries()) {
    if (entries >= options.entriesMax) {
      const found = { gitDirectories: [...gitDirectories], worktrees, matched, links };
      return { ...found, entries, complete: false };
    }
    if (at % directoriesPerTurn === directoriesPerTurn - 1) await turn();
    const children = list(directory);
    entries += children.length;
    const names = namesOf(children);
    const isGit = isGitDirectory(names);
    if (isGit || isWorktreeAdmin(names)) gitDirectories.add(directory);
    if (names.has('.git')) {
      worktrees.push(directory);
      // Checked now: a command may have made so many entries that a later turn never comes.
      const git = `${directory}/.git`;
      if (isGitDirectory(namesOf(list(git)))) gitDirectories.add(git);
    }
    for (const child of children) {
      const isDirectory = child.isDirectory();
      // Most entries are ordinary files: not even their path is built.
      const isLink = child.isSymbolicLink();
      if (!isDirectory && !isLink && options.matches === null) continue;
      const name = `${directory}/${child.name}`;
      if (isLink && isProtectedLink(name.slice(tree.length + 1))) links.push(name);
      if (options.matches?.(name) === true) matched.push(name);
      if (isDirectory && !(isGit && storesOfGit.has(child.name))) queue.push(name);
    }
  }
  const found = { gitDirectories: [...gitDirectories], worktrees, matched, links };
  return { ...found, entries, complete: true };
}

function isProtectedLink(path: string): boolean {
  return nameProtectionOf(bytePathOf(path).split('/').map(foldName), 'link') !== null;
}

function namesOf(entries: readonly Dirent[]): Set<string> {
  return new Set(entries.map((entry) => entry.name));
}

function list(directory: string): Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return [];
  }
}

// Recognises git directories and what belongs to them. Reads small files only; never runs git.

/** A directory outside the workspace that a worktree inside it needs for `git commit`. */
interface CommonDirectory {
  readonly path: string;
  readonly uid: number;
  readonly gid: number;
}

const smallFileBytes = 64 * 1024;

/** Whether `names` are what a git directory holds, bare or not. */
export function isGitDirectory(names: ReadonlySet<string>): boolean {
  return names.has('HEAD') && names.has('objects') && names.has('refs');
}

/** Whether `names` are what `.git/worktrees/NAME` holds. */
function isWorktreeAdmin(names: ReadonlySet<string>): boolean {
  return names.has('HEAD') && names.has('commondir') && names.has('gitdir');
}

/**
 * The git directory that the file `<worktree>/.git` points to, if it is outside `workspace` and
 * consistent: it must point back at this very worktree and belong to `uid`. Otherwise a file that a
 * command wrote could open any repository of the host.
 */
export function outsideCommonDirectory(
  worktree: string,
  workspace: string,
  uid: number,
): CommonDirectory | null {
  const git = pointer(path.join(worktree, '.git'), /^gitdir: (.+)$/m, worktree);
  if (git === null || isBelow(git, workspace)) return null;
  const common = pointer(path.join(git, 'commondir'), /^(.+)$/m, git);
  const named =
    common === null
      ? pointer(path.join(git, 'config'), /^\s*worktree\s*=\s*(.+)$/m, git)
      : pointer(path.join(git, 'gitdir'), /^(.+)$/m, git);
  const expected = common === null ? worktree : path.join(worktree, '.git');
  const directory = common ?? git;
  if (named !== expected || isBelow(workspace, directory)) return null;
  const stat = lstatSync(directory, { throwIfNoEntry: false });
  if (stat?.isDirectory() !== true || stat.uid !== uid) return null;
  return { path: directory, uid: stat.uid, gid: stat.gid };
}

/** The real path that a small text file names, or `null`. */
function pointer(file: string, pattern: RegExp, from: string): string | null {
  const value = pattern.exec(readSmallText(file, smallFileBytes) ?? '')?.[1]?.trim();
  if (value === undefined) return null;
  try {
    return realpathSync.native(path.resolve(from, value));
  } catch {
    return null;
  }
}

// Other names of protected files. Costs a walk, and only where a protected file has any.

interface Named<As extends string> {
  readonly path: string;
  readonly as: As;
}

/** Names in `trees` of the same files as `covers`, with the cover that each should get. */
export async function findOtherNames<As extends string>(
  covers: readonly Named<As>[],
  trees: readonly string[],
  entriesMax: number,
): Promise<Map<string, As>> {
  const wanted = new Map<string, As>();
  for (const cover of covers) {
    const stat = lstatOrNull(cover.path);
    if (stat?.isFile() && stat.nlink > 1) wanted.set(`${stat.dev}:${stat.ino}`, cover.as);
  }
  const found = new Map<string, As>();
  if (wanted.size === 0) return found;
  const known = new Set(covers.map((cover) => cover.path));
  const matches = (name: string): boolean => {
    const stat = lstatOrNull(name);
    const as = stat === null ? undefined : wanted.get(`${stat.dev}:${stat.ino}`);
    if (as !== undefined && !known.has(name)) found.set(path.normalize(name), as);
    return false;
  };
  for (const tree of trees) await walkTree(tree, { matches, entriesMax });
  return found;
}
