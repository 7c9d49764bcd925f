/** Git's own locks in a git directory of the host: `NAME.lock`, made where there is none. */
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  linkSync,
  openSync,
  renameSync,
  rmdirSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { BytePath, StatKey } from '../../change.ts';
import { type FileOwner, makeDirectory } from '../beneath.ts';
import { baseNameOf, errnoCodeOf, joinPath, parentPathOf } from '../byte-path.ts';
import { statAt, TreePathResolver } from '../commit/tree-path-resolver.ts';
import { statKey } from '../stat.ts';

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
const everyMs = 25;
const fileMode = 0o644;
const markBytesMax = 64;

/** A tree of the host in which git's files are written; nothing follows a link. */
export class GitFiles {
  readonly steps: TreePathResolver;
  readonly owner: FileOwner;
  /** 8 hex digits: what is left by a crash is known by it. */
  readonly id: string;
  readonly #isRoot = process.geteuid?.() === 0;

  constructor(root: string, owner: FileOwner, id: string) {
    this.steps = new TreePathResolver(root);
    this.owner = owner;
    this.id = id;
  }

  /** A text file as latin1; `null` where there is none. */
  read(path: BytePath, bytesMax: number): string | null {
    this.steps.close();
    return this.steps.read(path, bytesMax);
  }

  /** Writes a new file. @throws the system's error; `EEXIST` */
  create(path: BytePath, bytes: Uint8Array | string, mode = fileMode): void {
    const fd = openSync(this.#at(path), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    try {
      const all = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
      for (let at = 0; at < all.length;) at += writeSync(fd, all, at);
      this.#own(fd, mode);
    } finally {
      closeSync(fd);
    }
  }

