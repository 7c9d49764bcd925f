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
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import type { BytePath } from '../../change.ts';
import { RepositoryObjects, listIndexEntries, type ListedIndexEntry } from './history-exposure.ts';
import { emptyRepository, runGit } from './git-process.ts';
import { settingValueOf, type GitRepository } from './git-repository.ts';

export interface GitProjectionInput {
  readonly repository: GitRepository;
  readonly worktree: string;
  /** An empty repository of the same format. */
  readonly scratch: string;
  /** Where projections are kept; one directory each. */
  readonly cacheDir: string;
  /** Whether policy hides a path of the worktree. */
  readonly hides: (path: BytePath) => boolean;
}

export interface GitProjection {
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
/** The last one cannot be left out by `--no-verify`, and is asked before any reference changes. */
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
export async function projectGit(input: GitProjectionInput): Promise<GitProjection> {
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

interface Place {
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
}

async function commitOf(
  tree: readonly ListedIndexEntry[],
  { directory, env }: Place,
): Promise<string> {
  const file = path.join(directory, 'index.tree');
  const own = { ...env, GIT_INDEX_FILE: file };
  await runGit({ args: ['update-index', '-z', '--index-info'], env: own, input: indexInfo(tree) });
  const id = (await runGit({ args: ['write-tree'], env: own })).trim();
  rmSync(file, { force: true });
  return (await runGit({ args: ['commit-tree', id], env, input: message })).trim();
}

/** Copies objects into one pack of the projection. */
async function pack(wanted: readonly string[], { directory, env }: Place): Promise<void> {
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
