/**
 * Makes a repository of what is visible of another one: one commit without history, the visible
 * part of the index, and the objects of both, nothing else.
 *
 *   HEAD  config  index  hooks/  info/exclude  refs/heads/NAME  objects/pack/pack-….pack
 */
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import type { BytePath } from '../../change.ts';
import { readSmallText } from '../beneath.ts';
import { bytePathOf, isAtOrBelow, joinPath, parentPathOf, pathText } from '../byte-path.ts';
import { emptyRepository, GitFailure, runGit } from './git-process.ts';
import {
  CleanCommits,
  type GitRepository,
  type ListedIndexEntry,
  listIndexEntries,
  readGitRepository,
  RepositoryObjects,
  settingValueOf,
  type UnreadableReason,
} from './history-exposure.ts';
import type { Visibility } from './visibility.ts';

interface GitProjectionInput {
  readonly repository: GitRepository;
  readonly worktree: string;
  /** An empty repository of the same format. */
  readonly scratch: string;
  /** Where projections are kept; one directory each. */
  readonly cacheDir: string;
  /** Whether policy hides a path of the worktree. */
  readonly hides: (path: BytePath) => boolean;
}

interface GitProjection {
  /** The git directory. */
  readonly directory: string;
  /** Of what is visible: equal digests are equal projections. */
  readonly digest: string;
}

const message = [
  'What is visible of this repository',
  '',
  'Policy hides some of its files, so its history is not shown. This is a',
  'projection: committing, branches and remotes do not work in it.',
  '',
].join('\n');

/** What a command reads that tries to commit. */
export const noCommitExplanation =
  'Policy hides files of this repository, so git sees a projection of it: ' +
  'changes to files are kept, but nothing can be committed here.';

const hook = `#!/bin/sh\necho "${noCommitExplanation}" >&2\nexit 1\n`;
/** The last one cannot be skipped by `--no-verify`, and runs before any reference changes. */
const hooks = ['pre-commit', 'pre-merge-commit', 'reference-transaction'] as const;

/** Settings of the real repository that say how files are read, with the values that are safe. */
const carried: ReadonlyMap<string, RegExp> = new Map([
  ['core.filemode', /^(?:true|false)$/],
  ['core.symlinks', /^(?:true|false)$/],
  ['core.ignorecase', /^(?:true|false)$/],
  ['core.autocrlf', /^(?:true|false|input)$/],
  ['core.eol', /^(?:lf|crlf|native)$/],
  ['core.quotepath', /^(?:true|false)$/],
]);

