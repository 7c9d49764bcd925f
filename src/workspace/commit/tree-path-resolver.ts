/**
 * Paths in a tree, by descriptors: each directory is opened relative to the one that holds it and
 * never through a link, so that nothing can be led elsewhere, names are bytes, and a path may be
 * longer than the system takes.
 */
import { closeSync, constants, fstatSync } from 'node:fs';
import type { BytePath } from '../../change.ts';
import { openDirectoryOrNull, openRegularFile } from '../beneath.ts';
import { joinPath, baseNameOf, parentPathOf } from '../byte-path.ts';
import { entryPathIn, O_PATH, openOrNull, readUpTo } from '../descriptor.ts';

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

  /** Closes everything: what is asked for next is looked up anew. */
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
