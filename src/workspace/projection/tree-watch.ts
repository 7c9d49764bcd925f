/**
 * Detects whether anything in a tree changed since the last look, by any process.
 *
 * Every directory has an inotify watch (`fs.watch`). All watches of one event loop share one queue
 * in the order of events: the event of a *cookie* file in a private watched directory arrives after
 * the events of everything that happened before it.
 *
 * inotify does not report writes through a shared memory map, nor writes to a file by another name
 * outside the tree. Both change content in place, which an overlay shows at once anyway.
 */
import {
  closeSync,
  type FSWatcher,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  unlinkSync,
  utimesSync,
  watch,
} from 'node:fs';
import path from 'node:path';
import type { BytePath } from '../../change.ts';
import { joinPath } from '../byte-path.ts';
import {
  isInotifyReliable,
  isOutOfWatches,
  WatchedTree,
  type WatchLossReason,
} from './watched-tree.ts';

interface TreeWatchOptions {
  /** Directories watched at most; 65,536 by default. A tree with more is always `'all'`. */
  readonly directoriesMax?: number;
  /** A directory of this process, created (0700) if missing; must not be in the tree. */
  readonly cookieDir: string;
}

/**
 * `directories`: those in which an entry came, went, or changed, by their byte path (`''`: the
 * root), new directories below them included; or `'all'` where that is not known. `entries`: what
 * changed in them; `replaced`: those of them of which every entry may be another than before.
 */
export type TreeChanges =
  | { readonly changed: false }
  | {
      readonly changed: true;
      readonly directories: readonly BytePath[] | 'all';
      readonly entries: readonly BytePath[];
      readonly replaced: readonly BytePath[];
    };

/** One reader's place in what changes. */
export interface WatchCursor {
  /**
   * What changed since the last answer, or since the cursor was made; everything that was done
   * before this call is in the answer. Never fails: what is not known is `'all'`.
   */
  nextChanges(): Promise<TreeChanges>;
  close(): void;
}

interface TreeWatchStatus {
  readonly ready: boolean;
  readonly directories: number;
  /** Why every answer is `'all'`; `null` while the watch works. */
  readonly lost: WatchLossReason | null;
}

const directoriesMaxDefault = 65_536;
/** After so long a silence the queue is taken as lost. */
const cookieMsMax = 2_000;
/** Changed directories, and entries, a cursor remembers; more are `'all'`. */
const changedMax = 16_384;
const unchanged: TreeChanges = { changed: false };
const everything: TreeChanges = { changed: true, directories: 'all', entries: [], replaced: [] };

export class TreeWatch implements Disposable {
  readonly #root: string;
  readonly #tree: WatchedTree;
  readonly #cookies: Cookies;
  readonly #cursors = new Set<Cursor>();
  readonly #identity: string;
  #opening: Promise<void> = Promise.resolve();
  #ready = false;
  #lost: WatchLossReason | null = null;
  #burst = 0;
  #overflows = 0;
  readonly #burstMax = queueLength() / 2;

