/**
 * What small files of a tree were, so that a command that read one before somebody saved it can be
 * merged with what was saved. A version is known from when it was read; where none is known, what
 * the command makes of the file is a conflict.
 */
import type { Dirent } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { BytePath } from '../../change.ts';
import { joined } from '../../workspace/byte-path.ts';
import { standingFile, type FileEntry } from '../../workspace/merge/standing-file.ts';
import { OpenDirectory, Slices } from '../../workspace/projection/directory.ts';

let lastMoment = 0;

/** Unix ms with a fraction, later at each call: what came first is told within a millisecond. */
export function moment(): number {
  lastMoment = Math.max(Date.now(), lastMoment + 0.001);
  return lastMoment;
}

export interface Version {
  /** Unix ms: it stood there then, and after. */
  readonly since: number;
  readonly entry: FileEntry;
  readonly bytes: Buffer;
}

const KiB = 1024;
const fileBytesMax = 64 * KiB;
const bytesMax = 16 * KiB * KiB;
/** Entries of the tree that are looked at before anybody changed them. */
const entriesMax = 4_000;
/** A command waits so long for it. */
const warmMs = 20;
/** Entries that are read anew at one look. */
const notedMax = 256;
const versionsMax = 16;
/** Clocks of file systems tick this much behind. */
const tickMs = 10;
/** Nobody edits these by hand. */
const skipped: ReadonlySet<string> = new Set(['.git', '.hg', 'node_modules', 'target', '.venv']);

export class Versions {
  readonly #root: string;
  /** By path, the least recently noted first; of each the oldest first. */
  readonly #all = new Map<BytePath, Version[]>();
  #bytes = 0;
  #warming: Promise<void> | null = null;

  constructor(root: string) {
    this.#root = root;
  }

  /** Reads what is in the tree, once; answers when that is done, or goes on. Never fails. */
  async warm(): Promise<void> {
    this.#warming ??= this.#warm().catch(() => {});
    await Promise.race([this.#warming, wait(warmMs, undefined, { ref: false })]);
  }

  /** Somebody changed these. */
  note(paths: readonly BytePath[]): void {
    for (const path of paths.slice(0, notedMax)) this.#read(path);
  }

  /** The oldest first. */
  of(path: BytePath): readonly Version[] {
    return this.#all.get(path) ?? [];
  }

  async #warm(): Promise<void> {
    const slices = new Slices();
    const waiting: BytePath[] = [''];
    let room = entriesMax;
    for (let at = waiting.shift(); at !== undefined && room > 0; at = waiting.shift()) {
      for (const entry of entriesOf(this.#root, at)) {
        if ((room -= 1) < 0 || this.#bytes > bytesMax / 2) return;
        if (slices.over) await slices.turn();
        const path = joined(at, entry.name.toString('latin1'));
        if (entry.isDirectory() && !skipped.has(entry.name.toString())) waiting.push(path);
        if (entry.isFile()) this.#read(path);
      }
    }
  }

  #read(path: BytePath): void {
    const found = standingFile(this.#root, path, fileBytesMax);
    if (found === null) return;
    const { entry, ctimeMs, bytes } = found;
    // Its time may be a tick too early; that it stands there now is certain.
    const since = Math.min(ctimeMs + tickMs, moment());
    const known = this.#all.get(path) ?? [];
    const last = known.at(-1);
    if (last?.entry.sha256 === entry.sha256 && last.entry.mode === entry.mode) return;
    const versions = [...known, { since, entry, bytes }];
    this.#bytes += bytes.length;
    for (const gone of versions.splice(0, versions.length - versionsMax)) {
      this.#bytes -= gone.bytes.length;
    }
    this.#all.delete(path);
    this.#all.set(path, versions);
    for (const [oldest, its] of this.#all) {
      if (this.#bytes <= bytesMax) return;
      this.#all.delete(oldest);
      for (const { bytes: gone } of its) this.#bytes -= gone.length;
    }
  }
}

function entriesOf(root: string, path: BytePath): Dirent<Buffer>[] {
  try {
    using directory = OpenDirectory.open(root, path);
    return directory.entries();
  } catch {
    return [];
  }
}
