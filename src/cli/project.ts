/** Whether a directory can be a project at all. */
import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';

/** Whether it is the home directory, or holds it: no project, but where programs start servers. */
export function containsHomeDirectory(directory: string): boolean {
  return `${realHome()}/`.startsWith(directory === '/' ? directory : `${directory}/`);
}

function realHome(): string {
  try {
    return realpathSync(homedir());
  } catch {
    return homedir();
  }
}
