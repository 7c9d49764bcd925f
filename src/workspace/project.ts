/** Which directory is the project, where nobody names one. */
import { lstatSync } from 'node:fs';
import path from 'node:path';

/**
 * The project that a directory belongs to: the top of its git worktree, else itself. What another
 * user made above it, or the home directory, is no project.
 *
 * @param home the person's home directory; both by real path
 */
export function projectOf(directory: string, home: string): string {
  for (let at = directory; at !== path.dirname(at); at = path.dirname(at)) {
    const git = lstatSync(path.join(at, '.git'), { throwIfNoEntry: false });
    if (git === undefined) continue;
    const isOwn = git.uid === process.getuid?.() && (git.isDirectory() || git.isFile());
    return isOwn && !isTooWideProject(at, home) ? at : directory;
  }
  return directory;
}

/** Whether it is the home directory, or holds it: no project, but where programs start servers. */
export const isTooWideProject = (directory: string, home: string): boolean =>
  `${home}/`.startsWith(directory === '/' ? directory : `${directory}/`);