  append(path: BytePath, lines: readonly string[]): void {
    if (lines.length === 0) return;
    this.makeParents(path);
    const flags = constants.O_APPEND | O_WRONLY | O_CREAT | O_NOFOLLOW;
    const fd = openSync(this.#at(path), flags, fileMode);
    try {
      writeSync(fd, Buffer.from(lines.map((line) => `${line}\n`).join(''), 'latin1'));
      this.#own(fd, null);
    } finally {
      closeSync(fd);
    }
  }

  /** Puts bytes in the place of a file at once. */
  replace(path: BytePath, bytes: Uint8Array | string, mode = fileMode): void {
    const made = `${path}.trl-${this.id}.lock`;
    this.remove(made);
    this.create(made, bytes, mode);
    renameSync(this.#at(made), this.#at(path));
  }

  /** Gives a new file its name, if that is free. */
  name(made: BytePath, path: BytePath): void {
    try {
      linkSync(this.#at(made), this.#at(path));
    } catch (error) {
      if (errnoCodeOf(error) !== 'EEXIST') throw error;
    } finally {
      unlinkSync(this.#at(made));
    }
  }

  makeParents(path: BytePath): void {
    const parent = parentPathOf(path);
    if (parent === '' || this.steps.directory(parent) !== null) return;
    this.makeParents(parent);
    this.steps.close();
    try {
      closeSync(makeDirectory(this.#at(parent), 0o755, this.#isRoot ? this.owner : null));
    } catch (error) {
      if (errnoCodeOf(error) !== 'EEXIST') throw error;
    }
  }

  remove(path: BytePath): void {
    const at = this.steps.at(path);
    try {
      if (at !== null) unlinkSync(at);
    } catch (error) {
      if (errnoCodeOf(error) !== 'ENOENT') throw error;
    }
  }

  /** Directories that a ref leaves empty, up to `refs/heads` and its like. */
  prune(path: BytePath, stop: BytePath): void {
    for (let at = parentPathOf(path); at.startsWith(`${stop}/`); at = parentPathOf(at)) {
      this.steps.close();
      try {
        rmdirSync(this.#at(at));
      } catch {
        return;
      }
    }
  }

  stat(path: BytePath) {
    return statAt(this.steps, path);
  }

  /** Of the current entry at a path; `null`: none. */
  keyAt(path: BytePath): StatKey | null {
    this.steps.close();
    const stat = this.stat(path);
    return stat === null ? null : statKey(stat);
  }

  close(): void {
    this.steps.close();
  }

  #at(path: BytePath): Buffer {
    const at = this.steps.at(path);
    if (at === null) throw Object.assign(new Error(`no directory for ${path}`), { code: 'ENOENT' });
    return at;
  }

  #own(fd: number, mode: number | null): void {
    if (this.#isRoot) fchownSync(fd, this.owner.uid, this.owner.gid);
    if (mode !== null) fchmodSync(fd, mode);
  }
}

const markOf = (id: string): string => `trl ${id}\n`;

/** Whether something becomes so within a bounded time. */
export async function becomesTrueWithin(waitMs: number, is: () => boolean): Promise<boolean> {
  const until = performance.now() + waitMs;
  while (!is()) {
    if (performance.now() > until) return false;
    await pause(everyMs);
  }
  return true;
}

/** Waits for one of git's locks for a bounded time; `false`: another process has it. */
export async function takeGitLock(
  files: GitFiles,
  path: BytePath,
  waitMs: number,
): Promise<boolean> {
  const until = performance.now() + waitMs;
  for (;;) {
    try {
      files.steps.close();
      files.create(`${path}.lock`, markOf(files.id));
      return true;
    } catch (error) {
      if (errnoCodeOf(error) !== 'EEXIST') throw error;
      if (performance.now() > until) return false;
    }
    await pause(everyMs);
  }
}

export function releaseGitLock(files: GitFiles, path: BytePath): void {
  files.steps.close();
  removeOwnGitLock(files, `${path}.lock`, files.id);
}

/** Removes what an interrupted process of ours left, and nothing else. */
function removeOwnGitLock(files: GitFiles, lock: BytePath, id: string): void {
  files.steps.close();
  if (files.steps.read(lock, markBytesMax) === markOf(id)) files.remove(lock);
}

/** What a transaction that did not end may have left beside a file of git's. */
export function removeGitLeftovers(files: GitFiles, path: BytePath): void {
  removeOwnGitLock(files, `${path}.lock`, files.id);
  files.remove(`${path}.trl-${files.id}.lock`);
}

// Which paths of a tree lie in one of its git directories, and what git uses them for.

/**
 * `state`: files of git's that are synced one by one, as any others. `scratch`: of one git process,
 * the last one's counts. `directory` (of a store), `derived`: nothing that is to be synced.
 */
type GitFileKind =
  | 'object'
  | 'pack'
  | 'ref'
  | 'packed'
  | 'head'
  | 'index'
  | 'log'
  | 'lock'
  | 'scratch'
  | 'derived'
  | 'state';

export interface GitFileLocation {
  /** The repository's own directory. */
  readonly common: BytePath;
  /** The same, or that of a linked worktree. */
  readonly git: BytePath;
  readonly kind: GitFileKind;
  /** Of a ref or its log: `refs/heads/main`, `HEAD`. */
  readonly name: string;
}

const mayBeGit = /(?:^|\/)[^/]*\.git\//;
const loose = /^objects\/[0-9a-f]{2}\/(?:[0-9a-f]{38}|[0-9a-f]{62})$/;
const packFile = /^objects\/pack\/pack-[0-9a-f]+\.pack$/;
const perWorktree = /^(?:logs\/)?refs\/(?:bisect|worktree|rewritten)(?:\/|$)/;
const scratch = new Set([
  'COMMIT_EDITMSG',
  'ORIG_HEAD',
  'FETCH_HEAD',
  'AUTO_MERGE',
  'gc.log',
  'gc.pid',
  'info/refs',
]);
const kept: ReadonlySet<GitFileKind> = new Set([
  'object',
  'pack',
  'derived',
  'packed',
  'log',
  'scratch',
]);

/** Whether an undo leaves a path unchanged: commits of others may need it. */
export const isExemptFromUndo = (place: GitFileLocation | null): boolean =>
  place !== null && kept.has(place.kind);

export class GitFileLocator {
  readonly #steps: TreePathResolver;
  readonly #kinds = new Map<BytePath, 'repository' | 'worktree' | null>();

  constructor(steps: TreePathResolver) {
    this.#steps = steps;
  }

  /** `null`: it is in no git directory of the tree. */
  of(path: BytePath): GitFileLocation | null {
    if (!mayBeGit.test(path)) return null;
    for (let git = parentPathOf(path); git !== ''; git = parentPathOf(git)) {
      const kind = this.kindOf(git);
      if (kind === null) continue;
      const common = kind === 'worktree' ? parentPathOf(parentPathOf(git)) : git;
      const rest = path.slice(git.length + 1);
      const place = placeOf(rest, kind === 'worktree');
      return { common, git, ...place };
    }
    return null;
  }

  /** What stands at a directory; one in which a person keeps refs in another form is none here. */
  kindOf(git: BytePath): 'repository' | 'worktree' | null {
    const known = this.#kinds.get(git);
    if (known !== undefined) return known;
    const kind = this.#look(git);
    this.#kinds.set(git, kind);
    return kind;
  }

  #look(git: BytePath): 'repository' | 'worktree' | null {
    const stat = (name: string) => statAt(this.#steps, joinPath(git, name));
    if (stat('HEAD')?.isFile() !== true || stat('reftable') !== null) return null;
    if (stat('objects')?.isDirectory() === true && stat('refs')?.isDirectory() === true) {
      return 'repository';
    }
    const above = parentPathOf(git);
    const isAdmin = stat('commondir')?.isFile() === true && stat('gitdir')?.isFile() === true;
    if (!isAdmin || baseNameOf(above) !== 'worktrees') return null;
    return this.kindOf(parentPathOf(above)) === 'repository' ? 'worktree' : null;
  }
}

function placeOf(rest: string, isWorktree: boolean): { kind: GitFileKind; name: string } {
  if (rest.endsWith('.lock')) return { kind: 'lock', name: '' };
  if (rest === 'HEAD') return { kind: 'head', name: rest };
  if (rest === 'index') return { kind: 'index', name: rest };
  if (rest === 'logs/HEAD') return { kind: 'log', name: 'HEAD' };
  if (scratch.has(rest)) return { kind: 'scratch', name: '' };
  if (isWorktree || perWorktree.test(rest)) return { kind: 'state', name: '' };
  if (rest === 'packed-refs') return { kind: 'packed', name: '' };
  if (rest.startsWith('refs/')) return { kind: 'ref', name: rest };
  if (rest.startsWith('logs/refs/')) return { kind: 'log', name: rest.slice('logs/'.length) };
  if (loose.test(rest)) return { kind: 'object', name: '' };
  if (packFile.test(rest)) return { kind: 'pack', name: '' };
  const isState = rest.startsWith('objects/info/alternates');
  return { kind: rest.startsWith('objects/') && !isState ? 'derived' : 'state', name: '' };
}
