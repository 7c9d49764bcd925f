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
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { TrlError } from '../errors.ts';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
const bytesMax = 4_096;

/**
 * The text of a file of this user (mode 0600), or `null` when there is none.
 *
 * @throws TrlError `AUTH_FAILED` when it is a link, too large, another's, or open to others
 */
export function readPrivate(file: string): string | null {
  let fd: number;
  try {
    // Not blocking: a FIFO in its place would otherwise hold the daemon.
    fd = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return null;
    throw untrusted(file, codeOf(cause) === 'ELOOP' ? 'it is a link' : String(cause));
  }
  try {
    const found = fstatSync(fd);
    if (!found.isFile() || found.size > bytesMax) throw untrusted(file, 'it is no small file');
    if (found.uid !== process.getuid?.()) throw untrusted(file, `uid ${found.uid} owns it`);
    if ((found.mode & 0o077) !== 0) throw untrusted(file, 'it is open to others; wanted mode 600');
    return readFileSync(fd, 'utf8');
  } finally {
    closeSync(fd);
  }
}

/** A new file (0600), whole and on disk when this returns. `file` must not exist. */
export function createDurable(file: string, bytes: Uint8Array): void {
  const fd = openSync(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    writeSync(fd, bytes);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Puts `text` in place of the file, whole or not at all, and on disk. A missing directory is made
 * with mode 0700.
 *
 * @throws TrlError `AUTH_FAILED` when the directory is another's or others may write to it
 */
export function writePrivate(file: string, text: string): void {
  const directory = path.dirname(file);
  const fresh = `${file}.${randomBytes(8).toString('hex')}`;
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const found = statSync(directory);
    if (found.uid !== process.getuid?.() || (found.mode & 0o022) !== 0) {
      throw untrusted(directory, 'others may write to it');
    }
    createDurable(fresh, Buffer.from(text));
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

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : null;

function untrusted(file: string, reason: string): TrlError {
  return new TrlError('AUTH_FAILED', `Cannot use "${file}": ${reason}`);
}
