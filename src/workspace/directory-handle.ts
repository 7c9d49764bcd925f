/** Directories held open, so that what is done in them cannot be led elsewhere by a link. */
import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  readFileSync,
  readdirSync,
} from 'node:fs';
import type { Dirent, Stats } from 'node:fs';
import path from 'node:path';
import { openDirectoryOrNull, openRegularFile } from './beneath.ts';
import { O_PATH, openOrNull } from './descriptor.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

export class DirectoryHandle {
  readonly #fd: number;

  private constructor(fd: number) {
    this.#fd = fd;
  }

  /**
   * Opens a directory of the host; `null` where it is missing, a link, or not to be opened. Modes
   * that keep its owner out, which a command may have set, are widened first.
   */
  static open(name: string): DirectoryHandle | null {
    return DirectoryHandle.#take(openDirectoryOrNull(name));
  }

  static #take(named: number | null): DirectoryHandle | null {
    if (named === null) return null;
    try {
      const self = `/proc/self/fd/${named}`;
      const again = (): number | null => openOrNull(`${self}/.`, O_RDONLY | O_DIRECTORY);
      const fd = again() ?? (widen(named) ? again() : null);
      return fd === null ? null : new DirectoryHandle(fd);
    } finally {
      closeSync(named);
    }
  }

  /** Opens `name` below `tree`, a step at a time; `null` where a step is missing or a link. */
  static walk(tree: string, name: string): DirectoryHandle | null {
    let handle = DirectoryHandle.open(tree);
    for (const part of path.relative(tree, name).split('/').filter(Boolean)) {
      if (handle === null) return null;
      using current = handle;
      handle = current.enter(part);
    }
    return handle;
  }

  /** The path of an entry, valid while this handle is open. */
  at(name: string): string {
    return `/proc/self/fd/${this.#fd}/${name}`;
  }

  stat(name: string): Stats | null {
    try {
      return lstatSync(this.at(name), { throwIfNoEntry: false }) ?? null;
    } catch {
      return null;
    }
  }

  /** Opens a directory in this one, as {@link open} does. */
  enter(name: string): DirectoryHandle | null {
    return DirectoryHandle.#take(openOrNull(this.at(name), O_PATH | O_DIRECTORY | O_NOFOLLOW));
  }

  /** The text of a regular file of at most `bytesMax`; `null` for anything else. */
  read(name: string, bytesMax: number): string | null {
    const fd = openRegularFile(this.at(name));
    if (fd === null) return null;
    try {
      const stat = fstatSync(fd);
      return stat.size <= bytesMax ? readFileSync(fd, 'utf8') : null;
    } catch {
      return null;
    } finally {
      closeSync(fd);
    }
  }

  /** Lets the owner change what is in it, whatever modes a command has set. */
  unlock(): void {
    widen(this.#fd);
  }

  names(): string[] {
    return this.entries().map((entry) => entry.name);
  }

  entries(): Dirent[] {
    try {
      return readdirSync(`/proc/self/fd/${this.#fd}`, { withFileTypes: true });
    } catch {
      return [];
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }
}

/** Gives the owner all of a directory; `false` where it is somebody else's. */
function widen(fd: number): boolean {
  try {
    chmodSync(`/proc/self/fd/${fd}`, (fstatSync(fd).mode & 0o7777) | 0o700);
    return true;
  } catch {
    return false;
  }
}
