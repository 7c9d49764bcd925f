/**
 * The files of one log:
 *
 *   0000000000000000.jsonl   segments, named by the `seq` of their first event; the first line of
 *   0000000000071320.jsonl   each is the head over all segments before it
 *   nodes                    stored hashes, 32 bytes each; can be made again out of the segments
 *   reserve                  1 MiB that is given up when the disk is full
 *   torn/                    ends that a crash left unfinished, as they were
 *   lock                     held by the process that writes
 *   lost                     says why nobody writes here any more; it may not be there
 */
import { closeSync, constants, fsyncSync, openSync, readdirSync } from 'node:fs';
import path from 'node:path';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

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

export const logSegmentName = (first: number): string => `${String(first).padStart(16, '0')}.jsonl`;

/** By their first event; a directory that is not there has none. */
export function listSegments(directory: string): LogSegment[] {
  return listNamesIn(directory)
    .filter((name) => /^\d{16}\.jsonl$/.test(name))
    .toSorted()
    .map((name) => ({ file: path.join(directory, name), first: Number(name.slice(0, 16)) }));
}

export function listNamesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
}

export const openForReading = (file: string): number => openSync(file, O_RDONLY | O_NOFOLLOW);

/** So that names of it last. */
export function syncDirectory(directory: string): void {
  const fd = openSync(directory, O_RDONLY | O_DIRECTORY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

export const hasCode = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof Error && 'code' in error && codes.includes(String(error.code));
