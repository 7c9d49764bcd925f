/**
 * Reads commits, trees and blobs of a repository through git. Git runs in an empty repository of
 * ours, with the other's objects as alternates: it reads no configuration, hook or attribute of
 * anybody else. New objects go to a directory of ours.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import type { BytePath } from '../../change.ts';
import type { ContentStore } from '../../content-store.ts';
import { bytePathOf, readUpTo } from '../byte-path.ts';
import type { CommitItem } from '../commit/commit-item.ts';
import { TreePathResolver } from '../commit/tree-path-resolver.ts';
import { emptyRepository, GitFailure, runGit } from '../projection/git-process.ts';
import {
  alternatesLine,
  type GitEnvironment,
  objectIdsOfPack,
  type ObjectStore,
} from './object-store.ts';

export interface TreeEntry {
  /** Octal, as git writes it. */
  readonly mode: number;
  readonly oid: string;
}

export interface TreeDifference {
  readonly from: TreeEntry | null;
  readonly to: TreeEntry | null;
}

interface CommitAuthor {
  readonly name: string;
  readonly email: string;
}

const rawLine = /^:(\d+) (\d+) ([0-9a-f]+) ([0-9a-f]+) [A-Z]\d*$/;
const author = /^author (.*) <(.*)> \d+ [+-]\d+$/m;

export class GitHistory {
  readonly env: GitEnvironment;
  /** Of what git makes here. */
  readonly objects: string;
  readonly format: 'sha1' | 'sha256';
  readonly #directory: string;

  private constructor(directory: string, env: GitEnvironment, format: 'sha1' | 'sha256') {
    this.format = format;
    this.#directory = directory;
    this.objects = path.join(directory, 'objects');
    this.env = env;
  }

  /**
   * @param scratch private to the runtime
   * @param repository of the host, absolute
   * @throws GitFailure without git
   */
  static async open(
    scratch: string,
    repository: BytePath,
    format: 'sha1' | 'sha256',
  ): Promise<GitHistory> {
    const empty = path.join(scratch, format);
    if (!existsSync(path.join(empty, 'HEAD'))) await emptyRepository(empty, format);
    const directory = mkdtempSync(path.join(scratch, 'with-'));
    const line = alternatesLine(`${repository}/objects`);
    if (line === null) throw new GitFailure('the directory has a name that git cannot read');
    mkdirSync(path.join(directory, 'objects/info'), { recursive: true });
    writeFileSync(path.join(directory, 'objects/info/alternates'), line);
    const shallow = Buffer.from(`${repository}/shallow`, 'latin1');
    const env = {
      GIT_DIR: empty,
      GIT_OBJECT_DIRECTORY: path.join(directory, 'objects'),
      ...(existsSync(shallow) ? { GIT_SHALLOW_FILE: shallow.toString('utf8') } : {}),
    };
    return new GitHistory(directory, env, format);
  }

