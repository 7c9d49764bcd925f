/**
 * Earlier versions of small files of a tree, so that a command's change of a version from before a
 * save can be merged with the saved one. A version is known from the moment it was read; without
 * one, the command's change is a conflict.
 */
import type { BigIntStats, Dirent } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { BytePath, Change, StatKey } from '../change.ts';
import { joinPath } from '../workspace/byte-path.ts';
import type { CapturedChange } from '../workspace/changes/capture.ts';
import { type FileEntry, readCurrentFile } from '../workspace/merge/current-file.ts';
import { OpenDirectory } from '../workspace/projection/open-directory.ts';
import { fileEntry } from '../workspace/stat.ts';
import { TimeSlices } from '../workspace/time-slices.ts';
import type { RecordedChange } from './change-record.ts';
import type { RunningCommand } from './session-dependencies.ts';

let lastMoment = 0;

/** Unix ms with a fraction, greater at each call: this orders events within a millisecond. */
export function uniqueNowMs(): number {
  lastMoment = Math.max(Date.now(), lastMoment + 0.001);
  return lastMoment;
}

export interface FileVersion {
  /** Unix ms: it was there then, and later. */
  readonly since: number;
  readonly entry: FileEntry;
  /** Unix ms when a look found it, some time after it was written; 0: no look found it. */
  readonly heard: number;
  /** `null`: the store has them, as of what a command left. */
  readonly bytes: Buffer | null;
}

const KiB = 1024;
const fileBytesMax = 64 * KiB;
const bytesMax = 16 * KiB * KiB;
/** Entries of the tree that are read before anybody changes them. */
const entriesMax = 4_000;
/** A command waits this long for it. */
const warmMs = 20;
/** Entries that are read again at one look. */
const notedMax = 256;
const versionsMax = 16;
/** Clocks of file systems tick this much behind. */
export const clockTickMs = 10;
/** People do not edit these by hand. */
const skipped: ReadonlySet<string> = new Set(['.git', '.hg', 'node_modules', 'target', '.venv']);

export class FileVersions {
  readonly #root: string;
  /** By path, the least recently noted first; of each the oldest first. */
  readonly #all = new Map<BytePath, FileVersion[]>();
  #bytes = 0;
  #warming: Promise<void> | null = null;
  /** Unix ms of changes that no event named. */
  #missedAt = 0;

  constructor(root: string) {
    this.#root = root;
  }

