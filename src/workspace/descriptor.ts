/** Entries by the descriptor of the directory that holds them: no link can lead elsewhere. */
import { openSync } from 'node:fs';
import { bytesOf } from './byte-path.ts';

/** Linux: a descriptor that names without opening; Node has no constant for it. */
export const O_PATH = 0o10000000;

/** The way to an entry of an open directory, as long as that is open. */
export function below(fd: number, name: string): Buffer {
  return bytesOf(`/proc/self/fd/${fd}/${name}`);
}

export function openOrNull(name: string | Buffer, flags: number): number | null {
  try {
    return openSync(name, flags);
  } catch {
    return null;
  }
}

/** The code of a system's error; '' for any other. */
export function codeOf(error: unknown): string {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : '';
  return typeof code === 'string' ? code : '';
}
