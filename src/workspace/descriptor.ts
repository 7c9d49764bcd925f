/** Entries by the descriptor of the directory that holds them: no link can lead elsewhere. */
import { openSync, readSync } from 'node:fs';
import { pathBytes } from './byte-path.ts';

/** Linux: a descriptor that names without opening; Node has no constant for it. */
export const O_PATH = 0o10000000;

/** The way to an entry of an open directory, as long as that is open. */
export function entryPathIn(fd: number, name: string): Buffer {
  return pathBytes(`/proc/self/fd/${fd}/${name}`);
}

export function openOrNull(name: string | Buffer, flags: number): number | null {
  try {
    return openSync(name, flags);
  } catch {
    return null;
  }
}

/** What an open file has from its start, no more than `size` bytes. */
export function readUpTo(fd: number, size: number): Buffer {
  const bytes = Buffer.allocUnsafe(size);
  let filled = 0;
  for (let count = 1; count > 0 && filled < size; filled += count) {
    count = readSync(fd, bytes, filled, size - filled, filled);
  }
  return bytes.subarray(0, filled);
}

/** The code of a system's error; '' for any other. */
export function errnoCodeOf(error: unknown): string {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : '';
  return typeof code === 'string' ? code : '';
}
