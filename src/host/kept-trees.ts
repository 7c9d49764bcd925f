/**
 * Directories of thousands of entries that commands removed, each as it was, for the way back. They
 * lie in a private directory, on the mount of their tree or not at all, as long as the record of
 * the command is kept, and as far as there is room; the oldest go first.
 */
import { closeSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Contents } from '../contents.ts';
import { limits } from '../limits.ts';
import { openStaging } from '../workspace/commit/staging.ts';

export class KeptTrees {
  readonly #directory: string;
  readonly #contents: Pick<Contents, 'has'>;

  /**
   * @param directory private to the user, outside every workspace
   * @param contents of the records whose directories are kept here
   */
  constructor(directory: string, contents: Pick<Contents, 'has'>) {
    this.#directory = directory;
    this.#contents = contents;
  }

  /** Where a directory of so many bytes can be kept; `null`: nowhere. */
  placeFor(
    root: string,
    bytes: number,
    [first]: readonly string[],
  ): { readonly tree: string; readonly path: string } | null {
    const room = limits.snapshotBytes.default;
    const at = openStaging(this.#directory, root);
    if (at === null || first === undefined || bytes > room) return null;
    closeSync(at);
    this.sweep(room - bytes);
    return { tree: this.#directory, path: `${Date.now()}-${bytes}-${first}` };
  }

  /** Removes those whose records are gone, and the oldest of more than so many bytes. */
  sweep(bytesMax: number = limits.snapshotBytes.default): void {
    let room = bytesMax;
    for (const name of namesIn(this.#directory).toSorted().toReversed()) {
      const [, bytes = '', first = ''] = name.split('-');
      room -= Number(bytes);
      if (room >= 0 && this.#contents.has(first)) continue;
      // It may take minutes, for which nobody waits.
      void rm(join(this.#directory, name), { recursive: true, force: true }).catch(() => null);
    }
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
