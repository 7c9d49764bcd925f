/**
 * Operations beneath an open directory. None of them follows a link, even if another process swaps
 * names meanwhile. A path is opened one component at a time; operations that have no system call
 * that refuses links (modes, owners, times) act on a descriptor, after a check of its type.
 *
 * `/proc/self/fd/N` leads to exactly the file that `N` is open on, even if that is a link.
 */
import {
  type BigIntStats,
  chmodSync,
  chownSync,
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { bytePathOf, entryPathIn, O_PATH, openOrNull, pathBytes } from './byte-path.ts';
import { permissionBits } from './stat.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const directoryFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW;

export interface FileOwner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * A directory of the host, its descriptor good for looking up names only; the caller closes it.
 *
 * @param name absolute
 * @throws the system's error; `ENOTDIR` or `ELOOP` where a link is on the way
 */
export function openDirectory(name: string): number {
  let fd = openSync('/', directoryFlags);
  for (const part of bytePathOf(name).split('/').filter(Boolean)) {
    const from = fd;
    try {
      fd = openSync(entryPathIn(from, part), directoryFlags);
    } finally {
      closeSync(from);
    }
  }
  return fd;
}

/** As {@link openDirectory}; `null` where it cannot be opened. */
export function openDirectoryOrNull(name: string): number | null {
  try {
    return openDirectory(name);
  } catch {
    return null;
  }
}

/**
 * Any entry at a name, not opened for access; the caller closes it.
 *
 * @throws the system's error
 */
export function openEntry(at: Buffer | string): number {
  return openSync(at, O_PATH | O_NOFOLLOW);
}

/** A regular file, open for reading; `null` for anything else, which is never opened. */
export function openRegularFile(at: Buffer | string): number | null {
  const entry = openOrNull(at, O_PATH | O_NOFOLLOW);
  if (entry === null) return null;
  try {
    return fstatSync(entry).isFile() ? openOrNull(self(entry), O_RDONLY | O_NONBLOCK) : null;
  } finally {
    closeSync(entry);
  }
}

/**
 * The text of a regular file of the host with at most `bytesMax` bytes; `null` for anything else.
 * Its directories may be links, as it has the name that the host's programs use.
 */
export function readSmallText(name: Buffer | string, bytesMax: number): string | null {
  const fd = openRegularFile(name);
  if (fd === null) return null;
  try {
    return fstatSync(fd).size <= bytesMax ? readFileSync(fd, 'utf8') : null;
  } catch {
    return null;
  } finally {
    closeSync(fd);
  }
}

export function setMode(fd: number, mode: number): void {
  chmodSync(self(fd), mode);
}

export function setOwner(fd: number, { uid, gid }: FileOwner): void {
  chownSync(self(fd), uid, gid);
}

export function setTimes(fd: number, atime: Date, mtime: number | Date): void {
  utimesSync(self(fd), atime, mtime);
}

/** Whether a descriptor is of what `stat` was taken of, whatever has changed in it since. */
export function isSameInode(fd: number, { dev, ino }: Pick<BigIntStats, 'dev' | 'ino'>): boolean {
  const stat = fstatSync(fd, { bigint: true });
  return stat.dev === dev && stat.ino === ino;
}

/**
 * Makes a directory that its owner may use.
 *
 * @param owner `null`: this process
 * @returns open, as {@link openDirectory}
 * @throws the system's error; `EEXIST` where somebody put something else in its place meanwhile
 */
export function makeDirectory(at: Buffer, mode: number, owner: FileOwner | null): number {
  mkdirSync(at, { mode });
  const fd = openSync(at, directoryFlags);
  try {
    if (owner !== null) takeNew(fd, (stat) => stat.isDirectory(), owner);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Makes a link. @throws as {@link makeDirectory} */
export function makeLink(at: Buffer, target: string, owner: FileOwner | null): void {
  symlinkSync(pathBytes(target), at);
  if (owner === null) return;
  const fd = openEntry(at);
  try {
    takeNew(fd, (stat) => stat.isSymbolicLink() && stat.nlink === 1n, owner);
  } finally {
    closeSync(fd);
  }
}

/** Changes the owner of what this process has just created, and of nothing that replaced it. */
function takeNew(fd: number, isWanted: (stat: BigIntStats) => boolean, owner: FileOwner): void {
  const stat = fstatSync(fd, { bigint: true });
  if (!isWanted(stat) || Number(stat.uid) !== process.geteuid?.()) {
    throw Object.assign(new Error('somebody replaced it'), { code: 'EEXIST' });
  }
  setOwner(fd, owner);
}

export function modeOfDescriptor(fd: number): number {
  return fstatSync(fd).mode & permissionBits;
}

function self(fd: number): string {
  return `/proc/self/fd/${fd}`;
}
