/**
 * Whether a repository could show hidden content: looks at the paths of every commit in it, those
 * that no branch reaches included, at its index, and for the content of hidden files of now.
 *
 * What it cannot see: an older content of a hidden file that was staged and never committed.
 */
import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
} from 'node:fs';
import path from 'node:path';
import type { BytePath } from '../../change.ts';
import { readSmallText } from '../beneath.ts';
import { baseNameOf, joinPath, parentPathOf, pathBytes } from '../byte-path.ts';
import { type GitConfigSetting, parseGitConfig } from '../git-config.ts';
import { TimeSlices } from '../time-slices.ts';
import { runGit } from './git-process.ts';
import { OpenDirectory } from './open-directory.ts';

interface HistoryExposureInput {
  readonly repository: GitRepository;
  /** An empty repository of the same format. */
  readonly scratch: string;
  /** Whether a path of the repository is hidden in any place where it may be checked out. */
  readonly hides: (path: BytePath) => boolean;
  /** Hidden files and directories, below `root`. */
  readonly root: string;
  readonly hidden: readonly BytePath[];
}

export interface ListedIndexEntry {
  /** As git prints it: `100644`, `100755`, `120000`, `160000`. */
  readonly mode: string;
  readonly id: string;
  readonly stage: string;
  readonly path: BytePath;
}

const timeoutMs = 5_000;
const outputBytesMax = 64 * 1024 * 1024;
const commitsMax = 20_000;
const hashedFilesMax = 20_000;
const hashedBytesMax = 64 * 1024 * 1024;

/** What was found clean before, by commit, for one set of rules. */
export class CleanCommits {
  readonly #known = new Set<string>();

  /** @returns `true`: it could show something hidden, or that is unknown */
  async mayShowHidden(input: HistoryExposureInput): Promise<boolean> {
    const index = await listIndexEntries(input.repository, input.scratch);
    if (index.some((entry) => input.hides(entry.path))) return true;
    const { env } = new RepositoryObjects(input.repository, input.scratch);
    const all = await runGit({
      args: ['cat-file', '--batch-all-objects', '--unordered', '--batch-check'],
      env,
      timeoutMs,
      outputBytesMax,
    });
    const commits = all
      .split('\n')
      .filter((line) => line.includes(' commit '))
      .map((line) => line.slice(0, line.indexOf(' ')))
      .filter((id) => !this.#known.has(id));
    if (commits.length > commitsMax) return true;
    if (commits.length > 0 && (await this.#touchHidden(input, commits, env))) return true;
    for (const id of commits) this.#known.add(id);
    const shown = new Set(index.map((entry) => entry.id));
    return holdsContent(input, shown, env);
  }

  async #touchHidden(
    input: HistoryExposureInput,
    commits: readonly string[],
    env: Readonly<Record<string, string>>,
  ): Promise<boolean> {
    const names = await runGit({
      // Each commit against each of its parents; without renames, which would hide a name.
      args: [
        'diff-tree',
        '--stdin',
        '-r',
        '-m',
        '--root',
        '--no-commit-id',
        '--no-renames',
        '-z',
      ].concat(['--name-only', '--no-ext-diff', '--no-textconv', '--ignore-submodules=all']),
      env,
      input: `${commits.join('\n')}\n`,
      timeoutMs,
      outputBytesMax,
    });
    const seen = new Set(names.split('\0'));
    seen.delete('');
    for (const name of seen) if (input.hides(name)) return true;
    return false;
  }
}

/** Where git finds the objects of a repository without looking at anything else of it. */
export class RepositoryObjects {
  readonly env: Readonly<Record<string, string>>;

  constructor(repository: GitRepository, scratch: string) {
    this.env = {
      GIT_DIR: scratch,
      GIT_OBJECT_DIRECTORY: repository.objects,
      ...(repository.shallow === null ? {} : { GIT_SHALLOW_FILE: repository.shallow }),
    };
  }
}

/** The entries of a repository's index; none where there is no index. */
export async function listIndexEntries(
  repository: GitRepository,
  scratch: string,
): Promise<ListedIndexEntry[]> {
  if (repository.index === null) return [];
  const { env } = new RepositoryObjects(repository, scratch);
  const args = ['ls-files', '--stage', '--full-name', '-z'];
  const worktree = { GIT_INDEX_FILE: repository.index, GIT_WORK_TREE: scratch };
  const text = await runGit({ args, env: { ...env, ...worktree }, timeoutMs });
  return text.split('\0').flatMap((line) => {
    const [, mode, id, stage, path] = /^(\d+) ([0-9a-f]+) (\d)\t([^]+)$/.exec(line) ?? [];
    if (mode === undefined || id === undefined || stage === undefined || path === undefined) {
      return [];
    }
    return [{ mode, id, stage, path }];
  });
}

/** Whether the content of a hidden file is an object and not that of a file that is shown. */
async function holdsContent(
  input: HistoryExposureInput,
  shown: ReadonlySet<string>,
  env: Readonly<Record<string, string>>,
): Promise<boolean> {
  const ids = new Set<string>();
  let left = hashedBytesMax;
  const stack = [...input.hidden];
  const slices = new TimeSlices();
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    if (slices.isOver) await slices.yieldTurn();
    const found = lookAt(input, at, left);
    if (found === null || ids.size > hashedFilesMax) return true;
    left -= found.bytes;
    stack.push(...found.children);
    if (found.id !== null) ids.add(found.id);
  }
  const asked = [...ids].filter((id) => !shown.has(id));
  if (asked.length === 0) return false;
  const text = await runGit({
    args: ['cat-file', '--batch-check'],
    env,
    input: `${asked.join('\n')}\n`,
    timeoutMs,
  });
  return text.split('\n').some((line) => line !== '' && !line.endsWith(' missing'));
}

interface Looked {
  readonly children: readonly BytePath[];
  /** Of a file's content as git names it; `null` for anything else and for no content. */
  readonly id: string | null;
  readonly bytes: number;
}

/** `null`: it is too much, or cannot be read. */
function lookAt(
  { root, repository }: HistoryExposureInput,
  at: BytePath,
  left: number,
): Looked | null {
  const nothing: Looked = { children: [], id: null, bytes: 0 };
  try {
    using directory = OpenDirectory.open(root, parentPathOf(at));
    const name = baseNameOf(at);
    const stat = directory.look(name);
    if (stat?.isDirectory() === true) {
      // What another repository holds is not looked for in this one.
      if (name === '.git') return nothing;
      using below = OpenDirectory.open(root, at);
      const children = below.entries().map((entry) => joinPath(at, entry.name.toString('latin1')));
      return { children, id: null, bytes: 0 };
    }
    if (stat?.isFile() !== true || stat.size === 0n) return nothing;
    if (stat.size > BigInt(left)) return null;
    return { ...nothing, ...hashOf(directory.at(name), repository.format) };
  } catch {
    return null;
  }
}

function hashOf(file: Buffer, format: 'sha1' | 'sha256'): { id: string; bytes: number } {
  const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
  const fd = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const { size } = fstatSync(fd);
    const content = Buffer.alloc(Math.min(size, hashedBytesMax));
    const bytes = readSync(fd, content, 0, content.length, 0);
    const hash = createHash(format).update(pathBytes(`blob ${bytes}\0`));
    return { id: hash.update(content.subarray(0, bytes)).digest('hex'), bytes };
  } finally {
    closeSync(fd);
  }
}

// What a repository says of itself, read as plain files: git is not run in it.

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

type GitRepositoryRead = GitRepository | { readonly unreadable: UnreadableReason };

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
