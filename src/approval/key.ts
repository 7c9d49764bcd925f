/**
 * Keys of an installation: under one, approvals keep a hash in place of a variable's value or a
 * command's input; under the other, redaction makes tags.
 * This file reads and writes the state directory.
 */
import { createHmac, randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  lstatSync,
  openSync,
  readSync,
  rmSync,
} from 'node:fs';
import path from 'node:path';
import { TrlError } from '../errors.ts';
import { createDurableFile } from '../private-file.ts';

const keyBytes = 32;
/** Of the key of tags, in the state directory. */
export const redactionKeyName = 'redaction.key';
const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/**
 * The key called `name` of `stateDir` (32 bytes, made at first use, 0600), so that what an earlier
 * daemon wrote can still be compared; with `null` one of this process alone.
 *
 * @throws TrlError `BACKEND_UNAVAILABLE` when the file is not the user's own, or not a key
 */
export function openSecretKey(stateDir: string | null, name = 'approvals.key'): Buffer {
  const fresh = randomBytes(keyBytes);
  if (stateDir === null) return fresh;
  const file = path.join(stateDir, name);
  if (lstatSync(file, { throwIfNoEntry: false }) !== undefined) return readKey(file);
  const draft = `${file}.${randomBytes(8).toString('hex')}`;
  try {
    createDurableFile(draft, fresh);
    // Whole or not at all: half a key would stop every later start.
    linkSync(draft, file);
    return fresh;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) {
      throw unusable(file, String(error));
    }
  } finally {
    rmSync(draft, { force: true });
  }
  return readKey(file);
}

function readKey(file: string): Buffer {
  const key = Buffer.alloc(keyBytes + 1);
  let length: number;
  let found: ReturnType<typeof fstatSync>;
  try {
    const fd = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      found = fstatSync(fd);
      length = found.isFile() ? readSync(fd, key, 0, key.length, 0) : 0;
    } finally {
      closeSync(fd);
    }
  } catch (cause) {
    throw unusable(file, String(cause));
  }
  if (length !== keyBytes) throw unusable(file, 'it is not a key; remove it');
  if (found.uid !== process.getuid?.() || (found.mode & 0o077) !== 0) {
    throw unusable(file, 'it belongs to another user or is open to others');
  }
  return key.subarray(0, keyBytes);
}

function unusable(file: string, reason: string): TrlError {
  return new TrlError('BACKEND_UNAVAILABLE', `Cannot use the key "${file}": ${reason}`);
}

/** HMAC-SHA256 (hex) of a value under its name: equal values under other names differ. */
export const macOf = (key: Uint8Array, name: string, value: string): string =>
  createHmac('sha256', key).update(`${name}\n${value}`).digest('hex');
