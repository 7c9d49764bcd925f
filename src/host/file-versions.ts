/**
 * What small files of a tree were, so that a command that read one before somebody saved it can be
 * merged with what was saved. A version is known from when it was read; where none is known, what
 * the command makes of the file is a conflict.
 */
import type { BigIntStats, Dirent } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { BytePath, Change } from '../change.ts';
import { joinPath } from '../workspace/byte-path.ts';
import { readCurrentFile, type FileEntry } from '../workspace/merge/current-file.ts';
import { OpenDirectory } from '../workspace/projection/open-directory.ts';
import { fileEntry } from '../workspace/stat.ts';
import { TimeSlices } from '../workspace/time-slices.ts';

let lastMoment = 0;

/** Unix ms with a fraction, later at each call: what came first is told within a millisecond. */
export function uniqueNowMs(): number {
  lastMoment = Math.max(Date.now(), lastMoment + 0.001);
  return lastMoment;
}

export interface FileVersion {
  /** Unix ms: it stood there then, and after. */
  readonly since: number;
  readonly entry: FileEntry;
  /** Unix ms when a look came upon it, after it had stood there for a while; 0: nobody looked. */
  readonly heard: number;
  /** `null`: the store has them, as of what a command left. */
  readonly bytes: Buffer | null;
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
export const clockTickMs = 10;
/** Nobody edits these by hand. */
const skipped: ReadonlySet<string> = new Set(['.git', '.hg', 'node_modules', 'target', '.venv']);

export class FileVersions {
  readonly #root: string;
  /** By path, the least recently noted first; of each the oldest first. */
  readonly #all = new Map<BytePath, FileVersion[]>();
  #bytes = 0;
  #warming: Promise<void> | null = null;
  /** Unix ms when changes were made that nobody heard of by name. */
  #missedAt = 0;

  constructor(root: string) {
    this.#root = root;
  }

  /**
   * Reads what is in the tree, once, and again after changes that nobody heard of by name; answers
   * when that is done, or goes on. Never fails.
   */
  async warm(): Promise<void> {
    this.#warming ??= this.#warm().catch(() => {});
    await Promise.race([this.#warming, wait(warmMs, undefined, { ref: false })]);
  }

  /**
   * Somebody changed these.
   *
   * @param isAll whether they may have changed others, too, and nobody heard which
   */
  note(paths: readonly BytePath[], isAll: boolean): void {
    if (isAll) {
      this.#missedAt = uniqueNowMs();
      this.#warming = null;
    }
    for (const path of paths.slice(0, notedMax)) this.#read(path, uniqueNowMs());
  }

  /** Commands left these; nothing where they are many. */
  noteCommandVersions(changes: readonly Change[]): void {
    if (changes.length > notedMax) return;
    for (const { path, after } of changes) {
      if (after?.type !== 'file') continue;
      this.#add(path, { since: uniqueNowMs(), heard: 0, entry: after, bytes: null });
    }
  }

  /**
   * Whether somebody changed a file after `at`, Unix ms: by what was heard, else by its time, which
   * is of a clock that ticks behind.
   */
  isChangedSince(path: BytePath, at: number, ctimeNs: bigint): boolean {
    if ((this.of(path).at(-1)?.heard ?? 0) > at) return true;
    const slackMs = this.#missedAt > at ? clockTickMs : 0;
    return ctimeNs > BigInt(Math.ceil(at) - slackMs) * 1_000_000n;
  }

  /** The oldest first. */
  of(path: BytePath): readonly FileVersion[] {
    return this.#all.get(path) ?? [];
  }

  async #warm(): Promise<void> {
    const slices = new TimeSlices();
    const waiting: BytePath[] = [''];
    let room = entriesMax;
    for (let at = waiting.shift(); at !== undefined && room > 0; at = waiting.shift()) {
      using directory = openedOrNull(this.#root, at);
      for (const entry of entriesOf(directory)) {
        if ((room -= 1) < 0 || this.#bytes > bytesMax / 2) return;
        if (slices.isOver) await slices.yieldTurn();
        const path = joinPath(at, entry.name.toString('latin1'));
        if (entry.isDirectory() && !skipped.has(entry.name.toString())) waiting.push(path);
        if (!entry.isFile()) continue;
        const stat = directory?.look(entry.name.toString('latin1'));
        if (stat?.isFile() === true && !this.#isKnown(path, stat)) this.#read(path, 0);
      }
    }
  }

  #isKnown(path: BytePath, stat: BigIntStats): boolean {
    const last = this.of(path).at(-1)?.entry;
    const { size, mtimeMs } = fileEntry(stat);
    return last?.size === size && last.mtimeMs === mtimeMs;
  }

  #read(path: BytePath, heard: number): void {
    const found = readCurrentFile(this.#root, path, fileBytesMax);
    if (found === null) return;
    const { entry, ctimeMs, bytes } = found;
    // Its time may be a tick too early; that it stands there now is certain.
    const since = Math.min(ctimeMs + clockTickMs, uniqueNowMs());
    this.#add(path, { since, heard, entry, bytes });
  }

  #add(path: BytePath, version: FileVersion): void {
    const known = this.#all.get(path) ?? [];
    const last = known.at(-1);
    const { sha256, mode } = version.entry;
    const isSame = last?.entry.sha256 === sha256 && last.entry.mode === mode;
    if (isSame) {
      if (last.heard === 0) known.splice(-1, 1, { ...last, heard: version.heard });
      return;
    }
    const versions = [...known, version];
    this.#bytes += costOf(version);
    for (const gone of versions.splice(0, versions.length - versionsMax)) {
      this.#bytes -= costOf(gone);
    }
    this.#all.delete(path);
    this.#all.set(path, versions);
    for (const [oldest, its] of this.#all) {
      if (this.#bytes <= bytesMax) return;
      this.#all.delete(oldest);
      for (const gone of its) this.#bytes -= costOf(gone);
    }
  }
}

/** Of memory, in bytes. */
const costOf = ({ bytes }: FileVersion): number => KiB + (bytes?.length ?? 0);

function openedOrNull(root: string, path: BytePath): OpenDirectory | null {
  try {
    return OpenDirectory.open(root, path);
  } catch {
    return null;
  }
}

function entriesOf(directory: OpenDirectory | null): Dirent<Buffer>[] {
  try {
    return directory?.entries() ?? [];
  } catch {
    return [];
  }
}
