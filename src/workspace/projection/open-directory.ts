/** Directories of a tree by byte paths of any depth, read without following a link. */
import {
  type BigIntStats,
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
} from 'node:fs';
import type { BytePath } from '../../change.ts';
import { openDirectory } from '../beneath.ts';
import { entryPathIn, O_PATH } from '../byte-path.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
const stepFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW;
const readFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
const descriptors = '/proc/self/fd/';

/** A directory held open. What it names stays the same whatever is renamed meanwhile. */
export class OpenDirectory {
  readonly #fd: number;

  private constructor(fd: number) {
    this.#fd = fd;
  }

  /**
   * Opens `path` below `root`, one component at a time.
   *
   * @param root an absolute path of the host without a link in it, or {@link self} of another
   * @throws the system's error where it is missing, no directory, a link, or not to be read
   */
  static open(root: string, path: BytePath = ''): OpenDirectory {
    let fd = root.startsWith(descriptors) ? openSync(root, O_PATH) : openDirectory(root);
    const parts = path === '' ? [] : path.split('/');
    for (const [at, part] of [...parts, '.'].entries()) {
      const from = fd;
      try {
        fd = openSync(entryPathIn(from, part), at === parts.length ? readFlags : stepFlags);
      } finally {
        closeSync(from);
      }
    }
    return new OpenDirectory(fd);
  }

  /** A path of the host for this directory, as long as it is open. */
  get self(): string {
    return `/proc/self/fd/${this.#fd}`;
  }

  /** A path of the host for an entry, as long as this is open. */
  at(name: string): Buffer {
    return entryPathIn(this.#fd, name);
  }

  stat(): BigIntStats {
    return fstatSync(this.#fd, { bigint: true });
  }

  /** The entry at a name; `null`: none. */
  look(name: string): BigIntStats | null {
    return lstatSync(this.at(name), { bigint: true, throwIfNoEntry: false }) ?? null;
  }

  /** The number of hard links of the file at a name; 0: there is none. */
  links(name: string): number {
    return lstatSync(this.at(name), { throwIfNoEntry: false })?.nlink ?? 0;
  }

  /** @throws the system's error where it cannot be read */
  entries(): Dirent<Buffer>[] {
    return readdirSync(this.self, { withFileTypes: true, encoding: 'buffer' });
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }
}
