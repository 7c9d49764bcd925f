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
import { makeDirectory, type FileOwner } from '../beneath.ts';
import { parentPathOf } from '../byte-path.ts';
import { statAt } from '../commit/entry-stat.ts';
import { TreePathResolver } from '../commit/tree-path-resolver.ts';
import { errnoCodeOf } from '../descriptor.ts';
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

  /** Gives a new file its name where nothing has it. */
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

  /** Of what stands at a path now; `null`: nothing. */
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

/** Waits for a lock of git's for a bounded time; `false`: somebody else has it. */
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

/** Removes what a process left that ended in the middle, and nobody else's. */
export function removeOwnGitLock(files: GitFiles, lock: BytePath, id: string): void {
  files.steps.close();
  if (files.steps.read(lock, markBytesMax) === markOf(id)) files.remove(lock);
}

/** What a transaction that did not end may have left beside a file of git's. */
export function removeGitLeftovers(files: GitFiles, path: BytePath): void {
  removeOwnGitLock(files, `${path}.lock`, files.id);
  files.remove(`${path}.trl-${files.id}.lock`);
}
