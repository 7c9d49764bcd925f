/** Directories held open, so that what is done in them cannot be led elsewhere by a link. */
import {
  chmodSync,
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  renameSync,
  rmdirSync,
  type Stats,
  symlinkSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { openDirectoryOrNull, openRegularFile } from './beneath.ts';
import { O_PATH, openOrNull } from './byte-path.ts';

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

/** Gives the owner full access to a directory; `false` if another user owns it. */
function widen(fd: number): boolean {
  try {
    chmodSync(`/proc/self/fd/${fd}`, (fstatSync(fd).mode & 0o7777) | 0o700);
    return true;
  } catch {
    return false;
  }
}

// Takes something a command made out of the workspace, as it is, without following links.

/** What is kept of a thing that must be copied; the rest of it is removed all the same. */
const keptBytesMax = 16 * 1024 * 1024;
const depthMax = 256;
/** A copy does not wait: if an entry has several parts, the rest is renamed where it is. */
const partsMax = 2_000;
const nameShown = 64;
const chunkBytes = 64 * 1024;

/**
 * Moves `name` of `directory` to `target`: by rename, across file systems by copying the first
 * 16 MiB. What can be neither moved nor removed gets a name that nothing looks for.
 *
 * @throws Error where not even that is possible.
 */
export function quarantineEntry(directory: DirectoryHandle, name: string, target: string): void {
  try {
    renameSync(directory.at(name), target);
  } catch {
    directory.unlock();
    try {
      const budget = { bytes: keptBytesMax, parts: partsMax };
      takeOut({ directory, name, target, depth: 0, budget });
    } catch {
      const away = `.trl-reverted-${process.pid}-${Date.now()}-${name.slice(0, nameShown)}`;
      renameSync(directory.at(name), directory.at(away));
    }
  }
}

interface Take {
  readonly directory: DirectoryHandle;
  readonly name: string;
  readonly target: string;
  readonly depth: number;
  readonly budget: { bytes: number; parts: number };
}

function takeOut(take: Take): void {
  const { directory, name, target, depth, budget } = take;
  const stat = directory.stat(name);
  if (stat === null) return;
  if ((budget.parts -= 1) < 0) throw new Error(`more than ${partsMax} parts`);
  if (stat.isDirectory()) {
    if (depth > depthMax) throw new Error(`more than ${depthMax} directories deep`);
    takeDirectory(take);
    rmdirSync(directory.at(name));
    return;
  }
  if (stat.isSymbolicLink()) symlinkSync(readlinkSync(directory.at(name)), target);
  else if (stat.isFile()) copyStart(directory.at(name), target, budget);
  unlinkSync(directory.at(name));
}

function takeDirectory({ directory, name, target, depth, budget }: Take): void {
  mkdirSync(target, { mode: 0o700 });
  const inner = directory.enter(name);
  if (inner === null) return;
  using _ = inner;
  inner.unlock();
  for (const child of inner.names()) {
    const to = path.join(target, child);
    takeOut({ directory: inner, name: child, target: to, depth: depth + 1, budget });
  }
}

/** Copies until the budget is used up. */
function copyStart(source: string, target: string, budget: { bytes: number }): void {
  const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
  const from = openSync(source, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    if (!fstatSync(from).isFile()) return;
    const to = openSync(target, 'wx', 0o600);
    try {
      const buffer = new Uint8Array(chunkBytes);
      let count = readSync(from, buffer);
      while (count > 0 && budget.bytes > 0) {
        budget.bytes -= writeSync(to, buffer, 0, count);
        count = readSync(from, buffer);
      }
    } finally {
      closeSync(to);
    }
  } finally {
    closeSync(from);
  }
}
