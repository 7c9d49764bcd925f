/**
 * Paths in a tree, by descriptors: each directory is opened relative to the one that holds it and
 * never through a link, so that nothing can be led elsewhere, names are bytes, and a path may be
 * longer than the system takes.
 */
import { createHash } from 'node:crypto';
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  readlinkSync,
  unlinkSync,
} from 'node:fs';
import type { BytePath, Entry, StatKey } from '../../change.ts';
import type { ContentStore } from '../../content-store.ts';
import { openDirectoryOrNull, openRegularFile } from '../beneath.ts';
import {
  baseNameOf,
  entryPathIn,
  joinPath,
  O_PATH,
  openOrNull,
  parentPathOf,
  readUpTo,
} from '../byte-path.ts';
import type { FileEntry } from '../merge/current-file.ts';
import { entryTypeOf, fileEntry, permissionsOf, statKey } from '../stat.ts';
import type { FilterLookup } from './commit-filter.ts';
import type { CommitItem, CommitSource } from './commit-item.ts';

const { O_DIRECTORY, O_NOFOLLOW } = constants;
const openMax = 64;

export class TreePathResolver {
  readonly #root: string;
  /** By path, the least recently opened first. */
  readonly #open = new Map<BytePath, number>();

  /** @param root absolute, without a link in it */
  constructor(root: string) {
    this.#root = root;
  }