  /** For the objects to copy. */
  get stagingDirectory(): string {
    return path.join(this.#directory, 'pack');
  }

  async isAncestor(one: string, of: string): Promise<boolean> {
    if (one === of) return true;
    return (await this.#git(['rev-list', '-n1', one, `^${of}`])) === '';
  }

  /** Whether everything that `tips` lead to is there, but for what is behind `known`. */
  async isComplete(tips: readonly string[], known: readonly string[]): Promise<boolean> {
    try {
      const input = [...tips, ...known.map((one) => `^${one}`)].join('\n');
      await this.#git(['rev-list', '--objects', '--quiet', '--stdin'], `${input}\n`);
      return true;
    } catch (error) {
      if (error instanceof GitFailure) return false;
      throw error;
    }
  }

  async hasAll(ids: readonly string[]): Promise<boolean> {
    const said = await this.#git(['cat-file', '--batch-check'], `${ids.join('\n')}\n`);
    return !/ missing$/m.test(said);
  }

  /** The tree of both; `null`: a person has to say what is right. */
  async merge(one: string, other: string): Promise<string | null> {
    try {
      return (await this.#git(['merge-tree', '--write-tree', one, other])).trim();
    } catch (error) {
      if (error instanceof GitFailure) return null;
      throw error;
    }
  }

  /** `null`: they have none in common. */
  async mergeBase(one: string, other: string): Promise<string | null> {
    try {
      return (await this.#git(['merge-base', one, other])).trim();
    } catch (error) {
      if (error instanceof GitFailure) return null;
      throw error;
    }
  }

  async treeOf(commit: string): Promise<string> {
    return (await this.#git(['rev-parse', `${commit}^{tree}`])).trim();
  }

  /** @param by the commit whose author makes this one, too; default: the last parent */
  async commit(
    tree: string,
    parents: readonly string[],
    message: string,
    by = parents.at(-1) ?? '',
  ): Promise<string> {
    const { name, email } = await this.authorOf(by);
    const date = `${Math.floor(Date.now() / 1000)} +0000`;
    const who = {
      GIT_AUTHOR_NAME: name,
      GIT_AUTHOR_EMAIL: email,
      GIT_AUTHOR_DATE: date,
      GIT_COMMITTER_NAME: name,
      GIT_COMMITTER_EMAIL: email,
      GIT_COMMITTER_DATE: date,
    };
    const args = ['commit-tree', tree, ...parents.flatMap((one) => ['-p', one])];
    const said = await runGit({ args, env: { ...this.env, ...who }, input: message });
    return said.trim();
  }

  /** The author of a commit. */
  async authorOf(commit: string): Promise<CommitAuthor> {
    const text = await this.#git(['cat-file', 'commit', commit]);
    const [, name = '', email = ''] = author.exec(text) ?? [];
    const asText = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('utf8');
    return { name: asText(name) || 'unknown', email: asText(email) };
  }

  /** Files that differ between two commits or trees. */
  async differing(from: string, to: string): Promise<Map<BytePath, TreeDifference>> {
    if (from === to) return new Map();
    return parseRaw(await this.#git(['diff-tree', '-r', '-z', '--no-renames', from, to]));
  }

  /** Files of which an index has something else than a commit. */
  async staged(index: Uint8Array, commit: string): Promise<Map<BytePath, TreeDifference>> {
    const file = path.join(this.#directory, 'index');
    writeFileSync(file, index);
    const args = ['diff-index', '--cached', '-z', '--no-renames', commit];
    return parseRaw(await runGit({ args, env: { ...this.env, GIT_INDEX_FILE: file }, input: '' }));
  }

  async blob(oid: string): Promise<Buffer> {
    return Buffer.from(await this.#git(['cat-file', 'blob', oid]), 'latin1');
  }

  close(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #git(args: readonly string[], input = ''): Promise<string> {
    return runGit({ args, env: this.env, input });
  }
}

function parseRaw(said: string): Map<BytePath, TreeDifference> {
  const parts = said.split('\0');
  const found = new Map<BytePath, TreeDifference>();
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [, oldMode = '', newMode = '', oldId = '', newId = ''] =
      rawLine.exec(parts[at] ?? '') ?? [];
    const entry = (mode: string, oid: string): TreeEntry | null =>
      /^0*$/.test(oid) ? null : { mode: Number.parseInt(mode, 8), oid };
    found.set(parts[at + 1] ?? '', { from: entry(oldMode, oldId), to: entry(newMode, newId) });
  }
  return found;
}

export const absoluteGitPath = (root: string, common: BytePath): BytePath =>
  `${bytePathOf(root)}/${common}`;

// Takes objects that a session made into a repository of the host.

interface TakeObjectsInput {
  readonly store: ObjectStore;
  readonly contents: Pick<ContentStore, 'read'>;
  /** `null` without git: packs cannot be taken. */
  readonly history: GitHistory | null;
}

/** @returns objects that differ from their names, or whose content is missing */
export async function takeObjects(
  { store, contents, history }: TakeObjectsInput,
  items: readonly CommitItem[],
): Promise<Set<BytePath>> {
  const refused = new Set<BytePath>();
  for (const item of items) {
    const bytes = await contentOf(item, contents);
    try {
      if (bytes === null) refused.add(item.path);
      else if (item.path.endsWith('.pack')) await takePack(store, history, item, bytes);
      else if (!(await store.add(item.path.split('/').slice(-2).join(''), bytes))) {
        refused.add(item.path);
      }
    } catch (error) {
      if (!(error instanceof GitFailure)) throw error;
      refused.add(item.path);
    }
  }
  return refused;
}

async function takePack(
  store: ObjectStore,
  history: GitHistory | null,
  item: CommitItem,
  bytes: Buffer,
): Promise<void> {
  if (history === null) throw new GitFailure('no git');
  const source = item.source === null ? null : item.source.path.replace(/\.pack$/, '.idx');
  const index = source === null ? null : readSource(item, source);
  const ids = index === null ? null : objectIdsOfPack(index, history.format);
  // After `git gc`, most of the time.
  if (ids !== null && ids.length > 0 && (await history.hasAll(ids))) return;
  await store.addPack(bytes, history.stagingDirectory, history.env);
}

async function contentOf(
  item: CommitItem,
  contents: Pick<ContentStore, 'read'>,
): Promise<Buffer | null> {
  const { after, source } = item;
  if (after?.type !== 'file') return null;
  const kept = after.sha256 === null ? null : await contents.read(after.sha256);
  return kept ?? (source === null ? null : readSource(item, source.path));
}

function readSource({ source }: CommitItem, path: BytePath): Buffer | null {
  if (source === null) return null;
  const steps = new TreePathResolver(source.tree);
  const fd = steps.open(path);
  steps.close();
  if (fd === null) return null;
  try {
    return readUpTo(fd, fstatSync(fd).size);
  } finally {
    closeSync(fd);
  }
}
