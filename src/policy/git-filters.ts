/**
 * Finds the filter drivers that a repository configures: `git status` and `git diff` would run
 * them, and they can only be disabled by name. Reads the host's file system.
 */
import { constants } from 'node:fs';
import { lstat, open, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { isPathInside } from './path-containment.ts';

/** One setting of a git configuration file: `section.key` in lower case, and the subsection. */
export interface GitSetting {
  readonly name: string;
  readonly subsection: string | null;
  readonly value: string;
}

export interface GitLookupScope {
  readonly workspace: string | null;
  readonly cwd: string;
  /** The settings of a file as git reads it; `null` if it cannot be read that way. */
  readonly parseGitConfig: (text: string) => readonly GitSetting[] | null;
}

/** The drivers' names, or why they are unknown: a clause about the repository. */
export type GitFilters = { readonly names: readonly string[] } | { readonly unknown: string };

const fileBytesMax = 1024 * 1024;

export async function findGitFilters(place: GitLookupScope): Promise<GitFilters> {
  const { workspace } = place;
  if (workspace === null) return { names: [] };
  const directories = await gitDirectories(workspace, place.cwd);
  if (directories === null) return { unknown: 'is not a whole repository inside the workspace' };
  const names = new Set<string>();
  for (const directory of directories) {
    for (const name of ['config', 'config.worktree']) {
      const found = await settingsOf(path.join(directory, name), place);
      if ('unknown' in found) return found;
      for (const one of found.names) names.add(one);
    }
  }
  return { names: [...names].toSorted() };
}

async function settingsOf(
  file: string,
  { workspace, parseGitConfig }: GitLookupScope,
): Promise<GitFilters> {
  const text = await read(file, workspace);
  if (text === null) return { names: [] };
  const settings = text === undefined ? null : parseGitConfig(text);
  if (settings === null) return { unknown: 'has a configuration that is not certain to read' };
  const names: string[] = [];
  for (const { name, subsection, value } of settings) {
    if (name === 'include.path' || name === 'includeif.path') {
      return { unknown: 'has a configuration that includes other files' };
    }
    // An index of the repository's own making, compared with files from anywhere.
    const tree = name === 'core.worktree' ? path.resolve(path.dirname(file), value) : null;
    if (tree !== null && !(await leadsInside(tree, workspace))) {
      return { unknown: 'has its working tree elsewhere' };
    }
    if (isForeignFormat(name, value)) return { unknown: 'has a format that git may not take' };
    if (name.startsWith('filter.') && subsection !== null) names.push(subsection);
  }
  return { names };
}

async function leadsInside(file: string, directory: string | null): Promise<boolean> {
  const real = await realpath(file).catch(() => null);
  return real !== null && directory !== null && isPathInside(real, directory);
}

const extensions = new Set(
  [
    'noop noop-v1 partialclone preciousobjects objectformat compatobjectformat refstorage',
    'worktreeconfig relativeworktrees',
  ].flatMap((line) => line.split(' ')),
);

/** A format unknown to git means no repository: `git diff` then compares files. */
function isForeignFormat(name: string, value: string): boolean {
  if (name === 'core.repositoryformatversion') return !/^[01]$/.test(value);
  return name.startsWith('extensions.') && !extensions.has(name.slice('extensions.'.length));
}

/**
 * Where git would find its directory from `cwd` upwards: it, and the one that it shares; none where
 * there is none. `null`: git would look in a place that is not known to be the workspace's, or
 * would pass by what looks like a repository and compare plain files.
 */
async function gitDirectories(workspace: string, cwd: string): Promise<string[] | null> {
  // A directory inside the sandbox cannot be looked up.
  if (!isPathInside(cwd, workspace)) return null;
  for (let at = cwd; ; at = path.dirname(at)) {
    const found = (await pointed(at)) ?? ((await isGitDirectory(at, at)) ? at : null);
    if (found !== null) return wholeRepository(found, workspace);
    if (at === path.dirname(at)) return [];
  }
}

async function wholeRepository(found: string, workspace: string): Promise<string[] | null> {
  const shared = await read(path.join(found, 'commondir'), workspace);
  if (shared === undefined) return null;
  const common = shared === null ? found : path.resolve(found, shared.trim());
  const own = await Promise.all([found, common].map((one) => leadsInside(one, workspace)));
  if (own.includes(false) || !(await isGitDirectory(found, common))) return null;
  return [...new Set([found, common])];
}

/** What `.git` in a directory is or points to. */
async function pointed(directory: string): Promise<string | null> {
  const name = path.join(directory, '.git');
  const found = await lstat(name).catch(() => null);
  if (found === null) return null;
  if (!found.isFile()) return name;
  const text = await read(name, null);
  const target = typeof text === 'string' ? /^gitdir: (.*)/.exec(text)?.[1] : undefined;
  return target === undefined ? name : path.resolve(directory, target.trim());
}

/** As git recognizes one: it skips what it does not accept as a repository. */
async function isGitDirectory(directory: string, common: string): Promise<boolean> {
  const head = await read(path.join(directory, 'HEAD'), null);
  if (typeof head !== 'string' || !/^(?:ref:\s*refs\/|[0-9a-f]{40})/.test(head)) return false;
  const parts = ['objects', 'refs'].map((name) => stat(path.join(common, name)));
  const found = await Promise.allSettled(parts);
  return found.every((one) => one.status === 'fulfilled' && one.value.isDirectory());
}

/** `null`: there is none, or commands cannot see it; `undefined`: it cannot be read. */
async function read(file: string, inside: string | null): Promise<string | null | undefined> {
  const real = await realpath(file).catch(() => null);
  if (real === null) return null;
  if (inside !== null && !isPathInside(real, inside)) return null;
  const flags = constants.O_RDONLY | constants.O_NONBLOCK;
  const handle = await open(real, flags).catch(() => null);
  if (handle === null) return undefined;
  try {
    const seen = await handle.stat();
    if (!seen.isFile() || seen.size > fileBytesMax) return undefined;
    return await handle.readFile('utf8');
  } catch {
    return undefined;
  } finally {
    await handle.close();
  }
}
