/** What a repository says of itself, read as plain files: git is not run in it. */
import { lstatSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { readSmallText } from '../beneath.ts';
import { parseGitConfig, type GitConfigSetting } from '../git-config.ts';

export interface GitRepository {
  /** The git directory and its worktree, on the host. */
  readonly directory: string;
  readonly objects: string;
  readonly format: 'sha1' | 'sha256';
  /** What `HEAD` names, as `refs/heads/main`; `null`: no branch. */
  readonly branch: string | null;
  /** `null`: there is no commit yet. */
  readonly head: string | null;
  readonly index: string | null;
  readonly shallow: string | null;
  readonly settings: readonly GitConfigSetting[];
}

/** Why a repository cannot be read in a way that is safe, one stable word each. */
const unreadableReasons = [
  'linked-worktree',
  'not-a-repository',
  'alternates',
  'links',
  'configuration',
  'partial-clone',
  'split-index',
  'reference-format',
  'too-many-objects',
  'git-missing',
  'failed',
] as const;
export type UnreadableReason = (typeof unreadableReasons)[number];

export type GitRepositoryRead = GitRepository | { readonly unreadable: UnreadableReason };

const smallBytes = 1024 * 1024;
const packedRefsBytes = 64 * 1024 * 1024;
const objectId = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/**
 * Links and alternates could lead to objects of other repositories, which this process may read and
 * a command may not: such a repository is not read at all.
 */
export function readGitRepository(directory: string): GitRepositoryRead {
  if (lstatOf(directory)?.isDirectory() !== true) return { unreadable: 'linked-worktree' };
  const objects = path.join(directory, 'objects');
  const text = readSmallText(path.join(directory, 'HEAD'), smallBytes)?.trim();
  if (text === undefined) return { unreadable: 'not-a-repository' };
  if (isThere(`${objects}/info/alternates`) || isThere(`${directory}/commondir`)) {
    return { unreadable: 'alternates' };
  }
  const broken = linksIn(objects);
  if (broken !== null) return { unreadable: broken };
  const settings = settingsOf(directory);
  if (settings === null) return { unreadable: 'configuration' };
  const refused = refusedBy(settings, directory);
  if (refused !== null) return { unreadable: refused };
  const branch = /^ref: (refs\/heads\/\S+)$/.exec(text)?.[1] ?? null;
  if (branch === null ? !objectId.test(text) : !isPlainRef(branch)) {
    return { unreadable: 'reference-format' };
  }
  const format =
    settingValueOf(settings, 'extensions.objectformat') === 'sha256' ? 'sha256' : 'sha1';
  return {
    directory,
    objects,
    format,
    branch,
    head: branch === null ? text : resolveRef(directory, branch),
    index: plainFile(path.join(directory, 'index')),
    shallow: plainFile(path.join(directory, 'shallow')),
    settings,
  };
}

export function settingValueOf(settings: readonly GitConfigSetting[], name: string): string | null {
  const last = settings.findLast((one) => one.name === name && one.subsection === null);
  return last?.value.toLowerCase() ?? null;
}

function settingsOf(directory: string): GitConfigSetting[] | null {
  const text = readSmallText(path.join(directory, 'config'), smallBytes);
  return text === null ? null : parseGitConfig(text);
}

function refusedBy(
  settings: readonly GitConfigSetting[],
  directory: string,
): UnreadableReason | null {
  const partial = settings.some(
    (one) => one.name === 'extensions.partialclone' || one.name === 'remote.promisor',
  );
  if (partial) return 'partial-clone';
  const storage = settingValueOf(settings, 'extensions.refstorage');
  if (storage !== null && storage !== 'files') return 'reference-format';
  const entries = namesIn(directory);
  return entries.some((name) => name.startsWith('sharedindex.')) ? 'split-index' : null;
}

function isPlainRef(name: string): boolean {
  return (
    !name.split('/').some((part) => part === '' || part.startsWith('.')) && !/[\\~^:?*[]/.test(name)
  );
}

function resolveRef(directory: string, name: string): string | null {
  // No component of the way may be a link.
  let at = directory;
  for (const part of name.split('/').slice(0, -1)) {
    at = path.join(at, part);
    if (lstatOf(at)?.isDirectory() !== true) break;
  }
  const isWay = at === path.join(directory, path.dirname(name));
  const loose = isWay ? readSmallText(path.join(directory, name), smallBytes)?.trim() : undefined;
  if (loose !== undefined && objectId.test(loose)) return loose;
  const packed = readSmallText(path.join(directory, 'packed-refs'), packedRefsBytes) ?? '';
  const line = packed.split('\n').find((one) => one.endsWith(` ${name}`));
  const id = line?.slice(0, line.indexOf(' '));
  return id !== undefined && objectId.test(id) ? id : null;
}

/** Whether anything among the objects is a link, or not to be read. */
function linksIn(objects: string): UnreadableReason | null {
  if (lstatOf(objects)?.isDirectory() !== true) return 'links';
  let seen = 0;
  const queue = [objects];
  for (const directory of queue) {
    try {
      for (const entry of readdirSync(directory, { withFileTypes: true })) {
        seen += 1;
        if (entry.isSymbolicLink()) return 'links';
        if (entry.isDirectory()) queue.push(path.join(directory, entry.name));
        else if (!entry.isFile()) return 'links';
      }
    } catch {
      return 'failed';
    }
    if (seen > 500_000) return 'too-many-objects';
  }
  return null;
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function plainFile(file: string): string | null {
  return lstatOf(file)?.isFile() === true ? file : null;
}

function isThere(name: string): boolean {
  return lstatOf(name) !== undefined;
}

function lstatOf(name: string) {
  try {
    return lstatSync(name, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