  /**
   * Reads the tree once, and again after changes that no event named; resolves when that is done,
   * or continues. Never fails.
   */
  async warm(): Promise<void> {
    this.#warming ??= this.#warm().catch(() => {});
    await Promise.race([this.#warming, wait(warmMs, undefined, { ref: false })]);
  }

  /**
   * Notes changed paths.
   *
   * @param isAll whether others may have changed, too, without an event that names them
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
   * Whether a file was changed after `at`, Unix ms: by its events, else by its time, whose clock is
   * a tick behind.
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
    // Its time may be a tick too early; that it is there now is certain.
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

// Attributes changes of commands that run together in one layer: to each command that had begun
// when a path was written. The layer cannot show which of them wrote it, so each reports it.

/** Unix ms when the first and the last command began that may have written something. */
export interface CommandStartRange {
  readonly first: number;
  readonly last: number;
}

/** Unix ms, to the µs, when a change was written to the layer; 0: unknown. */
export function layerWriteTimeMs({ upperKey }: Pick<CapturedChange, 'upperKey'>): number {
  return Number(BigInt(upperKey?.split(':')[4] ?? '0') / 1_000n) / 1_000;
}

/** What one command reports. */
export interface AttributedChanges {
  readonly run: RunningCommand;
  readonly changes: readonly RecordedChange[];
  /** Some of it is in other records only as shared. */
  readonly isOwner: boolean;
}

/**
 * Divides the changes that `finder` captured. Shared changes are marked in all records except the
 * first.
 *
 * @param running the oldest first; with `finder` or without
 * @returns the part of `finder`, then the parts of other commands that have any
 */
export function attributeChanges(
  changes: readonly RecordedChange[],
  found: readonly CapturedChange[],
  finder: RunningCommand,
  running: Iterable<RunningCommand>,
): [AttributedChanges, ...AttributedChanges[]] {
  const others = [...running].filter((run) => run !== finder);
  const times = new Map<BytePath, number>(found.map((one) => [one.path, layerWriteTimeMs(one)]));
  const own: RecordedChange[] = [];
  const parts = others.map((run) => ({ run, changes: Array.of<RecordedChange>(), isOwner: false }));
  for (const change of changes) {
    const at = times.get(change.path) ?? 0;
    const had = (run: RunningCommand): boolean => at === 0 || run.begunAt <= at + clockTickMs;
    const able = parts.filter(({ run }) => had(run));
    let isReported = had(finder) || able.length === 0;
    if (isReported) own.push(change);
    for (const part of able) {
      const concurrentWith = [...part.run.overlapping];
      part.changes.push({ ...change, concurrentWith, ...(isReported ? { isShared: true } : {}) });
      part.isOwner ||= !isReported;
      isReported = true;
    }
  }
  const telling = parts.filter((part) => part.changes.length > 0);
  return [{ run: finder, changes: own, isOwner: true }, ...telling];
}

// What a session and the real tree had at a path when they were last brought together.

/** `any`: some of it, in any place; a time, Unix ms: what was added until then, from its start. */
export type SeenAppends = 'nothing' | 'any' | number;

export interface SyncPoint {
  /** Unix ms. */
  readonly at: number;
  /** What the session's own file had: what it has now is a delta against this. */
  readonly layer: FileEntry;
  /** What the real tree had with that delta in it. */
  readonly real: FileEntry;
  /** Of the real tree's file; `null`: another file is there now, and both must be merged. */
  readonly realKey: StatKey | null;
  /** Another writer's version has shown through since: the session's next file starts from it. */
  readonly isShown: boolean;
  /** Later additions of others that the session's file may have. */
  readonly maySee: SeenAppends;
}

export type SyncPointsJson = readonly (readonly [BytePath, readonly SyncPoint[]])[];

/** Of one path, besides the oldest and the newest. */
const middlePointsMax = 14;

/** Of paths where the two are not simply equal. Empty whenever no command runs. */
export class SyncPoints {
  readonly #all = new Map<BytePath, readonly SyncPoint[]>();

  /** An earlier process brought files together as well, and not all of that may be known. */
  isRestored = false;

  /** The oldest first. */
  of(path: BytePath): readonly SyncPoint[] {
    return this.#all.get(path) ?? [];
  }

  /** The session's own file is followed from here. */
  set(path: BytePath, point: SyncPoint): void {
    this.#all.set(path, [point]);
  }

  /** The session's own file is gone, and commands see what the real tree has. */
  show(path: BytePath, point: SyncPoint): void {
    const [first, ...rest] = this.of(path);
    const kept = first === undefined ? [] : [first, ...rest.slice(-middlePointsMax)];
    this.#all.set(path, [...kept, point]);
  }

  /** Whether the layer hides what was merged. */
  hidesMerged(path: BytePath): boolean {
    const last = this.of(path).at(-1);
    return last !== undefined && !last.isShown && last.layer.sha256 !== last.real.sha256;
  }

  drop(path: BytePath): void {
    this.#all.delete(path);
  }

  /** As JSON, for a later process. */
  toJson(): SyncPointsJson {
    return [...this.#all];
  }

  restore(kept: SyncPointsJson): void {
    this.isRestored = true;
    for (const [path, points] of kept) this.#all.set(path, points);
  }

  clear(): void {
    this.isRestored = false;
    this.#all.clear();
  }
}
