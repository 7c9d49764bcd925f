/**
 * A private directory beside the tree, on the same mount: new contents are made there and displaced
 * ones wait there, so that who watches the tree sees no temporary name.
 */
import { closeSync, fstatSync, mkdirSync, readFileSync, realpathSync } from 'node:fs';
import { openDirectory } from '../beneath.ts';

/**
 * Opens it, and makes it where it is missing; `null` where names cannot be moved from it to the
 * tree. The caller closes it.
 */
export function openStaging(directory: string | null, tree: string): number | null {
  if (directory === null) return null;
  let staging: number | null = null;
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    staging = openDirectory(realpathSync(directory));
    const root = openDirectory(tree);
    try {
      if (mountOf(staging) === mountOf(root)) return staging;
    } finally {
      closeSync(root);
    }
  } catch {
    // As without one.
  }
  if (staging !== null) closeSync(staging);
  return null;
}

/** Equal for descriptors between which names can be moved, as far as the kernel tells before. */
function mountOf(fd: number): string {
  const info = readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8');
  return `${fstatSync(fd).dev} ${/^mnt_id:\s*(\d+)/m.exec(info)?.[1] ?? ''}`;
}
