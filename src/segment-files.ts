/**
 * Append-only files: what the audit log, the snapshots and the raw logs have in common. A segment
 * is private to the user. Its first `end` bytes count; what a crash or a failed append leaves
 * behind them is cut off before the next append.
 *
 * The rest differs on purpose and stays with its owner:
 *
 *            begins a segment          torn end                 removes a segment
 *   audit    before one gets too long  preserved, then cut off  never
 *   snapshot when one is full          cut off                  when little of it is needed
 *   sealing  once per execution        stays, and is reported   the oldest, above a limit
 */
import { close, closeSync, constants, fdatasync, fstatSync, fsyncSync, ftruncate } from 'node:fs';
import { openSync, read, readdirSync, statSync, write, writeFileSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const { O_CREAT, O_DIRECTORY, O_DSYNC, O_EXCL, O_NOFOLLOW, O_RDONLY, O_RDWR } = constants;
const { O_TRUNC, O_WRONLY } = constants;
const writeAt = promisify(write);
const readAt = promisify(read);
const truncate = promisify(ftruncate);
const syncData = promisify(fdatasync);
const closeFile = promisify(close);

/**
 * When appended bytes are on disk: when the append resolves, as by `fdatasync` but in one call
 * instead of two, or after {@link SegmentFile.sync}.
 */
export type SyncMode = 'append' | 'explicit';

export class SegmentFile {
  readonly path: string;
  /** Bytes that count. */
  end: number;
  readonly #inode: number;
  #fd: number | null;
  readonly #reads = new Set<Promise<Buffer>>();

  private constructor(file: string, flags: number) {
    this.path = file;
    this.#fd = openSync(file, flags, 0o600);
    const { ino, size } = fstatSync(this.#fd);
    this.#inode = ino;
    this.end = size;
  }

  /** A new file; its name lasts after {@link syncDirectory}. */
  static create(file: string, mode: SyncMode = 'append'): SegmentFile {
    const sync = mode === 'append' ? O_DSYNC : 0;
    return new SegmentFile(file, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | sync);
  }

  /** An existing file; all of it counts until the owner says otherwise. */
  static open(file: string): SegmentFile {
    return new SegmentFile(file, O_RDWR | O_NOFOLLOW | O_DSYNC);
  }

  get fd(): number {
    if (this.#fd === null) throw new Error(`"${this.path}" is closed`);
    return this.#fd;
  }

  /**
   * Appends all of `bytes`, or none that count.
   *
   * @param confirm runs before they count, with the new size; if it throws, the append failed
   */
  async append(bytes: Uint8Array, confirm?: (size: number) => void | Promise<void>): Promise<void> {
    const size = this.end + bytes.length;
    for (let done = 0; done < bytes.length;) {
      const left = bytes.length - done;
      const { bytesWritten } = await writeAt(this.fd, bytes, done, left, this.end + done);
      done += bytesWritten;
    }
    await confirm?.(size);
    this.end = size;
  }

  /** Cuts off everything behind the first `end` bytes, on disk. */
  async cut(end = this.end): Promise<void> {
    await truncate(this.fd, end);
    await this.sync();
    this.end = end;
  }

  async sync(): Promise<void> {
    await syncData(this.fd);
  }

  /** Bytes from `begin` up to `end`; fewer only where the file ends. */
  async read(begin: number, end: number): Promise<Buffer> {
    const read = readRange(this.fd, begin, end);
    this.#reads.add(read);
    try {
      return await read;
    } finally {
      this.#reads.delete(read);
    }
  }

  /**
   * Whether its path still leads to this file, with this size: writing to a file that was deleted,
   * replaced or truncated succeeds, and stores nothing.
   *
   * @throws the error of the operating system if the path leads nowhere
   */
  isInPlace(size: number): boolean {
    const found = statSync(this.path);
    return found.ino === this.#inode && found.size === size;
  }

  /** Waits for the reads that are running; does nothing if it is closed already. */
  async close(): Promise<void> {
    const fd = this.#fd;
    this.#fd = null;
    await Promise.allSettled(this.#reads);
    if (fd !== null) await closeFile(fd);
  }

  async remove(): Promise<void> {
    await rm(this.path, { force: true });
    await syncDirectory(path.dirname(this.path));
    await this.close();
  }
}

/** Bytes from `begin` up to `end`; fewer only where the file ends. */
export async function readRange(fd: number, begin: number, end: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(Math.max(0, end - begin));
  let done = 0;
  while (done < bytes.length) {
    const { bytesRead } = await readAt(fd, bytes, done, bytes.length - done, begin + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return bytes.subarray(0, done);
}

export interface NumberedFile {
  readonly file: string;
  readonly number: number;
}

/**
 * Files of a directory by number, none if there is no directory.
 *
 * @param pattern of a whole name; its first group is the number
 */
export function listNumberedFiles(directory: string, pattern: RegExp): NumberedFile[] {
  return listNamesIn(directory)
    .flatMap((name) => {
      const digits = pattern.exec(name)?.[1];
      return digits === undefined ? [] : { file: path.join(directory, name), number: +digits };
    })
    .toSorted((one, other) => one.number - other.number);
}

/** `digits` of a number, with zeros before it. */
export const paddedNumber = (number: number, digits: number): string =>
  String(number).padStart(digits, '0');

/** All names in a directory, none if there is no directory. */
export function listNamesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/** Writes a small private file, on disk. `isNew`: it must not exist. */
export function writeDurableFile(
  file: string,
  bytes: Uint8Array,
  { isNew = true, mode = 0o600 } = {},
): void {
  const flags = O_WRONLY | O_CREAT | O_NOFOLLOW | (isNew ? O_EXCL : O_TRUNC);
  const fd = openSync(file, flags, mode);
  try {
    writeFileSync(fd, bytes);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Makes the names in a directory last. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, O_RDONLY | O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The same while nothing else runs. */
export function syncDirectoryNow(directory: string): void {
  const fd = openSync(directory, O_RDONLY | O_DIRECTORY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** `ENOSPC` and the like; `null`: it is no error of the operating system. */
export function systemErrorCode(error: unknown): string | null {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return typeof code === 'string' ? code : null;
}
