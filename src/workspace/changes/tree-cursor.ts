/** A place in a tree that moves from directory to directory without ever following a link. */
import {
  type BigIntStats,
  chmodSync,
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  type Stats,
} from 'node:fs';
import { readdir } from 'node:fs/promises';
import type { BytePath } from '../../change.ts';
import { TrlError } from '../../errors.ts';
import { openDirectory } from '../beneath.ts';
import {
  bytePathOf,
  entryPathIn,
  errnoCodeOf,
  joinPath,
  O_PATH,
  parentPathOf,
  pathBytes,
} from '../byte-path.ts';
import { permissionBits } from '../stat.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
const directoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
/** Directories held open at once: a command may have made a tree of any depth. */
const handlesMax = 64;
/** A directory of this size holds thousands of names: they are read off the main thread. */
const largeDirectoryBytes = 256 * 1024;

/** Paths that the system takes as they are. */
const shortBytesMax = 4_000;
const plain = /^[ -~]*$/;

interface Level {
  readonly name: string;
  /** `null`: let go, as deeper ones needed a handle. */
  fd: number | null;
  /** `dev:ino` of a closed level, which must be the same on the way back. */
  identity: string;
  /** The mode to put back when the cursor leaves; `null`: it was not changed. */
  readonly narrow: number | null;
}

interface TreeCursorOptions {
  /**
   * Whether a directory or file that keeps its owner out is opened all the same, its mode widened
   * meanwhile. Never in a tree of the user's.
   */
  readonly mayWiden: boolean;
}

/** `missing`: nothing there, or no directory. `closed`: this process may not read it. */
export type EnterResult = 'here' | 'missing' | 'closed';

/** An open regular file, and what was known of it before its content is read. */
interface OpenFile {
  readonly fd: number;
  readonly stat: BigIntStats;
}

export class TreeCursor implements Disposable {
  readonly #mayWiden: boolean;
  readonly #tree: string;
  readonly #levels: Level[] = [];
  #path: BytePath = '';
  /** Where the handles begin: levels above were let go, except the first. */
  #held = 1;

  /** @throws Error of `open` where `tree` is no directory that can be read */
  constructor(tree: string, options: TreeCursorOptions) {
    this.#mayWiden = options.mayWiden;
    this.#tree = bytePathOf(tree);
    const named = openDirectory(tree);
    try {
      const fd = openSync(entryPathIn(named, '.'), directoryFlags);
      this.#levels.push({ name: '', fd, identity: '', narrow: null });
    } finally {
      closeSync(named);
    }
  }

  /** The directory where the cursor is. */
  get path(): BytePath {
    return this.#path;
  }

