/**
 * Small files that are the user's alone. This file reads and writes the file system; links are
 * not followed, and what others could have written is not believed.
 */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { TrlError } from './errors.ts';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/**
 * The text of a file of this user (mode 0600), or `null` when there is none.
 *
 * @throws TrlError `AUTH_FAILED` when it is a link, larger than `bytesMax`, another's, open to
 *   others, or cannot be read
 */
export function readPrivateFile(file: string, bytesMax: number): string | null {
  let fd: number;
  try {
    // Not blocking: a FIFO in its place would otherwise hold the reader.
    fd = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return null;
    throw untrusted(file, codeOf(cause) === 'ELOOP' ? 'it is a link' : String(cause));
  }
  try {
    const found = fstatSync(fd);
    if (!found.isFile()) throw untrusted(file, 'it is no file');
    if (found.size > bytesMax) throw untrusted(file, `it has more than ${bytesMax} bytes`);
    if (found.uid !== process.getuid?.()) throw untrusted(file, `uid ${found.uid} owns it`);
    if ((found.mode & 0o077) !== 0) {
      throw untrusted(file, `it is open to others; run: chmod 600 ${file}`);
    }
    return readFileSync(fd, 'utf8');
  } finally {
    closeSync(fd);
  }
}

/** A new file (0600), whole and on disk when this returns. `file` must not exist. */
export function createDurableFile(file: string, bytes: Uint8Array): void {
  const fd = openSync(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    writeFileSync(fd, bytes);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Puts `text` in place of the file, whole or not at all, and on disk. A missing directory is made
 * with mode 0700.
 *
 * @throws TrlError `AUTH_FAILED` when the directory is another's, others may write to it, or the
 *   file cannot be written
 */
export function writePrivateFile(file: string, text: string): void {
  const directory = path.dirname(file);
  const fresh = `${file}.${randomBytes(8).toString('hex')}`;
  try {
    makePrivateDirectory(directory);
    createDurableFile(fresh, Buffer.from(text));
    renameSync(fresh, file);
    const held = openSync(directory, O_RDONLY | O_DIRECTORY);
    fsyncSync(held);
    closeSync(held);
  } catch (cause) {
    rmSync(fresh, { force: true });
    if (cause instanceof TrlError) throw cause;
    throw untrusted(file, String(cause));
  }
}

/**
 * A missing directory is made with mode 0700.
 *
 * @throws TrlError `AUTH_FAILED` when it is another's or others may write to it
 */
export function makePrivateDirectory(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const found = statSync(directory);
  if (found.uid !== process.getuid?.() || (found.mode & 0o022) !== 0) {
    throw untrusted(directory, 'others may write to it');
  }
}

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : null;

function untrusted(file: string, reason: string): TrlError {
  return new TrlError('AUTH_FAILED', `Cannot use "${file}": ${reason}`);
}
