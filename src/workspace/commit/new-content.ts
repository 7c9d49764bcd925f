/** New contents, written completely under a temporary name before anybody sees them. */
import { createHash } from 'node:crypto';
import {
  type BigIntStats,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  ftruncateSync,
  futimesSync,
  openSync,
  read as readAsync,
  readSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Entry } from '../../change.ts';
import type { ContentStore } from '../../content-store.ts';
import type { FileOwner } from '../beneath.ts';
import { statKey } from '../stat.ts';
import type { CommitItem, CommitSource } from './commit-item.ts';
import { mtimeOfEntry, type TreePathResolver } from './tree-path-resolver.ts';

const { COPYFILE_FICLONE, O_CREAT, O_EXCL, O_NOFOLLOW, O_RDWR } = constants;
/** Files up to this are copied at once: less than a millisecond. */
const smallBytes = 256 * 1024;
const chunkBytes = 1024 * 1024;
const blockBytes = 512n;
const isRoot = process.geteuid?.() === 0;
const readChunk = promisify(readAsync);

interface ContentWrite {
  readonly item: CommitItem;
  /** The temporary name, which must not exist. */
  readonly at: Buffer;
  readonly owner: FileOwner;
  readonly contents: Pick<ContentStore, 'read'>;
  /** The content as it was judged, where it need not be read. */
  readonly bytes: Uint8Array | null;
  readonly stepsOf: (source: CommitSource) => TreePathResolver;
}

type FileEntry = Extract<Entry, { type: 'file' }>;

/**
 * Writes a file with its mode, owner and times. `false` where its content is not to be had as it
 * was recorded; nothing is left then, nor when it throws what the system says.
 */
export function writeNewContent(
  writing: ContentWrite,
  after: FileEntry,
): Promise<boolean> | boolean {
  const { item, at, bytes } = writing;
  if (bytes?.length === after.size) {
    writeBytes(writing, after, bytes);
    return true;
  }
  const source = item.source === null ? null : openSource(writing, item.source);
  if (source === null) return fromStore(writing, after);
  const { size, blocks } = source.stat;
  if (size <= smallBytes && !isSparse(size, blocks)) {
    try {
      if (copySmall(source.fd, writing, after)) return true;
    } finally {
      closeSync(source.fd);
    }
    return fromStore(writing, after);
  }
  return copyLarge(source, writing, after)
    .finally(() => {
      closeSync(source.fd);
    })
    .then((isRight) => {
      if (isRight) return true;
      remove(at);
      return fromStore(writing, after);
    })
    .catch((error: unknown) => {
      remove(at);
      throw error;
    });
}

interface Opened {
  readonly fd: number;
  readonly stat: BigIntStats;
}

function openSource({ stepsOf }: ContentWrite, source: CommitSource): Opened | null {
  const fd = stepsOf(source).open(source.path);
  return fd === null ? null : { fd, stat: fstatSync(fd, { bigint: true }) };
}

function isSparse(size: bigint, blocks: bigint): boolean {
  return blocks * blockBytes < size;
}

function copySmall(fd: number, writing: ContentWrite, after: FileEntry): boolean {
  const { item } = writing;
  const bytes = Buffer.allocUnsafe(after.size + 1);
  let size = 0;
  for (let count = 1; count > 0 && size < bytes.length; size += count) {
    count = readSync(fd, bytes, size, bytes.length - size, size);
  }
  const content = bytes.subarray(0, size);
  // By content: the applied bytes are the checked ones, and no key shows writes through a memory
  // map.
  const isAsCaptured =
    after.sha256 === null
      ? statKey(fstatSync(fd, { bigint: true })) === item.sourceKey
      : hash(content) === after.sha256;
  if (size !== after.size || !isAsCaptured) return false;
  writeBytes(writing, after, content);
  return true;
}

async function fromStore(writing: ContentWrite, after: FileEntry): Promise<boolean> {
  const bytes = after.sha256 === null ? null : await writing.contents.read(after.sha256);
  if (bytes === null) return false;
  writeBytes(writing, after, bytes);
  return true;
}

function writeBytes(writing: ContentWrite, after: FileEntry, bytes: Uint8Array): void {
  const fd = create(writing.at);
  try {
    writeAll(fd, bytes, 0);
    finish(fd, writing.owner, after);
  } catch (error) {
    remove(writing.at);
    throw error;
  } finally {
    closeSync(fd);
  }
}

/** Cloned where the file system can, else copied in the kernel; holes stay holes. */
async function copyLarge(
  source: Opened,
  writing: ContentWrite,
  after: FileEntry,
): Promise<boolean> {
  const { item, at, owner } = writing;
  const isUnwritten = (): boolean =>
    statKey(fstatSync(source.fd, { bigint: true })) === item.sourceKey;
  if (Number(source.stat.size) !== after.size) return false;
  const fd = create(at);
  try {
    if (isSparse(source.stat.size, source.stat.blocks)) {
      await copyChunks(source.fd, fd, after.size);
    } else {
      await copyFile(`/proc/self/fd/${source.fd}`, `/proc/self/fd/${fd}`, COPYFILE_FICLONE);
    }
    if (fstatSync(fd).size !== after.size) return false;
    const isAsCaptured = after.size > smallBytes && isUnwritten();
    if (!isAsCaptured && (await hashFile(fd)) !== after.sha256) return false;
    finish(fd, owner, after);
    return true;
  } finally {
    closeSync(fd);
  }
}

async function copyChunks(from: number, to: number, size: number): Promise<void> {
  const bytes = Buffer.alloc(chunkBytes);
  const zeros = Buffer.alloc(chunkBytes);
  let at = 0;
  while (at < size) {
    const { bytesRead } = await readChunk(from, bytes, 0, chunkBytes, at);
    if (bytesRead === 0) break;
    const isHole = bytes.subarray(0, bytesRead).equals(zeros.subarray(0, bytesRead));
    if (!isHole) writeAll(to, bytes.subarray(0, bytesRead), at);
    at += bytesRead;
  }
  ftruncateSync(to, at);
}

/** Up to `bytes` bytes at `at`, fewer only at the end of the file. */
export async function readFileRange(fd: number, at: number, bytes: number): Promise<Buffer> {
  const part = Buffer.allocUnsafe(bytes);
  let size = 0;
  for (let count = 1; count > 0 && size < bytes; size += count) {
    count = (await readChunk(fd, part, size, bytes - size, at + size)).bytesRead;
  }
  return part.subarray(0, size);
}

/** SHA-256 of an open file, from its start, in lower-case hex. */
export async function hashFile(fd: number): Promise<string> {
  const bytes = Buffer.allocUnsafe(chunkBytes);
  const sum = createHash('sha256');
  for (let at = 0; ;) {
    const { bytesRead } = await readChunk(fd, bytes, 0, chunkBytes, at);
    if (bytesRead === 0) return sum.digest('hex');
    sum.update(bytes.subarray(0, bytesRead));
    at += bytesRead;
  }
}

function writeAll(fd: number, bytes: Uint8Array, at: number): void {
  let done = 0;
  while (done < bytes.length) {
    done += writeSync(fd, bytes, done, bytes.length - done, at + done);
  }
}

function hash(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function create(at: Buffer): number {
  return openSync(at, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
}

function finish(fd: number, owner: FileOwner, after: FileEntry): void {
  if (isRoot) fchownSync(fd, owner.uid, owner.gid);
  fchmodSync(fd, after.mode);
  futimesSync(fd, new Date(), mtimeOfEntry(after));
}

function remove(at: Buffer): void {
  try {
    unlinkSync(at);
  } catch {
    // It was never made.
  }
}