/** @throws GitFailure where an object is missing or git fails: there is no projection then */
async function projectGit(input: GitProjectionInput): Promise<GitProjection> {
  const { repository, scratch, hides } = input;
  const index = (await listIndexEntries(repository, scratch)).filter((entry) => !hides(entry.path));
  const tree = (await readTree(repository, scratch)).filter((entry) => !hides(entry.path));
  const digest = digestOf([input.worktree, repository.branch, repository.format])
    .update(settingsOf(repository))
    .update(indexInfo(tree))
    .update('\0\0')
    .update(indexInfo(index))
    .digest('hex');
  const directory = path.join(input.cacheDir, digest);
  if (existsSync(directory)) return { directory, digest };
  const making = `${directory}.${randomBytes(6).toString('hex')}`;
  try {
    await make(making, { ...input, tree, index });
    renameSync(making, directory);
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
  return { directory, digest };
}

interface MakeInput extends GitProjectionInput {
  readonly tree: readonly ListedIndexEntry[];
  readonly index: readonly ListedIndexEntry[];
}

async function make(directory: string, input: MakeInput): Promise<void> {
  const { repository, scratch, tree, index } = input;
  await emptyRepository(directory, repository.format);
  const from = new RepositoryObjects(repository, scratch).env;
  // New trees and the commit go into the projection, all else is read from the real objects.
  const objects = path.join(directory, 'objects');
  const env = {
    ...from,
    GIT_DIR: directory,
    GIT_OBJECT_DIRECTORY: objects,
    GIT_ALTERNATE_OBJECT_DIRECTORIES: quoted(repository.objects),
  };
  const branch = repository.branch ?? 'refs/heads/main';
  const wanted = index.filter((entry) => entry.mode !== '160000').map((entry) => entry.id);
  if (repository.head !== null) {
    const commit = await commitOf(tree, { directory, env });
    wanted.push(commit);
    mkdirSync(path.dirname(path.join(directory, branch)), { recursive: true });
    writeFileSync(path.join(directory, branch), `${commit}\n`);
  }
  writeFileSync(path.join(directory, 'HEAD'), `ref: ${branch}\n`);
  await pack(wanted, { directory, env });
  writeFileSync(path.join(directory, 'config'), settingsOf(repository));
  await writeIndex(index, { directory, worktree: input.worktree });
  writeExtras(directory);
}

async function readTree(repository: GitRepository, scratch: string): Promise<ListedIndexEntry[]> {
  if (repository.head === null) return [];
  const { env } = new RepositoryObjects(repository, scratch);
  const args = ['ls-tree', '-r', '-z', '--full-tree', repository.head];
  const text = await runGit({ args, env });
  return text.split('\0').flatMap((line) => {
    const [, mode, id, name] = /^(\d+) \w+ ([0-9a-f]+)\t([^]+)$/.exec(line) ?? [];
    if (mode === undefined || id === undefined || name === undefined) return [];
    return [{ mode, id, stage: '0', path: name }];
  });
}

interface ObjectStoreLocation {
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
}

async function commitOf(
  tree: readonly ListedIndexEntry[],
  { directory, env }: ObjectStoreLocation,
): Promise<string> {
  const file = path.join(directory, 'index.tree');
  const own = { ...env, GIT_INDEX_FILE: file };
  await runGit({ args: ['update-index', '-z', '--index-info'], env: own, input: indexInfo(tree) });
  const id = (await runGit({ args: ['write-tree'], env: own })).trim();
  rmSync(file, { force: true });
  return (await runGit({ args: ['commit-tree', id], env, input: message })).trim();
}

/** Copies objects into one pack of the projection. */
async function pack(
  wanted: readonly string[],
  { directory, env }: ObjectStoreLocation,
): Promise<void> {
  const objects = path.join(directory, 'objects');
  const base = path.join(objects, 'pack', 'pack');
  // Without a search for deltas: what is compressed already is copied.
  const args = ['pack-objects', '--revs', '--window=0', '--quiet', '--no-reuse-delta', base];
  await runGit({ args, env, input: [...new Set(wanted), ''].join('\n') });
  for (const name of readdirSync(objects)) {
    if (/^[0-9a-f]{2}$/.test(name)) rmSync(path.join(objects, name), { recursive: true });
  }
}

/** An index that knows the files as they are now, so that git need not read them again. */
async function writeIndex(
  index: readonly ListedIndexEntry[],
  { directory, worktree }: { directory: string; worktree: string },
): Promise<void> {
  const env = { GIT_DIR: directory, GIT_WORK_TREE: worktree };
  await runGit({ args: ['update-index', '-z', '--index-info'], env, input: indexInfo(index) });
  // It says that files differ by its exit; with `-q` it goes on.
  const args = ['update-index', '-q', '--unmerged', '--ignore-missing', '--ignore-submodules'];
  await runGit({ args: [...args, '--refresh'], env }).catch(() => '');
}

function writeExtras(directory: string): void {
  mkdirSync(path.join(directory, 'hooks'), { recursive: true });
  for (const name of hooks) {
    const file = path.join(directory, 'hooks', name);
    writeFileSync(file, hook);
    chmodSync(file, 0o755);
  }
  mkdirSync(path.join(directory, 'info'), { recursive: true });
  writeFileSync(path.join(directory, 'info', 'exclude'), '');
}

function settingsOf({ format, settings }: GitRepository): string {
  const core = [...carried].flatMap(([name, safe]) => {
    const value = settingValueOf(settings, name);
    return value !== null && safe.test(value) ? [`\t${name.slice('core.'.length)} = ${value}`] : [];
  });
  return [
    '[core]',
    `\trepositoryformatversion = ${format === 'sha256' ? 1 : 0}`,
    '\tbare = false',
    '\tlogallrefupdates = false',
    // Times of inodes and owners are others inside a sandbox.
    '\ttrustctime = false',
    '\tcheckStat = minimal',
    ...core,
    ...(format === 'sha256' ? ['[extensions]', '\tobjectformat = sha256'] : []),
    '[gc]',
    '\tauto = 0',
    '[maintenance]',
    '\tauto = false',
    '',
  ].join('\n');
}

function indexInfo(entries: readonly ListedIndexEntry[]): string {
  return entries
    .map(({ mode, id, stage, path: name }) => `${mode} ${id} ${stage}\t${name}\0`)
    .join('');
}

/** A path in a list that `:` separates. */
function quoted(name: string): string {
  return `"${name.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

function digestOf(values: readonly (string | null)[]) {
  return createHash('sha256').update(`1 ${hook} ${message} ${JSON.stringify(values)}`);
}

// What becomes of each repository of a workspace where policy hides files.

/**
 * `real`: nothing hidden can be reached through it. `projected`: `directory` takes its place.
 * `hidden`: it is absent, as a safe view of it could not be made.
 */
export type RepositoryView =
  | { readonly path: BytePath; readonly kind: 'real' }
  | {
      readonly path: BytePath;
      readonly kind: 'projected';
      readonly directory: string;
      readonly digest: string;
    }
  | { readonly path: BytePath; readonly kind: 'hidden'; readonly reason: UnreadableReason };

interface RepositoryProjectionsOptions {
  readonly root: string;
  readonly visibility: Visibility;
  /** Private to the runtime. */
  readonly cacheDir: string;
}

export class RepositoryProjections {
  readonly #options: RepositoryProjectionsOptions;
  readonly #clean = new Map<BytePath, CleanCommits>();
  #hidden: readonly BytePath[] | null = null;

  constructor(options: RepositoryProjectionsOptions) {
    this.#options = options;
  }

  /**
   * @param git a `.git` of any kind, or a git directory of another name
   * @param hidden topmost hidden paths of the workspace
   */
  async view(git: BytePath, hidden: readonly BytePath[]): Promise<RepositoryView> {
    const isDotGit = git === '.git' || git.endsWith('/.git');
    try {
      const directory = isDotGit ? this.#gitDirectory(git) : git;
      if (directory === null) return { path: git, kind: 'hidden', reason: 'linked-worktree' };
      const repository = readGitRepository(this.#host(directory));
      if ('unreadable' in repository) {
        return { path: git, kind: 'hidden', reason: repository.unreadable };
      }
      const scratch = await this.#scratch(repository.format);
      const hides = this.#hiddenIn(
        isDotGit ? [parentPathOf(git)] : this.#anywhere(git, repository),
        hidden,
      );
      const { root } = this.#options;
      const history = { repository, scratch, hides, root, hidden };
      const mayShow = await this.#known(git, hidden).mayShowHidden(history).catch(unknownIsYes);
      if (!mayShow) return { path: git, kind: 'real' };
      if (directory !== git || !isDotGit) {
        return { path: git, kind: 'hidden', reason: 'linked-worktree' };
      }
      return await this.#project(git, repository, hides);
    } catch (error) {
      return { path: git, kind: 'hidden', reason: reasonOf(error) };
    }
  }

  /** What was found clean; nothing once other paths are hidden. */
  #known(git: BytePath, hidden: readonly BytePath[]): CleanCommits {
    if (hidden !== this.#hidden) this.#clean.clear();
    this.#hidden = hidden;
    const known = this.#clean.get(git) ?? new CleanCommits();
    this.#clean.set(git, known);
    return known;
  }

  /** Whether a path of a repository is hidden by a rule, or as another name of what is. */
  #hiddenIn(worktrees: readonly BytePath[], hidden: readonly BytePath[]) {
    const set = new Set(hidden);
    const { visibility } = this.#options;
    return (name: BytePath): boolean =>
      worktrees
        .map((tree) => joinPath(tree, name))
        .some((one) => visibility.hides(one) || isAtOrBelow(one, set));
  }

  /** Where the files of a repository with another name may belong: wherever a rule looks. */
  #anywhere(git: BytePath, { settings, directory }: GitRepository): BytePath[] {
    const { root, visibility } = this.#options;
    const named = settings.flatMap((one) => {
      const at = one.name === 'core.worktree' ? path.resolve(directory, one.value) : '';
      return at.startsWith(`${root}/`) ? [bytePathOf(at.slice(root.length + 1))] : [];
    });
    return [...new Set(['', parentPathOf(git), git, ...named, ...visibility.anchors])];
  }

  async #project(
    git: BytePath,
    repository: GitRepository,
    hides: (name: BytePath) => boolean,
  ): Promise<RepositoryView> {
    const made = await projectGit({
      repository,
      worktree: this.#host(parentPathOf(git)),
      scratch: await this.#scratch(repository.format),
      cacheDir: path.join(this.#options.cacheDir, 'projections'),
      hides,
    });
    return { path: git, kind: 'projected', ...made };
  }

  /** Where `.git` is, or points to, inside the workspace; `null`: elsewhere. */
  #gitDirectory(git: BytePath): BytePath | null {
    const host = this.#host(git);
    const stat = lstatSync(host);
    if (stat.isDirectory()) return git;
    const says = /^gitdir: (.+)$/m.exec(readSmallText(host, 4_096) ?? '')?.[1];
    if (says === undefined) return null;
    const leads = path.resolve(path.dirname(host), says.trim());
    const { root } = this.#options;
    if (!leads.startsWith(`${root}/`) || !isDirectory(leads)) return null;
    return bytePathOf(leads.slice(root.length + 1));
  }

  /** Git is given names of the host, which are UTF-8. */
  #host(git: BytePath): string {
    return path.join(this.#options.root, pathText(git));
  }

  async #scratch(format: 'sha1' | 'sha256'): Promise<string> {
    const directory = path.join(this.#options.cacheDir, `empty-${format}`);
    if (lstatSync(directory, { throwIfNoEntry: false }) === undefined) {
      await emptyRepository(directory, format);
    }
    return directory;
  }
}

function isDirectory(name: string): boolean {
  try {
    return lstatSync(name).isDirectory();
  } catch {
    return false;
  }
}

/** Where a proof fails, its opposite is assumed; where git is missing, nothing can be made. */
function unknownIsYes(error: unknown): true {
  if (error instanceof GitFailure && error.message.includes('ENOENT')) throw error;
  return true;
}

function reasonOf(error: unknown): UnreadableReason {
  if (error instanceof GitFailure && error.message.includes('ENOENT')) return 'git-missing';
  return 'failed';
}
