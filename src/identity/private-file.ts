/**
 * One file that is the user's alone, and whoever changes it one after another. Links are not
 * followed, and what others could have written is not believed.
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
import { DatabaseSync } from 'node:sqlite';
import { TrlError } from '../errors.ts';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
/** How long a writer waits for another one, in ms. */
const lockMs = 5_000;

/**
 * The text of a file of this user (mode 0600), or `null` when there is none.
 *
 * @throws TrlError `AUTH_FAILED` when it is a link, larger than `bytesMax`, another's, open to
 *   others, or cannot be read
 */
export function readPrivate(file: string, bytesMax: number): string | null {
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

/**
 * Puts `text` in place of the file, whole or not at all, and on disk.
 *
 * @throws TrlError `AUTH_FAILED` when it cannot be written
 */
export function replacePrivate(file: string, text: string): void {
  const fresh = `${file}.${randomBytes(8).toString('hex')}`;
  try {
    const fd = openSync(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    try {
      writeSync(fd, text);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(fresh, file);
    const held = openSync(path.dirname(file), O_RDONLY | O_DIRECTORY);
    fsyncSync(held);
    closeSync(held);
  } catch (cause) {
    rmSync(fresh, { force: true });
    throw untrusted(file, String(cause));
  }
}

/**
 * Runs `act` while no other process changes the file. The lock is the kernel's, so that it ends
 * with whoever held it. A missing directory is made with mode 0700.
 *
 * @throws TrlError `AUTH_FAILED` when the directory is another's or others may write to it;
 *   `BACKEND_UNAVAILABLE` when somebody else holds the lock for 5 s
 */
export function changing<Answer>(file: string, act: () => Answer): Answer {
  const directory = path.dirname(file);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const found = statSync(directory);
  if (found.uid !== process.getuid?.() || (found.mode & 0o022) !== 0) {
    throw untrusted(directory, 'others may write to it');
  }
  closeSync(openSync(`${file}.lock`, O_WRONLY | O_CREAT | O_NOFOLLOW, 0o600));
  const lock = new DatabaseSync(`${file}.lock`, { timeout: lockMs });
  try {
    try {
      lock.exec('BEGIN EXCLUSIVE');
    } catch (cause) {
      const message = `Cannot change "${file}": somebody else is changing it`;
      throw new TrlError('BACKEND_UNAVAILABLE', message, { cause });
    }
    return act();
  } finally {
    lock.close();
  }
}

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : null;

function untrusted(file: string, reason: string): TrlError {
  return new TrlError('AUTH_FAILED', `Cannot use "${file}": ${reason}`);
}
