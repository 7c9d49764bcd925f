/** Changes where commands write to the real tree itself: two scans, held against each other. */
import { lstatSync } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import type { BytePath } from '../../change.ts';
import type { Contents } from '../../contents.ts';
import { nameOf, parentOf } from '../byte-path.ts';
import { isFreshly, matches, modeOf, quickKey, statKey, type QuickKey } from '../stat.ts';
import { codeOf } from '../descriptor.ts';
import { Allowance } from './allowance.ts';
import type { Capture, Captured, ChangeCapture } from './captured.ts';
import { marksOf } from './comparison.ts';
import { kindOf } from './compare.ts';
import { TreeCursor } from './cursor.ts';
import { readStanding, standing, type Standing } from './entries.ts';
import { inherited, inTreeOrder } from './ledger.ts';
import { Pace } from './pace.ts';
import { pathBytesMax } from './survey.ts';

/** What is read of the tree when a session begins, so that `before` is known. */
export interface IndexBudget {
  /** Bytes of the largest file that is kept. Default 1 MiB. */
  readonly fileBytesMax: number;
  /** Bytes of all. Default 64 MiB. */
  readonly bytesMax: number;
  /** Default 20,000. */
  readonly filesMax: number;
}

export interface IndexOptions {
  /** The real tree: absolute, without a link in it. */
  readonly root: string;
  readonly contents: Contents;
  /** Entries that a scan looks at; beyond, captures are not `complete`. */
  readonly entriesMax: number;
  readonly budget?: IndexBudget;
}

const indexBudget: IndexBudget = {
  fileBytesMax: 1024 * 1024,
  bytesMax: 64 * 1024 * 1024,
  filesMax: 20_000,
};

interface Known extends Standing {
  readonly isFresh: boolean;
  /** Made at the first look. */
  quick: QuickKey | null;
  /** The number of the last scan that met it. */
  seenBy: number;
}

interface Scan {
  readonly cursor: TreeCursor;
  readonly pace: Pace;
  readonly skipped: BytePath[];
  entries: number;
}

/** What to do with an entry where the cursor is; answers whether it is a directory. */
type Visit = (scan: Scan, path: BytePath, name: string) => boolean | Promise<boolean>;

/**
 * A capture costs one `lstat` an entry of the tree. Contents are compared, where they are known, as
 * soon as any of mtime, ctime, size, inode and mode moved; where the old one is not known, that
 * alone is told as `modified`, marked `before-unknown`. Modes are never widened here, so what
 * keeps this process out is `skipped`. Otherwise exact as `UpperCapture` is.
 */
