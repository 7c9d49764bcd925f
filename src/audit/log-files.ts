/**
 * The files of one log:
 *
 *   0000000000000000.jsonl   segments, named by the `seq` of their first event; the first line of
 *   0000000000071320.jsonl   each is the head over all segments before it
 *   nodes                    stored hashes, 32 bytes each; can be rebuilt from the segments
 *   reserve                  1 MiB that is freed when the disk is full, so that the ends of running
 *                            commands can still be written
 *   torn/                    unfinished last writes that a crash left, as they were:
 *     0000000000000420-<SHA-256>.new   cut off, not yet recorded
 *     0000000000000420-<SHA-256>.bin   recorded by a `log.repaired`
 *   lock                     held by the process that writes
 *   lost                     says why no process writes here any more; may be absent
 */
import { hash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync, unlinkSync } from 'node:fs';
import path from 'node:path';
import { limits } from '../limits.ts';
import {
  listNamesIn,
  listNumberedFiles,
  paddedNumber,
  SegmentFile,
  syncDirectory,
  writeDurableFile,
} from '../segment-files.ts';
import { withOpenFile } from './line-reader.ts';
import type { TornWrite } from './store.ts';

export interface LogSegment {
  readonly file: string;
  /** `seq` of its first event. */
  readonly first: number;
}

export const logFileNames = {
  nodes: 'nodes',
  reserve: 'reserve',
  torn: 'torn',
  lock: 'lock',
  lost: 'lost',
} as const;

export const logSegmentPattern = /^(\d{16})\.jsonl$/;
export const logSegmentName = (first: number): string => `${paddedNumber(first, 16)}.jsonl`;

/** By their first event. */
export const listSegments = (directory: string): LogSegment[] =>
  listNumberedFiles(directory, logSegmentPattern).map(({ file, number }) => ({
    file,
    first: number,
  }));

/** `false`: there is no reserve. */
export function spendReserve(directory: string): boolean {
  try {
    unlinkSync(path.join(directory, logFileNames.reserve));
    return true;
  } catch {
    return false;
  }
}

/** Makes the reserve if there is none. Throws the error of the operating system. */
export function saveReserve(directory: string): void {
  const file = path.join(directory, logFileNames.reserve);
  if (existsSync(file)) return;
  const draft = `${file}.new`;
  rmSync(draft, { force: true });
  try {
    // Not zeros: a file system may allocate no blocks for them.
    writeDurableFile(draft, randomBytes(limits.auditReserveBytes.default));
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/**
 * Copies the bytes of a segment from `begin` on to `torn/`, and then cuts them off: no caller was
 * notified that they were written, so the log continues before them.
 */
export async function preserveTornWrite(
  directory: string,
  { file, begin, seq }: { readonly file: string; readonly begin: number; readonly seq: number },
): Promise<void> {
  const segment = SegmentFile.open(file);
  try {
    const bytes = await segment.read(begin, segment.end);
    const folder = path.join(directory, logFileNames.torn);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const name = `${paddedNumber(seq, 16)}-${hash('sha256', bytes, 'hex')}.new`;
    writeDurableFile(path.join(folder, name), bytes, { isNew: false });
    await syncDirectory(folder);
    await syncDirectory(directory);
    if (begin === 0) await segment.remove();
    else await segment.cut(begin);
  } finally {
    await segment.close();
  }
}

/** Those that no event records. */
export function listUnrecordedTornWrites(directory: string): TornWrite[] {
  const folder = path.join(directory, logFileNames.torn);
  return listNamesIn(folder).flatMap((name) => {
    const [, seq = '', sha256 = ''] = /^(\d{16})-([0-9a-f]{64})\.new$/.exec(name) ?? [];
    if (seq === '') return [];
    const bytes = withOpenFile(path.join(folder, name), (_, length) => length);
    return [{ file: `${logFileNames.torn}/${seq}-${sha256}.bin`, sha256, bytes, seq: Number(seq) }];
  });
}

/** Must not throw: recorded again at the next start, it is in the log twice. */
export function markTornWriteRecorded(directory: string, torn: TornWrite): void {
  const file = path.join(directory, torn.file);
  try {
    renameSync(file.replace(/\.bin$/, '.new'), file);
  } catch {
    // It may have been moved away.
  }
}
