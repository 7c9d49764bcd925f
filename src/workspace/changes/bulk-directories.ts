/**
 * Directories of thousands of entries that appear or disappear, as package managers and builds make
 * them: while commands run they wait, and at the end each is captured as one change and moved in
 * one step.
 */
import type { Dirent } from 'node:fs';
import type { BytePath } from '../../change.ts';
import { baseNameOf, parentPathOf } from '../byte-path.ts';
import type { TreeCursor } from './tree-cursor.ts';
import type { FirstSeen, DeferredPaths, RecentWrites } from './recent-writes.ts';

/** `parts`: path by path. `wait`: not yet. `whole`: as one, without what is in it. */
export type BulkDirectoryMode = 'parts' | 'wait' | 'whole';

/** The number of entries from which a directory waits while it may still grow. */
const waitingMin = 1_000;
/** So many of a directory have to be gone, from which on it may be about to go. */
const goneMin = 100;
/**
 * The number of entries that makes it one change: of a package manager or a build, or any other.
 */
const [packagesMin, entriesMin] = [1_000, 5_000];
/** No longer does it wait: a command that serves what it built runs on. */
const waitingNsMax = 60_000_000_000n;
const packages: ReadonlySet<string> = new Set(
  'node_modules bower_components jspm_packages target .venv venv .tox vendor Pods .gradle'.split(
    ' ',
  ),
);

interface BulkDirectoriesContext {
  readonly how: Exclude<BulkDirectoryMode, 'parts'>;
  readonly upper: TreeCursor;
  readonly real: TreeCursor;
  readonly recentWrites: RecentWrites | null;
  /** The paths that wait since the previous capture. */
  readonly before: DeferredPaths;
  readonly nowNs: bigint;
  /** Unix ns: with `wait`, what was made later is of a command that has ended. */
  readonly endedNs: bigint | null;
}

export class BulkDirectories {
  /** Captured as one change. */
  readonly found: BytePath[] = [];
  readonly deferred = new Map<BytePath, FirstSeen>();
  readonly #context: BulkDirectoriesContext;

  constructor(context: BulkDirectoriesContext) {
    this.#context = context;
  }

  /** Whether what is in a new directory is not to be looked at. */
  skips(path: BytePath): boolean {
    const { how, recentWrites: young, before, nowNs } = this.#context;
    if (how === 'wait') {
      if (this.#isOfEnded(path) || !this.#mayWait(path)) return false;
      young?.defer(path);
      this.deferred.set(path, before.get(path) ?? { key: null, ns: nowNs });
      return true;
    }
    const min = packages.has(baseNameOf(path)) ? packagesMin : entriesMin;
    if (!this.#isNew(path) || !has(this.#context.upper, path, min)) return false;
    this.found.push(path);
    return true;
  }

  /** Whether what was in a directory of the real tree that is gone is not to be looked at. */
  skipsRemoved(path: BytePath): boolean {
    const { how, real } = this.#context;
    const min = packages.has(baseNameOf(path)) ? packagesMin : entriesMin;
    if (how !== 'whole' || !has(real, path, min)) return false;
    this.found.push(path);
    return true;
  }

  /** Whether a command that has ended may have made it: then it is captured. */
  #isOfEnded(path: BytePath): boolean {
    const { upper, before, endedNs } = this.#context;
    if (endedNs === null) return false;
    if (!before.has(path) || upper.goto(parentPathOf(path)) !== 'here') return true;
    const stat = upper.stat(baseNameOf(path));
    return stat === null || stat.birthtimeNs >= endedNs;
  }

  #mayWait(path: BytePath): boolean {
    const { before, nowNs } = this.#context;
    const since = before.get(path)?.ns;
    if (since !== undefined && nowNs - since > waitingNsMax) return false;
    // After its first capture it is captured path by path: that of a package manager waits from the
    // beginning.
    if (packages.has(baseNameOf(path))) return true;
    return this.#isNew(path)
      ? has(this.#context.upper, path, waitingMin)
      : has(this.#context.upper, path, goneMin, (entry) => entry.isCharacterDevice());
  }

  /** Whether the real tree has the directory above, and nothing there. */
  #isNew(path: BytePath): boolean {
    const { real } = this.#context;
    try {
      return real.goto(parentPathOf(path)) === 'here' && real.stat(baseNameOf(path)) === null;
    } catch {
      return false;
    }
  }
}

/** Whether a directory has so many entries, at any depth; no more of them are looked at. */
function has(
  cursor: TreeCursor,
  top: BytePath,
  min: number,
  counts: (entry: Dirent) => boolean = () => true,
): boolean {
  let count = 0;
  const open: BytePath[] = [top];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (cursor.goto(path) !== 'here') return false;
    for (const entry of cursor.entries()) {
      if (counts(entry) && ++count >= min) return true;
      if (entry.isDirectory()) open.push(`${path}/${entry.name}`);
    }
  }
  return false;
}