  /** A directory's descriptor, valid until the next call; `null`: missing, or a link on the way. */
  directory(path: BytePath): number | null {
    const known = this.#open.get(path);
    if (known !== undefined) return known;
    let at = path;
    while (at !== '' && !this.#open.has(at)) at = parentPathOf(at);
    let fd = this.#open.get(at) ?? this.#keep(openDirectoryOrNull(this.#root), '');
    const rest = path.slice(at === '' ? 0 : at.length + 1).split('/');
    for (const name of path === '' ? [] : rest) {
      if (fd === null) return null;
      at = joinPath(at, name);
      fd = this.#keep(openOrNull(entryPathIn(fd, name), O_PATH | O_DIRECTORY | O_NOFOLLOW), at);
    }
    return fd;
  }

  /** The way to an entry for system calls, valid until the next call; `null` as `directory`. */
  at(path: BytePath): Buffer | null {
    const fd = this.directory(parentPathOf(path));
    return fd === null ? null : entryPathIn(fd, baseNameOf(path));
  }

  /** A regular file, open for reading; the caller closes it. `null` for anything else. */
  open(path: BytePath): number | null {
    const at = this.at(path);
    return at === null ? null : openRegularFile(at);
  }

  /** A regular file's content as latin1; `null` where it is longer than `bytesMax`, or no file. */
  read(path: BytePath, bytesMax: number): string | null {
    const fd = this.open(path);
    if (fd === null) return null;
    try {
      const { size } = fstatSync(fd);
      if (size > bytesMax) return null;
      return readUpTo(fd, size).toString('latin1');
    } catch {
      return null;
    } finally {
      closeSync(fd);
    }
  }

  /** Closes everything: later lookups start again. */
  close(): void {
    for (const fd of this.#open.values()) closeSync(fd);
    this.#open.clear();
  }

  #keep(fd: number | null, path: BytePath): number | null {
    if (fd === null) return null;
    for (const [oldest, unused] of this.#open) {
      if (this.#open.size < openMax) break;
      this.#open.delete(oldest);
      closeSync(unused);
    }
    this.#open.set(path, fd);
    return fd;
  }
}

// The entry at a path, and whether it is the expected one.

/** `null`: nothing, or nothing that can be reached. */
export function statAt(steps: TreePathResolver, path: BytePath): BigIntStats | null {
  const at = steps.at(path);
  try {
    return at === null ? null : (lstatSync(at, { bigint: true, throwIfNoEntry: false }) ?? null);
  } catch {
    return null;
  }
}

/** The entry at a path; a file's hash is not known. */
export function entryAt(steps: TreePathResolver, path: BytePath): Entry | null {
  const stat = statAt(steps, path);
  if (stat === null) return null;
  const type = entryTypeOf(stat);
  if (type === 'file') return fileEntry(stat);
  if (type === 'symlink') return { type, target: targetAt(steps, path) ?? '' };
  return { type, mode: permissionsOf(stat) };
}

function targetAt(steps: TreePathResolver, path: BytePath): string | null {
  const at = steps.at(path);
  try {
    return at === null ? null : readlinkSync(at, { encoding: 'buffer' }).toString('latin1');
  } catch {
    return null;
  }
}

/**
 * The current key of the entry that we created; its first key if another process has written to it
 * meanwhile, so that it never counts as ours.
 */
export function keyAfterWrite(at: Buffer, made: BigIntStats): StatKey {
  const now = lstatSync(at, { bigint: true, throwIfNoEntry: false });
  const isOurs =
    now?.ino === made.ino &&
    now.mode === made.mode &&
    now.size === made.size &&
    now.mtimeNs === made.mtimeNs;
  return statKey(isOurs ? now : made);
}

/** A temporary name may lead to another process's entry. */
export function removeOwnTemporary(at: Buffer, made: BigIntStats): void {
  const now = lstatSync(at, { bigint: true, throwIfNoEntry: false });
  if (now?.ino === made.ino) unlinkSync(at);
}

/** As Node takes it, which reads a number of seconds before 1970 as now. */
export function mtimeOfEntry({ mtimeMs }: Extract<Entry, { type: 'file' }>): number | Date {
  return mtimeMs < 0 ? new Date(mtimeMs) : mtimeMs / 1000;
}

/** Whether mode and times are all that differs. A file with other names is replaced nonetheless. */
export function isMetadataOnly({ base, after }: CommitItem, stat: BigIntStats): boolean {
  if (base?.type !== 'file' || after?.type !== 'file') return false;
  return stat.nlink === 1n && base.sha256 !== null && base.sha256 === after.sha256;
}

// How the filter looks at files: the real tree, and the session's new contents.

/** A new content: where it is, and its captured hash. */
interface NewContent {
  readonly source: CommitSource | null;
  /** `null`: it was not read. */
  readonly sha256: string | null;
}

interface TreeLookupDependencies {
  /** Of the tree: absolute, without a link in it. */
  readonly root: string;
  readonly written: (path: BytePath) => NewContent | null;
  readonly contents: Pick<ContentStore, 'read'>;
  /** Default: every earlier content is. */
  readonly isKept?: FilterLookup['isKept'];
}

/**
 * Reads the real tree, and new contents as they were captured: what a command writes meanwhile will
 * not be applied. Follows no link and opens regular files only. Close it after the check: it keeps
 * directories open.
 */
export class TreeLookup implements FilterLookup {
  readonly #real: TreePathResolver;
  readonly #sources = new Map<string, TreePathResolver>();
  readonly #parts: TreeLookupDependencies;

  constructor(parts: TreeLookupDependencies) {
    this.#real = new TreePathResolver(parts.root);
    this.#parts = parts;
  }

  real(path: BytePath): Entry | null {
    return entryAt(this.#real, path);
  }

  isKept(path: BytePath, before: FileEntry): boolean {
    return this.#parts.isKept?.(path, before) ?? true;
  }

  async text(path: BytePath, side: 'real' | 'after', bytesMax: number): Promise<string | null> {
    if (side === 'real') return this.#real.read(path, bytesMax);
    const { source, sha256 } = this.#parts.written(path) ?? { source: null, sha256: null };
    if (sha256 === null) return null;
    const text = source === null ? null : this.#stepsOf(source).read(source.path, bytesMax);
    if (text !== null && hash(text) === sha256) return text;
    const kept = await this.#parts.contents.read(sha256);
    return kept === null || kept.length > bytesMax ? null : kept.toString('latin1');
  }

  #stepsOf({ tree }: CommitSource): TreePathResolver {
    const steps = this.#sources.get(tree) ?? new TreePathResolver(tree);
    this.#sources.set(tree, steps);
    return steps;
  }

  [Symbol.dispose](): void {
    for (const steps of [this.#real, ...this.#sources.values()]) steps.close();
  }
}

function hash(text: string): string {
  return createHash('sha256').update(text, 'latin1').digest('hex');
}
