/** Where the raw log of an execution lies: `EXEC.key` and `EXEC.log` in one private directory. */
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fieldOf } from '../json-shape.ts';

/** @param base path of both files up to their endings: `DIRECTORY/EXEC` */
export const rawLogKeyPath = (base: string): string => `${base}.key`;
export const rawLogPath = (base: string): string => `${base}.log`;

/** Makes what was made in or removed from the directory around `path` last. */
export async function syncParentDirectory(path: string): Promise<void> {
  const handle = await open(dirname(path), 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** `ENOSPC` and the like; `null`: no error of the system's. */
export function systemErrorCode(error: unknown): string | null {
  const code = fieldOf(error, 'code');
  return typeof code === 'string' ? code : null;
}
