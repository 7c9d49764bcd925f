/**
 * Directories of thousands of entries that commands removed, each as it was, for the way back. They
 * lie in a private directory, on the mount of their tree or not at all, as long as the record of
 * the command is kept, and as far as there is room: what a command had made goes first, then the
 * oldest, and nothing that anybody else made within a day.
 */
import { closeSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ContentStore } from '../content-store.ts';
import { limits } from '../limits.ts';
import { originalsRetentionMs } from '../snapshot/retention.ts';
import { openStaging } from '../workspace/commit/staging.ts';

const madeMark = 'made';

export class RemovedDirectories {
  readonly #directory: string;
  readonly #contents: Pick<ContentStore, 'has'>;

  /**
   * @param directory private to the user, outside every workspace
   * @param contents of the records whose directories are kept here
   */
  constructor(directory: string, contents: Pick<ContentStore, 'has'>) {
    this.#directory = directory;
    this.#contents = contents;
  }

  /**
   * Where a directory of so many bytes can be kept; `null`: nowhere.
   *
   * @param isMade whether a command had made it
   */
  findSlot(
    root: string,
    bytes: number,
    [first]: readonly string[],
    isMade: boolean,
  ): { readonly tree: string; readonly path: string } | null {
    const at = openStaging(this.#directory, root);
    if (at === null || first === undefined) return null;
    closeSync(at);
    const room = limits.snapshotBytes.default - bytes;
    const staying = this.#all().filter((one) => one.isWanted && one.isFirm);
    if (staying.reduce((left, one) => left - one.bytes, room) < 0) return null;
    this.sweep(room);
    const made = isMade ? `-${madeMark}` : '';
    return { tree: this.#directory, path: `${Date.now()}-${bytes}-${first}${made}` };
  }

  /** Removes those whose records are gone, and what is too much for so many bytes. */
  sweep(bytesMax: number = limits.snapshotBytes.default): void {
    let room = bytesMax;
    for (const { name, bytes, isWanted } of this.#all()) {
      if (isWanted) room -= bytes;
      if (isWanted && room >= 0) continue;
      // It may take minutes, for which nobody waits.
      void rm(join(this.#directory, name), { recursive: true, force: true }).catch(() => null);
    }
  }

  /** What is to stay longest comes first. */
  #all(): Kept[] {
    const firmSince = Date.now() - originalsRetentionMs;
    const all = namesIn(this.#directory).map((name): Kept => {
      const [atMs = '', bytes = '', first = '', mark = ''] = name.split('-');
      const isMade = mark === madeMark;
      const isFirm = !isMade && Number(atMs) > firmSince;
      const isWanted = this.#contents.has(first);
      return { name, atMs: Number(atMs), bytes: Number(bytes), isMade, isFirm, isWanted };
    });
    return all.toSorted((a, b) => Number(a.isMade) - Number(b.isMade) || b.atMs - a.atMs);
  }
}

interface Kept {
  readonly name: string;
  readonly atMs: number;
  readonly bytes: number;
  readonly isMade: boolean;
  /** Nothing that comes later takes its room. */
  readonly isFirm: boolean;
  /** Whether the record is there that it is kept for. */
  readonly isWanted: boolean;
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
