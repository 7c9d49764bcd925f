/**
 * Whether a repository could show hidden content: looks at the paths of every commit in it, those
 * that no branch reaches included, at its index, and for the content of hidden files of now.
 *
 * What it cannot see: an older content of a hidden file that was staged and never committed.
 */
import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import type { BytePath } from '../../change.ts';
import { pathBytes, joinPath, baseNameOf, parentPathOf } from '../byte-path.ts';
import { OpenDirectory } from './open-directory.ts';
import { TimeSlices } from '../time-slices.ts';
import { runGit } from './git-process.ts';
import type { GitRepository } from './git-repository.ts';

export interface HistoryExposureInput {
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

  /** @returns `true`: it could show something hidden, or nobody knows */
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
