/**
 * Ends of a log that a crash left unfinished. Nobody was told that they were written, so the log
 * goes on before them; what was there is kept as it was, and an event says so:
 *
 *   torn/0000000000000420-<SHA-256>.new   cut off, not yet recorded
 *   torn/0000000000000420-<SHA-256>.bin   recorded by a `log.repaired`
 */
import { hash } from 'node:crypto';
import { closeSync, constants, fdatasyncSync, ftruncateSync, mkdirSync, openSync } from 'node:fs';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readByteRange } from './line-reader.ts';
import { logFileNames, listNamesIn, syncDirectory } from './segments.ts';
import type { TornWrite } from './store.ts';
import { withOpenFile } from './log-tail.ts';

const { O_CREAT, O_NOFOLLOW, O_RDWR, O_TRUNC, O_WRONLY } = constants;

/** Keeps the bytes of a segment from `begin` on, and then cuts them off. */
export function preserveTornWrite(
  directory: string,
  segment: string,
  begin: number,
  seq: number,
): void {
  const bytes = withOpenFile(segment, (fd, length) => readByteRange(fd, begin, length));
  const folder = path.join(directory, logFileNames.torn);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const name = `${String(seq).padStart(16, '0')}-${hash('sha256', bytes, 'hex')}.new`;
  const copy = path.join(folder, name);
  const fd = openSync(copy, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600);
  try {
    writeFileSync(fd, bytes);
    fdatasyncSync(fd);
  } finally {
    closeSync(fd);
  }
  syncDirectory(folder);
  syncDirectory(directory);
  if (begin === 0) {
    rmSync(segment);
    syncDirectory(directory);
  } else {
    cut(segment, begin);
  }
}

/** Those that no event tells of. */
export function listUnrecordedTornWrites(directory: string): TornWrite[] {
  const folder = path.join(directory, logFileNames.torn);
  const found = listNamesIn(folder).map((name) => /^(\d{16})-([0-9a-f]{64})\.new$/.exec(name));
  return found.flatMap((match) => {
    if (match === null) return [];
    const [name, seq = '', sha256 = ''] = match;
    const bytes = withOpenFile(path.join(folder, name), (_, length) => length);
    return [{ file: `${logFileNames.torn}/${seq}-${sha256}.bin`, sha256, bytes, seq: Number(seq) }];
  });
}

/** Must not throw: told again at the next start, it is in the log twice. */
export function markTornWriteRecorded(directory: string, torn: TornWrite): void {
  const file = path.join(directory, torn.file);
  try {
    renameSync(file.replace(/\.bin$/, '.new'), file);
  } catch {
    // It may have been moved away.
  }
}

function cut(file: string, length: number): void {
  const fd = openSync(file, O_RDWR | O_NOFOLLOW);
  try {
    ftruncateSync(fd, length);
    fdatasyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
