/** One watch for each directory of a tree, kept complete while directories come and go. */
import { type FSWatcher, statfsSync, watch } from 'node:fs';
import type { BytePath } from '../../change.ts';
import { errnoCodeOf } from '../byte-path.ts';
import { TimeSlices } from '../time-slices.ts';
import { OpenDirectory } from './open-directory.ts';

/**
 * `no-watches`: the system allows no more of them. `file-system`: some of it changes without
 * events. `root-changed`: the root was replaced or removed.
 */
export type WatchLossReason =
  | 'too-many-directories'
  | 'no-watches'
  | 'file-system'
  | 'root-changed'
  | 'failed'
  | 'closed';

interface WatchedTreeOptions {
  readonly directoriesMax: number;
  /**
   * The entry `name` of this directory changed; `null`: any of them may have, or it is another
   * directory than before. Must not throw.
   */
  readonly onChange: (directory: BytePath, name: string | null) => void;
  /** Called with any event. Must not throw. */
  readonly onEvent: () => void;
  /** Not everything is watched any more, and will not be. Must not throw. */
  readonly onLost: (reason: WatchLossReason) => void;
}

/** A watched directory; one without a watcher cannot be read, so its entries may change unseen. */
interface Watched {
  readonly parent: Watched | null;
  readonly name: string;
  watcher: FSWatcher | null;
  /** By name; `null` until there is one. */
  children: Map<string, Watched> | null;
}

/** The entries of a directory to check again; `all`: every entry. */
type Again = Set<string> | 'all';

export class WatchedTree {
  readonly #root: string;
  readonly #options: WatchedTreeOptions;
  #top: Watched = { parent: null, name: '', watcher: null, children: null };
  /** Known devices, and whether their link counts show subdirectories. */
  readonly #devices = new Map<bigint, boolean>();
  readonly #again = new Map<Watched, Again>();
  readonly #blind = new Set<Watched>();
  #work: Promise<void> = Promise.resolve();
  /** Resolves when all events so far were handled. */
  #soon: NodeJS.Immediate | null = null;
  #size = 0;
  #isClosed = false;

  constructor(root: string, options: WatchedTreeOptions) {
    this.#root = root;
    this.#options = options;
  }

  /** Directories with a watch. */
  get size(): number {
    return this.#size;
  }

  /** Watches everything for the first time. */
  async fill(): Promise<void> {
    this.#enqueue(async () => this.#open(this.#top, false));
    await this.settle();
  }

