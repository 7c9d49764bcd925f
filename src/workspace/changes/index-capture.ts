/** Finds changes if commands write to the real tree itself, by comparing two scans. */
import { type BigIntStats, lstatSync } from 'node:fs';
import type { BytePath } from '../../change.ts';
import type { ContentStore } from '../../content-store.ts';
import { baseNameOf, errnoCodeOf, parentPathOf } from '../byte-path.ts';
import {
  isRecentWrite,
  matchesQuickKey,
  permissionsOf,
  quickKey,
  type QuickKey,
  statKey,
} from '../stat.ts';
import { WorkPacer } from '../time-slices.ts';
import type { CapturedChange, CaptureResult, ChangeCapture } from './capture.ts';
import { changeKindOf } from './change-kind.ts';
import { CaptureBudget, type ObservedEntry, observeEntry, readEntry } from './entries.ts';
import { changeMarksOf } from './layer-comparison.ts';
import { capturedPathBytesMax } from './layer-survey.ts';
import { holdsForAncestor, sortInTreeOrder } from './ledger.ts';
import { TreeCursor } from './tree-cursor.ts';

/** What is read of the tree when a session begins, so that `before` is known. */
interface IndexBudget {
  /** Bytes of the largest file that is kept. Default 1 MiB. */
  readonly fileBytesMax: number;
  /** Bytes of all. Default 64 MiB. */
  readonly bytesMax: number;
  /** Default 20,000. */
  readonly filesMax: number;
}

interface IndexCaptureOptions {
  /** The real tree: absolute, without a link in it. */
  readonly root: string;
  readonly contents: ContentStore;
  /** Entries that a scan looks at; beyond, captures are not `complete`. */
  readonly entriesMax: number;
  readonly budget?: IndexBudget;
}

const indexBudget: IndexBudget = {
  fileBytesMax: 1024 * 1024,
  bytesMax: 64 * 1024 * 1024,
  filesMax: 20_000,
};

interface Known extends ObservedEntry {
  readonly isFresh: boolean;
  /** Made at the first look. */
  quick: QuickKey | null;
  /** The number of the last scan that met it. */
  seenBy: number;
}

interface Scan {
  readonly cursor: TreeCursor;
  readonly pace: WorkPacer;
  readonly skipped: BytePath[];
  entries: number;
}

/** What to do with an entry where the cursor is; answers whether it is a directory. */
type Visit = (scan: Scan, path: BytePath, name: string) => boolean | Promise<boolean>;

/**
 * A capture costs one `lstat` for each entry of the tree. Known contents are compared as soon as
 * any of mtime, ctime, size, inode and mode differs; if the old content is unknown, that alone is
 * reported as `modified`, marked `before-unknown`. Modes are never widened here, so a directory
 * that this process cannot read is `skipped`. Otherwise as exact as `OverlayCapture`.
 */
