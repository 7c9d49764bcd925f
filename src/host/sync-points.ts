/** What a session and the real tree had at a path when they were last brought together. */
import type { BytePath, StatKey } from '../change.ts';
import type { FileEntry } from '../workspace/merge/current-file.ts';

/** `any`: some of it, in any place; a time, Unix ms: what was added until then, from its start. */
export type SeenAppends = 'nothing' | 'any' | number;

export interface SyncPoint {
  /** Unix ms. */
  readonly at: number;
  /** What the session's own file had: what it has now is a delta against this. */
  readonly layer: FileEntry;
  /** What the real tree had with that delta in it. */
  readonly real: FileEntry;
  /** Of the real tree's file; `null`: another stands there now, and both are to be merged. */
  readonly realKey: StatKey | null;
  /** Somebody else's version shows through since: a file of the session begins anew. */
  readonly isShown: boolean;
  /** What somebody else added since that the session's file may have. */
  readonly maySee: SeenAppends;
}

export type SyncPointsJson = readonly (readonly [BytePath, readonly SyncPoint[]])[];

/** Of one path, besides the oldest and the newest. */
const versionsMax = 14;

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
    const kept = first === undefined ? [] : [first, ...rest.slice(-versionsMax)];
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
