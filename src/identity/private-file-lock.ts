/** Those who change a file of identities, one after another, in whatever process they are. */
import path from 'node:path';
import { withFileLock } from '../file-lock.ts';
import { makePrivateDirectory } from '../private-file.ts';

/**
 * As {@link withFileLock}, in a directory of this user alone.
 *
 * @throws TrlError `AUTH_FAILED` when the directory is another's or others may write to it;
 *   `BACKEND_UNAVAILABLE` when somebody else holds the lock for 5 s
 */
export function withPrivateFileLock<Answer>(file: string, act: () => Answer): Answer {
  makePrivateDirectory(path.dirname(file));
  return withFileLock(file, act);
}