export class IndexCapture implements ChangeCapture {
  readonly #options: IndexOptions;
  readonly #index = new Map<BytePath, Known>();
  #number = 0;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(options: IndexOptions) {
    this.#options = options;
  }

  /** Looks at the whole tree, and keeps what its budget lets it. */
  static async open(options: IndexOptions): Promise<IndexCapture> {
    const capturing = new IndexCapture(options);
    await capturing.#open();
    return capturing;
  }

  capture(): Promise<Capture> {
    const work = (): Promise<Capture> => this.#capture();
    const mine = this.#last.then(work, work);
    this.#last = mine.catch(() => null);
    return mine;
  }

  async #open(): Promise<void> {
    const { contents, budget = indexBudget } = this.#options;
    const keeping = { contents, allowance: new Allowance() };
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
        ? await readStanding(cursor, name, stat, keeping)
        : standing(cursor, name, stat);
      if (stood !== null) this.#keep(path, stood);
      return stat.isDirectory();
    });
  }

  async #capture(): Promise<Capture> {
    const changes = new Map<BytePath, Captured>();
    const keeping = { contents: this.#options.contents, allowance: new Allowance() };
    const compare = async (cursor: TreeCursor, path: BytePath, stat: BigIntStats) => {
      const now = await readStanding(cursor, nameOf(path), stat, keeping);
      if (now !== null) this.#compare(path, now, changes);
    };
    this.#number += 1;
    const visit: Visit = async ({ cursor }, path, name) => {
      const known = this.#index.get(path);
      if (known !== undefined) {
        known.seenBy = this.#number;
        known.quick ??= quickKey(known.key);
        const stat = cursor.quickStat(name);
        const isAsKnown = stat !== null && !known.isFresh && matches(known.quick, stat);
        if (isAsKnown) return stat.isDirectory();
      }
      const stat = cursor.stat(name);
      if (stat === null) {
        // Gone between its name and this look: told as deleted below.
        if (known !== undefined) known.seenBy -= 1;
        return false;
      }
      await compare(cursor, path, stat);
      return stat.isDirectory();
    };
    this.#compare('', ownStanding(this.#options.root), changes);
    const { skipped, isCut } = await this.#scan(visit);
    const isBelowSkipped = inherited((path) => skipped.includes(path));
    using cursor = new TreeCursor(this.#options.root, { mayWiden: false });
    for (const [path, known] of this.#index) {
      if (known.seenBy === this.#number || isBelowSkipped(path)) continue;
      // A scan that was cut short says nothing of what it did not come to.
      const stat =
        isCut && cursor.goto(parentOf(path)) === 'here' ? cursor.stat(nameOf(path)) : null;
      if (stat === null) this.#delete(path, known, changes);
      else await compare(cursor, path, stat);
    }
    const paths = await inTreeOrder(changes.keys(), new Pace());
    const ordered = paths.flatMap((path) => changes.get(path) ?? []);
    return { changes: ordered, complete: !isCut && skipped.length === 0, skipped };
  }

  /** Everything up to the bound, directories before what is in them. */
  async #scan(visit: Visit): Promise<{ skipped: BytePath[]; isCut: boolean }> {
    using cursor = new TreeCursor(this.#options.root, { mayWiden: false });
    const scan: Scan = { cursor, pace: new Pace(), skipped: [], entries: 0 };
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
        (child.length > pathBytesMax ? scan.skipped : directories).push(child);
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
      const directory = parentOf(path);
      if (scan.skipped.at(-1) !== directory) scan.skipped.push(directory);
      return false;
    }
  }

  #compare(path: BytePath, now: Standing, changes: Map<BytePath, Captured>): void {
    const { contents, root } = this.#options;
    const known = this.#index.get(path);
    const before = known?.entry ?? null;
    this.#keep(path, now);
    const kind = kindOf(before, now.entry, known?.owner === now.owner);
    if (kind === null) return;
    changes.set(path, {
      ...notOfLayers,
      path,
      kind,
      before,
      after: now.entry,
      marks: marksOf(before, now.entry, contents),
      base: now.entry,
      baseKey: now.key,
      baseCtimeNs: now.ctimeNs,
      sourceAt: now.entry.type === 'file' ? { tree: root, path } : null,
    });
  }

  #delete(path: BytePath, known: Known, changes: Map<BytePath, Captured>): void {
    this.#index.delete(path);
    changes.set(path, {
      ...notOfLayers,
      path,
      kind: 'deleted',
      before: known.entry,
      after: null,
      marks: marksOf(known.entry, null, this.#options.contents),
      base: null,
      baseKey: null,
      baseCtimeNs: null,
      sourceAt: null,
    });
  }

  #keep(path: BytePath, stood: Standing): void {
    const isFresh = stood.entry.type === 'file' && isFreshly(stood.ctimeNs);
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
function ownStanding(root: string): Standing {
  const stat = lstatSync(root, { bigint: true });
  const entry = { type: 'directory', mode: modeOf(stat) } as const;
  const owner = `${stat.uid}:${stat.gid}`;
  return { entry, key: statKey(stat), ctimeNs: stat.ctimeNs, owner, links: Number(stat.nlink) };
}

function isDenied(error: unknown): boolean {
  return codeOf(error) === 'EACCES';
}