  /** The path of an entry here for system calls, valid until the cursor moves. */
  at(name: string): Buffer {
    return entryPathIn(this.#fd(), name);
  }

  /** Goes to `directory`; where it cannot, it stays at the last step that it could go. */
  goto(directory: BytePath): EnterResult {
    if (directory === this.#path) return 'here';
    while (this.#path !== '' && !directory.startsWith(`${this.#path}/`)) this.leave();
    const rest = this.#path === '' ? directory : directory.slice(this.#path.length + 1);
    for (const part of rest === '' ? [] : rest.split('/')) {
      const entered = this.enter(part);
      if (entered !== 'here') return entered;
    }
    return 'here';
  }

  enter(name: string): EnterResult {
    let narrow: number | null = null;
    let fd = open(this.at(name), directoryFlags);
    if (fd === 'missing') return 'missing';
    if (fd === 'closed') {
      if (!this.#mayWiden) return 'closed';
      narrow = widen(this.at(name), true);
      fd = narrow === null ? 'closed' : open(this.at(name), directoryFlags);
      if (fd === 'missing' || fd === 'closed') return fd;
    }
    this.#levels.push({ name, fd, identity: '', narrow });
    this.#path = joinPath(this.#path, name);
    if (this.#levels.length - this.#held > handlesMax) this.#letGo();
    return 'here';
  }

  /**
   * Moves to the parent directory.
   *
   * @throws TrlError INTERNAL_ERROR (may be retried) if another process moved the tree meanwhile
   */
  leave(): void {
    const level = this.#levels.at(-1);
    const above = this.#levels.at(-2);
    if (level === undefined || above === undefined) return;
    if (above.fd === null) above.fd = this.#reopen(above.identity);
    this.#levels.pop();
    this.#held = Math.min(this.#held, this.#levels.length - 1) || 1;
    this.#path = parentPathOf(this.#path);
    closeLevel(level);
  }

  /** The names here, as bytes. @throws Error of `readdir` */
  async names(): Promise<string[]> {
    const self = this.#self();
    const { size } = fstatSync(this.#fd());
    if (size < largeDirectoryBytes) return readdirSync(self, { encoding: 'latin1' });
    return readdir(self, { encoding: 'latin1' });
  }

  /** The entries here, with their types, names as bytes. @throws Error of `readdir` */
  entries(): Dirent[] {
    return readdirSync(this.#self(), { withFileTypes: true, encoding: 'latin1' });
  }

  stat(name: string): BigIntStats | null {
    return lstatSync(this.at(name), { bigint: true, throwIfNoEntry: false }) ?? null;
  }

  /**
   * As {@link stat}, at a third of the cost, only to check whether the known state is current:
   * another process may have redirected the path meanwhile.
   */
  quickStat(name: string): Stats | null {
    const full = `${this.#tree}/${this.#path}/${name}`;
    if (full.length > shortBytesMax) return lstat(this.at(name));
    return lstat(plain.test(full) ? full : pathBytes(full));
  }

  /** Opens a regular file and nothing else; `closed`: this process may not read it. */
  openFile(name: string): OpenFile | 'missing' | 'closed' {
    const named = open(this.at(name), O_PATH | O_NOFOLLOW);
    if (typeof named === 'string') return named;
    try {
      const stat = fstatSync(named, { bigint: true });
      if (!stat.isFile()) return 'missing';
      const self = Buffer.from(`/proc/self/fd/${named}`);
      const fd = open(self, O_RDONLY);
      if (fd !== 'closed' || !this.#mayWiden) return typeof fd === 'string' ? fd : { fd, stat };
      const narrow = widen(self, false);
      const widened = open(self, O_RDONLY);
      if (narrow !== null) chmodSync(self, narrow);
      if (typeof widened === 'string') return widened;
      return { fd: widened, stat: fstatSync(widened, { bigint: true }) };
    } finally {
      closeSync(named);
    }
  }

  /** Does `work` while an entry here may be read by its owner, whatever its mode. */
  async readable<T>(name: string, work: () => Promise<T>): Promise<T> {
    const named = open(this.at(name), O_PATH | O_NOFOLLOW);
    if (typeof named === 'string') return work();
    const self = `/proc/self/fd/${named}`;
    const narrow = fstatSync(named).mode & permissionBits;
    try {
      if (this.#mayWiden) chmodSync(self, narrow | 0o700);
      return await work();
    } finally {
      if (this.#mayWiden) chmodSync(self, narrow);
      closeSync(named);
    }
  }

  /** Where a link leads, as bytes; `null`: it is none any more. */
  readLink(name: string): string | null {
    try {
      return readlinkSync(this.at(name), { encoding: 'latin1' });
    } catch {
      return null;
    }
  }

  /** Lets go of everything, and puts widened modes back. */
  [Symbol.dispose](): void {
    try {
      while (this.#levels.length > 1) this.leave();
    } catch {
      // Moved by another process: the descriptors are closed all the same.
    }
    for (const level of this.#levels.splice(0)) closeLevel(level);
  }

  #fd(): number {
    const fd = this.#levels.at(-1)?.fd ?? null;
    if (fd === null) throw new TrlError('INTERNAL_ERROR', 'Cannot read a tree: it was let go');
    return fd;
  }

  #self(): string {
    return `/proc/self/fd/${this.#fd()}`;
  }

  #letGo(): void {
    const level = this.#levels[this.#held];
    this.#held += 1;
    if (level === undefined || level.fd === null) return;
    level.identity = identityOf(level.fd);
    closeSync(level.fd);
    level.fd = null;
  }

  #reopen(identity: string): number {
    const fd = openSync(`${this.#self()}/..`, directoryFlags);
    if (identityOf(fd) === identity) return fd;
    closeSync(fd);
    throw new TrlError('INTERNAL_ERROR', 'Cannot read a tree: it was moved meanwhile');
  }
}

function lstat(name: string | Buffer): Stats | null {
  return lstatSync(name, { throwIfNoEntry: false }) ?? null;
}

function identityOf(fd: number): string {
  const { dev, ino } = fstatSync(fd, { bigint: true });
  return `${dev}:${ino}`;
}

function closeLevel(level: Level): void {
  if (level.fd === null) return;
  try {
    if (level.narrow !== null) chmodSync(`/proc/self/fd/${level.fd}`, level.narrow);
  } catch {
    // Removed, or replaced by another process.
  }
  closeSync(level.fd);
}

/** Lets the owner read what `name` is, and a directory be searched; answers the mode it had. */
function widen(name: Buffer, isDirectory: boolean): number | null {
  const named = open(name, O_PATH | (isDirectory ? O_DIRECTORY | O_NOFOLLOW : 0));
  if (typeof named === 'string') return null;
  try {
    const mode = fstatSync(named).mode & permissionBits;
    chmodSync(`/proc/self/fd/${named}`, mode | (isDirectory ? 0o700 : 0o400));
    return mode;
  } catch {
    return null;
  } finally {
    closeSync(named);
  }
}

function open(name: Buffer, flags: number): number | 'missing' | 'closed' {
  try {
    return openSync(name, flags);
  } catch (error) {
    const code = errnoCodeOf(error);
    if (code === 'EACCES' || code === 'EPERM') return 'closed';
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP') return 'missing';
    throw error;
  }
}
