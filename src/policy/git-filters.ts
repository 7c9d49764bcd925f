/**
 * Which filter drivers a repository configures: `git status` and `git diff` would run them, and
 * only by their names can they be turned off. Reads the host's file system.
 */
import { constants } from 'node:fs';
import { lstat, open, realpath } from 'node:fs/promises';
import path from 'node:path';

/** One setting of a git configuration file: `section.key` in lower case, and the subsection. */
export interface GitSetting {
  readonly name: string;
  readonly subsection: string | null;
}

export interface GitPlace {
  readonly workspace: string | null;
  readonly cwd: string;
  /** The settings of a file as git reads it; `null` where it cannot be read so. */
  readonly parseGitConfig: (text: string) => readonly GitSetting[] | null;
}

/** The drivers' names, or why they are not known: a clause about the repository. */
export type GitFilters = { readonly names: readonly string[] } | { readonly unknown: string };

const fileBytesMax = 1024 * 1024;

export async function gitFilters(place: GitPlace): Promise<GitFilters> {
  const { workspace } = place;
  const directories = workspace === null ? [] : await gitDirectories(workspace, place.cwd);
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
  { workspace, parseGitConfig }: GitPlace,
): Promise<GitFilters> {
  const text = await read(file, workspace);
  if (text === null) return { names: [] };
  const settings = text === undefined ? null : parseGitConfig(text);
  if (settings === null) return { unknown: 'has a configuration that is not certain to read' };
  const names: string[] = [];
  for (const { name, subsection } of settings) {
    if (name === 'include.path' || name === 'includeif.path') {
      return { unknown: 'has a configuration that includes other files' };
    }
    if (name.startsWith('filter.') && subsection !== null) names.push(subsection);
  }
  return { names };
}

/** Where git would find its directory from `cwd` upwards: it, and the one that it shares. */
async function gitDirectories(workspace: string, cwd: string): Promise<string[]> {
  for (let at = cwd; at === workspace || at.startsWith(`${workspace}/`); at = path.dirname(at)) {
    const found = (await pointed(at)) ?? ((await isGitDirectory(at)) ? at : null);
    if (found === null) continue;
    const shared = await read(path.join(found, 'commondir'), workspace);
    return typeof shared === 'string' ? [found, path.resolve(found, shared.trim())] : [found];
  }
  return [];
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

async function isGitDirectory(directory: string): Promise<boolean> {
  const parts = ['HEAD', 'objects', 'refs'].map((name) => lstat(path.join(directory, name)));
  return (await Promise.allSettled(parts)).every(({ status }) => status === 'fulfilled');
}

/** `null`: there is none, or commands cannot see it; `undefined`: it cannot be read. */
async function read(file: string, inside: string | null): Promise<string | null | undefined> {
  const real = await realpath(file).catch(() => null);
  if (real === null) return null;
  if (inside !== null && !`${real}/`.startsWith(`${inside}/`)) return null;
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