export class IndexCapture implements ChangeCapture {
  readonly #options: IndexCaptureOptions;
  readonly #index = new Map<BytePath, Known>();
  #number = 0;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(options: IndexCaptureOptions) {
    this.#options = options;
  }

  /** Looks at the whole tree, and keeps what its budget lets it. */
  static async open(options: IndexCaptureOptions): Promise<IndexCapture> {
    const capturing = new IndexCapture(options);
    await capturing.#open();
    return capturing;
  }

  capture(): Promise<CaptureResult> {
    const work = (): Promise<CaptureResult> => this.#capture();
    const mine = this.#last.then(work, work);
    this.#last = mine.catch(() => null);
    return mine;
  }

  async #open(): Promise<void> {
    const { contents, budget = indexBudget } = this.#options;
    const keeping = { contents, allowance: new CaptureBudget() };
    let bytes = 0;
    let files = 0;
    this.#keep('', ownStanding(this.#options.root));
    await this.#scan(async ({ cursor }, path, name) => {
      const stat = cursor.stat(name);
      if (stat === null) return false;
      const size = Number(stat.size);
      const isFile = stat.isFile();
      const isRead =
        isFile &&
        files < budget.filesMax &&
        size <= Math.min(budget.fileBytesMax, budget.bytesMax - bytes);
      if (isRead) {
        files += 1;
        bytes += size;
      }
      const stood = isRead
        ? await readEntry(cursor, name, stat, keeping)
        : observeEntry(cursor, name, stat);
      if (stood !== null) this.#keep(path, stood);
      return stat.isDirectory();
    });
  }

  async #capture(): Promise<CaptureResult> {
    const changes = new Map<BytePath, CapturedChange>();
    const keeping = { contents: this.#options.contents, allowance: new CaptureBudget() };
    const compare = async (cursor: TreeCursor, path: BytePath, stat: BigIntStats) => {
      const now = await readEntry(cursor, baseNameOf(path), stat, keeping);
      if (now !== null) this.#compare(path, now, changes);
    };
    this.#number += 1;
    const visit: Visit = async ({ cursor }, path, name) => {
      const known = this.#index.get(path);
      if (known !== undefined) {
        known.seenBy = this.#number;
        known.quick ??= quickKey(known.key);
        const stat = cursor.quickStat(name);
        const isAsKnown = stat !== null && !known.isFresh && matchesQuickKey(known.quick, stat);
        if (isAsKnown) return stat.isDirectory();
      }
      const stat = cursor.stat(name);
      if (stat === null) {
        // Deleted between the listing and this look: reported as deleted below.
        if (known !== undefined) known.seenBy -= 1;
        return false;
      }
      await compare(cursor, path, stat);
      return stat.isDirectory();
    };
    this.#compare('', ownStanding(this.#options.root), changes);
    const { skipped, isCut } = await this.#scan(visit);
    const isBelowSkipped = holdsForAncestor((path) => skipped.includes(path));
    using cursor = new TreeCursor(this.#options.root, { mayWiden: false });
    for (const [path, known] of this.#index) {
      if (known.seenBy === this.#number || isBelowSkipped(path)) continue;
      // An incomplete scan shows nothing of the part that it did not reach.
      const stat =
        isCut && cursor.goto(parentPathOf(path)) === 'here' ? cursor.stat(baseNameOf(path)) : null;
      if (stat === null) this.#delete(path, known, changes);
      else await compare(cursor, path, stat);
    }
    const paths = await sortInTreeOrder(changes.keys(), new WorkPacer());
    const ordered = paths.flatMap((path) => changes.get(path) ?? []);
    return { changes: ordered, complete: !isCut && skipped.length === 0, skipped };
  }

  /** Everything up to the bound, directories before what is in them. */
  async #scan(visit: Visit): Promise<{ skipped: BytePath[]; isCut: boolean }> {
    using cursor = new TreeCursor(this.#options.root, { mayWiden: false });
    const scan: Scan = { cursor, pace: new WorkPacer(), skipped: [], entries: 0 };
    const waiting: BytePath[] = [''];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      const entered = cursor.goto(path);
      if (entered === 'closed') scan.skipped.push(path);
      if (entered !== 'here') continue;
      const directories: BytePath[] = [];
      for (const name of await cursor.names()) {
        if (scan.entries >= this.#options.entriesMax) return { skipped: scan.skipped, isCut: true };
        scan.entries += 1;
        if (scan.pace.isDue()) await scan.pace.rest();
        const child = path === '' ? name : `${path}/${name}`;
        if (!(await this.#visited(visit, scan, child, name))) continue;
        (child.length > capturedPathBytesMax ? scan.skipped : directories).push(child);
      }
      for (const directory of directories.toReversed()) waiting.push(directory);
    }
    return { skipped: scan.skipped, isCut: false };
  }

  async #visited(visit: Visit, scan: Scan, path: BytePath, name: string): Promise<boolean> {
    try {
      return await visit(scan, path, name);
    } catch (error) {
      // A directory that may be listed and not entered.
      if (!isDenied(error)) throw error;
      const directory = parentPathOf(path);
      if (scan.skipped.at(-1) !== directory) scan.skipped.push(directory);
      return false;
    }
  }

  #compare(path: BytePath, now: ObservedEntry, changes: Map<BytePath, CapturedChange>): void {
    const { contents, root } = this.#options;
    const known = this.#index.get(path);
    const before = known?.entry ?? null;
    this.#keep(path, now);
    const kind = changeKindOf(before, now.entry, known?.owner === now.owner);
    if (kind === null) return;
    changes.set(path, {
      ...notOfLayers,
      path,
      kind,
      before,
      after: now.entry,
      marks: changeMarksOf(before, now.entry, contents),
      base: now.entry,
      baseKey: now.key,
      baseCtimeNs: now.ctimeNs,
      sourceAt: now.entry.type === 'file' ? { tree: root, path } : null,
    });
  }

  #delete(path: BytePath, known: Known, changes: Map<BytePath, CapturedChange>): void {
    this.#index.delete(path);
    changes.set(path, {
      ...notOfLayers,
      path,
      kind: 'deleted',
      before: known.entry,
      after: null,
      marks: changeMarksOf(known.entry, null, this.#options.contents),
      base: null,
      baseKey: null,
      baseCtimeNs: null,
      sourceAt: null,
    });
  }

  #keep(path: BytePath, stood: ObservedEntry): void {
    const isFresh = stood.entry.type === 'file' && isRecentWrite(stood.ctimeNs);
    this.#index.set(path, { ...stood, isFresh, quick: null, seenBy: this.#number });
  }
}

const notOfLayers = {
  isCopyUp: false,
  isMasked: false,
  hasMaskedBelow: false,
  upperKey: null,
} as const;

/** The tree's own directory. */
function ownStanding(root: string): ObservedEntry {
  const stat = lstatSync(root, { bigint: true });
  const entry = { type: 'directory', mode: permissionsOf(stat) } as const;
  const owner = `${stat.uid}:${stat.gid}`;
  return { entry, key: statKey(stat), ctimeNs: stat.ctimeNs, owner, links: Number(stat.nlink) };
}

function isDenied(error: unknown): boolean {
  return errnoCodeOf(error) === 'EACCES';
}
