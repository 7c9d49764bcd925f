/**
 * A repository as a push sees it: commits and their content. Only commands that read objects are
 * run; hooks, filters and whatever its configuration could start are off (`git-process.ts`).
 */
import { lstatSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { BytePath } from '../../change.ts';
import { TrlError } from '../../errors.ts';
import { readSmallText } from '../../workspace/beneath.ts';
import { runGit, GitFailure } from '../../workspace/projection/git-process.ts';

/** One side of a change of a commit: what it puts at a path. */
export interface GitCommitEntry {
  readonly commit: string;
  /** As git has it: `100644`, `100755`, `120000`, `160000`. */
  readonly mode: string;
  readonly id: string;
  /** Relative to the top of the worktree. */
  readonly path: BytePath;
}

type GitObjectType = 'commit' | 'tag' | 'blob' | 'tree';

const listBytesMax = 256 * 1024 * 1024;
const timeoutMs = 120_000;
const zeros = /^0+$/;
/** `<mode>… <id>… <status>` behind one colon for each parent. */
const entryLine = /^(:+)([0-7 ]+) ([0-9a-f]{40,64}(?: [0-9a-f]{40,64})*) [A-Z]+$/;

export const isNullObjectId = (id: string): boolean => zeros.test(id);

export class PushRepository {
  readonly #env: Readonly<Record<string, string>>;
  /** Of the worktree. */
  readonly top: string;

  private constructor(directory: string, top: string) {
    // A graft would show other parents than those that are sent.
    this.#env = { GIT_DIR: directory, GIT_GRAFT_FILE: '/dev/null' };
    this.top = top;
  }

  /** @throws TrlError `INVALID_PARAMS` if `from` is in no repository */
  static at(from: string): PushRepository {
    for (let top = from; ; top = dirname(top)) {
      const place = join(top, '.git');
      const stat = lstatSync(place, { throwIfNoEntry: false });
      if (stat !== undefined) {
        return new PushRepository(directoryAt(top, place), top);
      }
      if (dirname(top) === top) {
        const message = `Cannot read commits: "${from}" lies in no git repository`;
        throw new TrlError('INVALID_PARAMS', message);
      }
    }
  }

  /** The object that a revision names; `null`: there is none. */
  async resolve(revision: string): Promise<string | null> {
    try {
      const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', revision];
      return (await this.#git(args)).trim() || null;
    } catch (error) {
      if (error instanceof GitFailure) return null;
      throw error;
    }
  }

  async typeOf(id: string): Promise<GitObjectType | null> {
    const [found] = await this.sizes([id]);
    return found?.type ?? null;
  }

  /**
   * Commits that `include` reaches and neither `exclude` nor the branches of `remotes` do, newest
   * first; and the nearest ones that are excluded.
   */
  async commits(
    include: readonly string[],
    exclude: readonly string[],
    remotes: string | null,
  ): Promise<{ readonly commits: readonly string[]; readonly bases: readonly string[] }> {
    const not =
      remotes === null ? [] : ['--not', remotes === '' ? '--remotes' : `--remotes=${remotes}`];
    const lines = [...include, ...exclude.map((id) => `^${id}`)];
    const text = await this.#git(['rev-list', '--boundary', '--stdin', ...not], lines);
    const all = text.split('\n').filter((line) => line !== '');
    return {
      commits: all.filter((line) => !line.startsWith('-')),
      bases: all.filter((line) => line.startsWith('-')).map((line) => line.slice(1)),
    };
  }

  /** What each commit puts where it was not in any of its parents. */
  async entries(commits: readonly string[]): Promise<GitCommitEntry[]> {
    if (commits.length === 0) return [];
    const args = ['diff-tree', '--stdin', '-r', '-c', '--root', '--raw', '-z', '--no-abbrev'];
    const plain = ['--no-renames', '--no-ext-diff', '--no-textconv', '--ignore-submodules=none'];
    return entriesOf(await this.#git([...args, ...plain], commits));
  }

  /** What is staged against the last commit, or against nothing where there is none. */
  async staged(): Promise<GitCommitEntry[]> {
    const head = await this.resolve('HEAD^{commit}');
    const base = head ?? (await this.#git(['hash-object', '-t', 'tree', '--stdin'], [])).trim();
    const args = ['diff-index', '--cached', '--raw', '-z', '--no-abbrev', '--no-renames', base];
    return entriesOf(await this.#git(args));
  }

  /** All files of a commit. */
  async tree(commit: string): Promise<GitCommitEntry[]> {
    const text = await this.#git(['ls-tree', '-r', '-z', '--full-tree', commit]);
    return text.split('\0').flatMap((line) => {
      const [, mode, id, path] = /^(\d+) \w+ ([0-9a-f]+)\t([^]+)$/.exec(line) ?? [];
      if (mode === undefined || id === undefined || path === undefined) return [];
      return [{ commit, mode, id, path }];
    });
  }

  /** Type and size of each object that is there. */
  async sizes(
    ids: readonly string[],
  ): Promise<{ readonly id: string; readonly type: GitObjectType; readonly size: number }[]> {
    if (ids.length === 0) return [];
    const text = await this.#git(['cat-file', '--batch-check'], ids);
    return text.split('\n').flatMap((line) => {
      const [, id, type, size] = /^([0-9a-f]+) (commit|tag|blob|tree) (\d+)$/.exec(line) ?? [];
      if (id === undefined || size === undefined || !isObjectType(type)) return [];
      return [{ id, type, size: Number(size) }];
    });
  }

  /** The contents of objects, in order. @throws GitFailure where one is missing */
  async contents(ids: readonly string[]): Promise<Buffer[]> {
    if (ids.length === 0) return [];
    const text = await this.#git(['cat-file', '--batch'], ids);
    const found: Buffer[] = [];
    for (let at = 0; at < text.length;) {
      const end = text.indexOf('\n', at);
      const size = Number(/^[0-9a-f]+ \w+ (\d+)$/.exec(text.slice(at, end))?.[1]);
      if (!Number.isSafeInteger(size)) throw new GitFailure('git cat-file: an object is missing');
      found.push(Buffer.from(text.slice(end + 1, end + 1 + size), 'latin1'));
      at = end + 1 + size + 1;
    }
    return found;
  }

  #git(args: readonly string[], lines: readonly string[] = []): Promise<string> {
    // Whose the repository is matters to what its configuration may start, which is nothing.
    const safe = ['-c', 'safe.directory=*'];
    const input = lines.map((line) => `${line}\n`).join('');
    const bounds = { timeoutMs, outputBytesMax: listBytesMax };
    return runGit({ args: [...safe, ...args], env: this.#env, input, ...bounds });
  }
}

function isObjectType(text: string | undefined): text is GitObjectType {
  return text === 'commit' || text === 'tag' || text === 'blob' || text === 'tree';
}

/** Of a linked worktree its own directory, from which git finds the common one. */
function directoryAt(top: string, place: string): string {
  if (statSync(place).isDirectory()) return place;
  const [, named] = /^gitdir: (.+?)\s*$/.exec(readSmallText(place, 8_192) ?? '') ?? [];
  if (named !== undefined) return resolve(top, named);
  throw new TrlError('INVALID_PARAMS', `Cannot read commits: "${place}" names no repository`);
}

function entriesOf(text: string): GitCommitEntry[] {
  const found: GitCommitEntry[] = [];
  const parts = text.split('\0');
  let commit = '';
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at] ?? '';
    if (!part.startsWith(':')) {
      if (part !== '') commit = part;
      continue;
    }
    const [, , modes = '', ids = ''] = entryLine.exec(part) ?? [];
    const [mode, id] = [modes.split(' ').at(-1), ids.split(' ').at(-1)];
    const path = parts[(at += 1)];
    if (mode === undefined || id === undefined || path === undefined || modes === '') {
      throw new GitFailure(`git diff-tree: it said ${JSON.stringify(part.slice(0, 80))}`);
    }
    // What a commit takes away leaves with an earlier one, if at all.
    if (!zeros.test(id)) found.push({ commit, mode, id, path });
  }
  return found;
}
