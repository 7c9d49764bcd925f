/** Walks trees for what must be protected: git directories, worktrees, names that rules match. */
import { readdirSync, type Dirent } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { bytePathOf } from './byte-path.ts';
import { nameProtectionOf } from './commit/protected-paths.ts';
import { foldName } from './commit/fold-name.ts';
import { isGitDirectory, isWorktreeAdmin } from './git-directories.ts';

export interface WalkResult {
  /** Git directories, bare ones and those of submodules and worktrees included. */
  readonly gitDirectories: readonly string[];
  /** Directories with a `.git` of any kind. */
  readonly worktrees: readonly string[];
  readonly matched: readonly string[];
  /** Protected names that are links, or lie in a directory that is protected. */
  readonly links: readonly string[];
  readonly entries: number;
  /** Whether every directory that could be read was read. */
  readonly complete: boolean;
}

export interface WalkOptions {
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
      // Looked at now: a command may have made so many entries that its turn never comes.
      const git = `${directory}/.git`;
      if (isGitDirectory(namesOf(list(git)))) gitDirectories.add(git);
    }
    for (const child of children) {
      const isDirectory = child.isDirectory();
      // Most entries are files that nobody asked for: not even their path is made.
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