  private constructor(root: string, options: TreeWatchOptions) {
    this.#root = root;
    this.#identity = identityOf(root) ?? '';
    this.#cookies = new Cookies(options.cookieDir, () => this.#counted());
    this.#tree = new WatchedTree(root, {
      directoriesMax: options.directoriesMax ?? directoriesMaxDefault,
      onChange: (directory, name) => this.#mark(directory, name),
      onEvent: () => this.#counted(),
      onLost: (reason) => this.#lose(reason),
    });
  }

  /**
   * Begins to watch and returns at once; every answer is `'all'` until all is watched.
   *
   * @throws the system's error where `cookieDir` cannot be made or watched
   */
  static start(root: string, options: TreeWatchOptions): TreeWatch {
    const made = new TreeWatch(root, options);
    made.#opening = made.#open();
    return made;
  }

  /** Like {@link start}, and waits until everything is watched. */
  static async open(root: string, options: TreeWatchOptions): Promise<TreeWatch> {
    const made = TreeWatch.start(root, options);
    await made.ready();
    return made;
  }

  /** Resolves when all is watched, or it is known that it cannot be. */
  async ready(): Promise<void> {
    await this.#opening;
  }

  status(): TreeWatchStatus {
    return { ready: this.#ready, directories: this.#tree.size, lost: this.#lost };
  }

  cursor(): WatchCursor {
    const cursor = new Cursor();
    // What happened before the watch was complete is not known.
    if (!this.#ready) cursor.all = true;
    this.#cursors.add(cursor);
    return {
      nextChanges: async () => this.#settled(cursor),
      close: () => {
        this.#cursors.delete(cursor);
      },
    };
  }

  close(): void {
    this.#lost ??= 'closed';
    this.#tree.close();
    this.#cookies.close();
    this.#cursors.clear();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async #open(): Promise<void> {
    const deaf = isInotifyReliable(this.#root) ? null : 'file-system';
    if (this.#identity === '') this.#lose('root-changed');
    else if (deaf !== null) this.#lose(deaf);
    else if (!this.#cookies.isWatched) this.#lose('no-watches');
    else await this.#tree.fill();
    this.#ready = true;
  }

  async #settled(cursor: Cursor): Promise<TreeChanges> {
    if (this.#lost !== null || !this.#ready) return everything;
    const overflows = this.#overflows;
    if (!(await this.#cookies.passed()) && this.#overflows === overflows) this.#overflow();
    await this.#tree.settle();
    if (identityOf(this.#root) !== this.#identity) this.#lose('root-changed');
    return this.#isLost() ? everything : cursor.take();
  }

  /** A method, as the reason may come while something is waited for. */
  #isLost(): boolean {
    return this.#lost !== null;
  }

  #mark(directory: BytePath, name: string | null): void {
    for (const cursor of this.#cursors) cursor.add(directory, name);
  }

  /**
   * The kernel drops events of a full queue, and libuv does not say so. Full means that so many
   * came in one go; half of it is taken for full, as events of closed watches are not seen.
   */
  #counted(): void {
    if (this.#burst === 0) {
      setImmediate(() => {
        this.#burst = 0;
      });
    }
    this.#burst += 1;
    if (this.#burst === Math.floor(this.#burstMax)) this.#overflow();
  }

  #overflow(): void {
    this.#overflows += 1;
    for (const cursor of this.#cursors) cursor.all = true;
    // Their events may be among those that were dropped.
    this.#cookies.giveUp();
    this.#tree.refill();
  }

  #lose(reason: WatchLossReason): void {
    if (this.#lost !== null) return;
    this.#lost = reason;
    this.#tree.close();
  }
}

/** The changes that one reader has not received yet. */
class Cursor {
  all = false;
  readonly #changed = new Set<BytePath>();
  readonly #entries = new Set<BytePath>();
  readonly #replaced = new Set<BytePath>();

  add(directory: BytePath, name: string | null): void {
    if (this.all) return;
    this.#changed.add(directory);
    if (name === null) this.#replaced.add(directory);
    else this.#entries.add(joinPath(directory, name));
    if (Math.max(this.#changed.size, this.#entries.size) > changedMax) this.all = true;
  }

  take(): TreeChanges {
    const directories = [...this.#changed];
    const [entries, replaced] = [[...this.#entries], [...this.#replaced]];
    this.#changed.clear();
    this.#entries.clear();
    this.#replaced.clear();
    if (this.all) {
      this.all = false;
      return everything;
    }
    return directories.length === 0 ? unchanged : { changed: true, directories, entries, replaced };
  }
}

/** @throws the system's error, but for want of instances or watches */
function watchOrNull(directory: string, onEvent: (name: string | null) => void): FSWatcher | null {
  try {
    return watch(directory, { persistent: false }, (_type, name) => onEvent(name));
  } catch (error) {
    if (isOutOfWatches(error)) return null;
    throw error;
  }
}

/** Files whose events are waited for. */
class Cookies {
  readonly #directory: string;
  /** `null`: the system allows none. */
  readonly #watcher: FSWatcher | null;
  readonly #waiting = new Map<string, (passed: boolean) => void>();
  /** Files that no event is awaited of: a new one costs the file system many times as much. */
  readonly #free: string[] = [];
  readonly #prefix = `cookie-${process.pid}-${Math.random().toString(36).slice(2)}-`;
  #made = 0;
  #broken = false;

  constructor(directory: string, onEvent: () => void) {
    this.#directory = directory;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    this.#watcher = watchOrNull(directory, (name) => {
      onEvent();
      if (name !== null) this.#waiting.get(name)?.(true);
    });
    this.#watcher?.on('error', () => this.close());
    this.#broken = this.#watcher === null;
  }

  get isWatched(): boolean {
    return this.#watcher !== null;
  }

  /** Resolves when every event from before this call was handled; `false`: that is unknown. */
  async passed(): Promise<boolean> {
    if (this.#broken) return false;
    const used = this.#free.pop();
    const name = used ?? this.#newName();
    const file = path.join(this.#directory, name);
    return new Promise((resolve) => {
      const late = setTimeout(() => this.#waiting.get(name)?.(false), cookieMsMax);
      this.#waiting.set(name, (passed) => {
        clearTimeout(late);
        this.#waiting.delete(name);
        // A late event may still arrive: it must not answer another reader.
        if (passed) this.#free.push(name);
        else this.#remove(name);
        resolve(passed);
      });
      try {
        // Either is one event.
        if (used === undefined) closeSync(openSync(file, 'wx', 0o600));
        else utimesSync(file, 0, 0);
      } catch {
        this.#waiting.get(name)?.(false);
      }
    });
  }

  /** Answers all waiting readers that the state is unknown. */
  giveUp(): void {
    for (const answer of this.#waiting.values()) answer(false);
  }

  close(): void {
    this.#broken = true;
    this.#watcher?.close();
    this.giveUp();
    for (const name of this.#free.splice(0)) this.#remove(name);
  }

  #newName(): string {
    this.#made += 1;
    return `${this.#prefix}${this.#made}`;
  }

  #remove(name: string): void {
    try {
      unlinkSync(path.join(this.#directory, name));
    } catch {
      // The remover did what was necessary.
    }
  }
}

/** `null` where there is no directory. */
function identityOf(root: string): string | null {
  const stat = lstatSync(root, { bigint: true, throwIfNoEntry: false });
  return stat?.isDirectory() === true ? `${stat.dev}:${stat.ino}` : null;
}

/** Events that the kernel keeps for a reader. A watch made before a change of it has the older. */
function queueLength(): number {
  const least = 16_384;
  try {
    const set = Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'utf8'));
    return Number.isInteger(set) && set > 0 ? Math.min(set, least) : least;
  } catch {
    return least;
  }
}
