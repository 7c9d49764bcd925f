/**
 * A record of what the user trusts: the real path of a directory, and the SHA-256 (hex) of its
 * files. This module reads and writes the user's configuration directory.
 */
import { randomBytes } from 'node:crypto';
import { realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import * as z from 'zod/mini';
import { TrlError } from '../errors.ts';
import { withFileLock } from '../file-lock.ts';
import { readOwnedFile } from './owned-file.ts';
import type { FileErrorTarget } from './tree.ts';

const directoriesMax = 10_000;

const record = z.strictObject({
  version: z.literal(1),
  trusted: z.record(z.string(), z.string().check(z.regex(/^[0-9a-f]{64}$/))),
});

/** @throws FileError of `Failure` when the record cannot be used; without one nothing is trusted */
export function readTrustRecord(named: FileErrorTarget): ReadonlyMap<string, string> {
  const bytes = readOwnedFile(named, { owner: 'user', follow: false });
  if (bytes === null) return new Map();
  try {
    return new Map(Object.entries(record.parse(JSON.parse(bytes.toString('utf8'))).trusted));
  } catch (cause) {
    const message = 'it is no record of trusted directories: repair or remove it';
    throw new named.Failure(named.file, [{ line: 1, column: 1, message }], { cause });
  }
}

/**
 * Puts a directory into the record; with `null` it is forgotten.
 *
 * @param real as {@link resolveTrustedDirectory} names it
 * @throws FileError of `Failure`; TrlError `QUOTA_EXCEEDED` for one more than 10,000 directories,
 *   `BACKEND_UNAVAILABLE` when another process changes the record for 5 s
 */
export function recordTrust(named: FileErrorTarget, real: string, sha256: string | null): void {
  // What another one says meanwhile is not lost.
  withFileLock(named.file, () => {
    const trusted = new Map(readTrustRecord(named));
    if (sha256 === null) trusted.delete(real);
    else trusted.set(real, sha256);
    if (trusted.size > directoriesMax) {
      const most = `at most ${directoriesMax} directories are trusted`;
      throw new TrlError('QUOTA_EXCEEDED', `Cannot trust "${real}": ${most}`);
    }
    replace(named.file, trusted);
  });
}

/** @throws TrlError `INVALID_PARAMS` when there is no such directory */
export function resolveTrustedDirectory(directory: string): string {
  try {
    return realpathSync(directory);
  } catch (cause) {
    const message = `Cannot trust "${directory}": there is no such directory`;
    throw new TrlError('INVALID_PARAMS', message, { cause });
  }
}

/** A reader sees the record before or after, never a part of it. */
function replace(file: string, trusted: ReadonlyMap<string, string>): void {
  const text = JSON.stringify({ version: 1, trusted: Object.fromEntries(trusted) }, null, 2);
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(draft, `${text}\n`, { mode: 0o600, flag: 'wx', flush: true });
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}
