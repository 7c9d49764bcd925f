/** Room on the disk that is given up so that the ends of running commands can still be written. */
import { randomBytes } from 'node:crypto';
import { closeSync, constants, existsSync, fdatasyncSync, openSync } from 'node:fs';
import { renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { limits } from '../limits.ts';
import { logFileNames } from './segments.ts';

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

/** `false`: there is none. */
export function spendReserve(directory: string): boolean {
  try {
    unlinkSync(path.join(directory, logFileNames.reserve));
    return true;
  } catch {
    return false;
  }
}

/** Makes it where there is none. Throws the error of the operating system. */
export function saveReserve(directory: string): void {
  const file = path.join(directory, logFileNames.reserve);
  if (existsSync(file)) return;
  const draft = `${file}.new`;
  rmSync(draft, { force: true });
  try {
    const fd = openSync(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    try {
      // Not zeros: a file system may keep no blocks for them.
      writeFileSync(fd, randomBytes(limits.auditReserveBytes.default));
      fdatasyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}