  /** Looks at everything again, because events were lost. */
  refill(): void {
    this.#enqueue(async () => {
      this.#drop(this.#top);
      this.#top = { parent: null, name: '', watcher: null, children: null };
      await this.#open(this.#top, true);
    });
  }

  /** Resolves when every event that was handled has had its consequences. */
  async settle(): Promise<void> {
    let seen: Promise<void>;
    do {
      this.#lookNow();
      seen = this.#work;
      await seen;
    } while (seen !== this.#work || this.#soon !== null);
    for (const one of this.#blind) this.#options.onChange(pathOf(one), null);
  }

  close(): void {
    this.#isClosed = true;
    if (this.#soon !== null) clearImmediate(this.#soon);
    this.#soon = null;
    this.#drop(this.#top);
    this.#again.clear();
    this.#devices.clear();
  }

  #enqueue(work: () => Promise<void>): void {
    this.#work = this.#work.then(work).catch(() => this.#options.onLost('failed'));
  }

  #event(watched: Watched, type: string, name: Buffer | null): void {
    this.#options.onEvent();
    if (this.#isClosed || this.#isReplaced(watched)) return;
    const child = name?.toString('latin1');
    this.#options.onChange(pathOf(watched), child ?? null);
    // A change of modes may open what could not be read.
    if (type === 'change' && child !== undefined && !this.#isBlindAt(watched, child)) return;
    const again = this.#again.get(watched) ?? new Set<string>();
    if (child === undefined) this.#again.set(watched, 'all');
    else if (again !== 'all') this.#again.set(watched, again.add(child));
    // What is done to one file is several events: it is looked at once.
    this.#soon ??= setImmediate(() => this.#lookNow());
  }

  #lookNow(): void {
    if (this.#soon === null) return;
    clearImmediate(this.#soon);
    this.#soon = null;
    this.#enqueue(async () => this.#lookAgain());
  }

  /** It or a parent was created, removed or moved: the current content is read again as a whole. */
  #isReplaced(watched: Watched): boolean {
    if (this.#again.size === 0) return false;
    for (let at = watched; at.parent !== null; at = at.parent) {
      const again = this.#again.get(at.parent);
      if (again === 'all' || again?.has(at.name) === true) return true;
    }
    return false;
  }

  #isBlindAt(watched: Watched, name: string): boolean {
    const child = watched.children?.get(name);
    return child !== undefined && child.watcher === null;
  }

  async #lookAgain(): Promise<void> {
    const batch = [...this.#again];
    this.#again.clear();
    for (const [watched, names] of batch) {
      // Closed meanwhile: what took its place was looked at as a whole.
      if (watched.watcher !== null) await this.#reopen(watched, names);
    }
  }

  async #reopen(watched: Watched, names: Again): Promise<void> {
    const known = names === 'all' ? [...(watched.children?.keys() ?? [])] : names;
    for (const name of known) {
      const child = watched.children?.get(name);
      if (child === undefined) continue;
      this.#drop(child);
      watched.children?.delete(name);
    }
    const found = this.#directoriesAmong(watched, names);
    for (const name of found) await this.#open(adopt(watched, name), true);
  }

  /** Those of `names` that are directories now; none where the directory itself is gone. */
  #directoriesAmong(watched: Watched, names: Again): string[] {
    try {
      using directory = OpenDirectory.open(this.#root, pathOf(watched));
      if (names === 'all') return subdirectories(directory);
      return [...names].filter((name) => {
        try {
          return directory.look(name)?.isDirectory() === true;
        } catch {
          return false;
        }
      });
    } catch {
      // Its parent has an event of its own; where this is the root, its identity is looked at.
      return [];
    }
  }

  /** Watches a directory and all below it, breadth first. */
  async #open(first: Watched, isNews: boolean): Promise<void> {
    const queue = [first];
    const slices = new TimeSlices();
    for (const watched of queue) {
      if (slices.isOver) await slices.yieldTurn();
      if (this.#isClosed) return;
      const children = this.#watch(watched);
      if (isNews) this.#options.onChange(pathOf(watched), null);
      for (const name of children) queue.push(adopt(watched, name));
    }
  }

  /** Watches one directory; the names of its directories, read after the watch was set. */
  #watch(watched: Watched): string[] {
    if (this.#size >= this.#options.directoriesMax) {
      this.#options.onLost('too-many-directories');
      return [];
    }
    try {
      using directory = OpenDirectory.open(this.#root, pathOf(watched));
      const options = { persistent: false, encoding: 'buffer' } as const;
      const watcher = watch(directory.self, options, (type, name) => {
        this.#event(watched, type, name);
      });
      watched.watcher = watcher;
      this.#size += 1;
      watcher.on('error', () => this.#options.onLost('failed'));
      const stat = directory.stat();
      const isLeaf = this.#countsOn(stat.dev, directory) && stat.nlink === 2n;
      return isLeaf ? [] : subdirectories(directory);
    } catch (error) {
      this.#failed(watched, error);
      return [];
    }
  }

  #countsOn(device: bigint, directory: OpenDirectory): boolean {
    const known = this.#devices.get(device);
    if (known !== undefined) return known;
    if (!isInotifyReliable(directory.self)) this.#options.onLost('file-system');
    const counts = linksCountDirectories(directory.self);
    this.#devices.set(device, counts);
    return counts;
  }

  #failed(watched: Watched, error: unknown): void {
    const code = errnoCodeOf(error);
    switch (code) {
      case 'ENOENT':
      case 'ENOTDIR':
      case 'ELOOP':
        // Gone again, of which its parent has an event.
        if (watched.parent === null) this.#options.onLost('root-changed');
        else watched.parent.children?.delete(watched.name);
        return;
      case 'EACCES':
      case 'EPERM':
        if (watched.parent === null) this.#options.onLost('failed');
        else this.#blind.add(watched);
        return;
      default:
        this.#options.onLost(isOutOfWatches(error) ? 'no-watches' : 'failed');
    }
  }

  #drop(first: Watched): void {
    const stack = [first];
    for (let watched = stack.pop(); watched !== undefined; watched = stack.pop()) {
      if (watched.watcher !== null) {
        watched.watcher.close();
        this.#size -= 1;
        watched.watcher = null;
      }
      this.#blind.delete(watched);
      this.#again.delete(watched);
      stack.push(...(watched.children?.values() ?? []));
      watched.children = null;
    }
  }
}

/** All that a user may have are in use. */
export const isOutOfWatches = (error: unknown): boolean =>
  ['ENOSPC', 'EMFILE'].includes(errnoCodeOf(error) ?? '');

function adopt(parent: Watched, name: string): Watched {
  const child: Watched = { parent, name, watcher: null, children: null };
  parent.children ??= new Map();
  parent.children.set(name, child);
  return child;
}

function pathOf(watched: Watched): BytePath {
  const parts: string[] = [];
  for (let at = watched; at.parent !== null; at = at.parent) parts.push(at.name);
  return parts.length === 1 ? (parts[0] ?? '') : parts.toReversed().join('/');
}

function subdirectories(directory: OpenDirectory): string[] {
  return directory
    .entries()
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name.toString('latin1'));
}

// What is known of file systems by their `statfs` type.

/**
 * File systems whose every change goes through this kernel, so that inotify reports it. Others
 * (NFS, 9p, FUSE, virtiofs, CIFS) change without an event.
 */
const local: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x58_46_53_42, // xfs
  0x91_23_68_3e, // btrfs
  0xf2_f5_20_10, // f2fs
  0x01_02_19_94, // tmpfs
  0x85_84_58_f6, // ramfs
  0x2f_c1_2f_c1, // zfs
  0xca_45_1a_4e, // bcachefs
  0x4d44, // vfat
  0x20_11_ba_b0, // exfat
  0x79_4c_76_30, // overlayfs
  0x31_53_46_4a, // jfs
  0x52_65_49_73, // reiserfs
  0x34_34, // nilfs2
]);

/** Where a directory has two links and one more for each directory in it. */
const countsDirectories: ReadonlySet<number> = new Set([0xef53, 0x58_46_53_42, 0x01_02_19_94]);

function typeOf(name: string): number | null {
  try {
    // Types come as signed 32 bits from some kernels.
    return statfsSync(name).type >>> 0;
  } catch {
    return null;
  }
}

/** Whether inotify reports every change on the file system of `name`. */
export function isInotifyReliable(name: string): boolean {
  const type = typeOf(name);
  return type !== null && local.has(type);
}

/** Whether two links mean that a directory holds no directory. */
function linksCountDirectories(name: string): boolean {
  const type = typeOf(name);
  return type !== null && countsDirectories.has(type);
}
