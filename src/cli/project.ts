/** Which directory is the project, where nobody names one. */
import { lstatSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';

/**
 * The project that a directory belongs to: the top of its git worktree, else itself. What another
 * user made above it, or the home directory, is no project.
 */
export function projectOf(directory: string): string {
  for (let at = directory; at !== path.dirname(at); at = path.dirname(at)) {
    const git = lstatSync(path.join(at, '.git'), { throwIfNoEntry: false });
    if (git === undefined) continue;
    const isOwn = git.uid === process.getuid?.() && (git.isDirectory() || git.isFile());
    return isOwn && !isTooWide(at) ? at : directory;
  }
  return directory;
}

/** Whether it is the home directory, or holds it: no project, but where programs start servers. */
export function isTooWide(directory: string): boolean {
  return `${homedir()}/`.startsWith(directory === '/' ? directory : `${directory}/`);
}
