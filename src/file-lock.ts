/** Those who change one file, one after another, in whatever process they are. */
import { closeSync, constants, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { TrlError } from './errors.ts';

const { O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
/** How long a writer waits for another one, in ms. */
const lockMs = 5_000;

/**
 * Runs `act` while no other process that takes the lock changes the file. The lock is the kernel's,
 * on `FILE.lock`, so that it ends with the process that holds it. A missing directory is made with
 * mode 0700.
 *
 * @throws TrlError `BACKEND_UNAVAILABLE` when somebody else holds the lock for 5 s; what `act` does
 */
export function withFileLock<Answer>(file: string, act: () => Answer): Answer {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
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
