/**
 * Where contents and records of changes are kept. A store belongs to one process; a runtime that
 * finds the first one taken takes the next, and reads those that nobody has.
 *
 *   snapshots/key          of all of them
 *   snapshots/0/lock       held by the process whose store it is
 *   snapshots/0/removed    directories that commands removed as one
 *   snapshots/0/…          the store
 */
import { closeSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { BytePath, StatKey } from '../change.ts';
import { fieldOf } from '../json-shape.ts';
import type { ExecId } from '../command.ts';
import type { ContentStore } from '../content-store.ts';
import { TrlError } from '../errors.ts';
import { limits } from '../limits.ts';
import { originalsRetentionMs } from '../snapshot/retention.ts';
import { SnapshotStore } from '../snapshot/store.ts';
import { type AtomicRenames, openStaging } from '../workspace/commit/atomic-renames.ts';
import type { CommitIntent, ItemResult } from '../workspace/commit/commit-item.ts';
import { isEqualEntry } from '../workspace/commit/entry-match.ts';
import { recoverCommit } from '../workspace/commit/recover.ts';
import { GitTransaction } from '../workspace/git-sync/transaction.ts';
import {
  type ChangeRecord,
  isChangeRecord,
  type RecordedChange,
  recordedContents,
  recordKinds,
} from './change-record.ts';

const storesMax = 32;

interface SnapshotStoresOptions {
  /** Private to the user. */
  readonly directory: string;
  readonly renames: AtomicRenames;
  /** Called when the first store is opened and `directory` exists. */
  readonly key: () => Uint8Array;
  /** Must not throw. */
  readonly log: (text: string) => void;
}

interface Taken {
  readonly store: SnapshotStore;
  readonly lock: DatabaseSync;
  readonly kept: RemovedDirectories;
}

export class SnapshotStores {
  readonly #options: SnapshotStoresOptions;
  readonly #taken = new Map<number, Taken>();
  #own: Promise<SnapshotStore> | null = null;

  constructor(options: SnapshotStoresOptions) {
    this.#options = options;
  }

  /** The one that this process writes. @throws TrlError `BACKEND_UNAVAILABLE` where none is free */
  own(): Promise<SnapshotStore> {
    this.#own ??= this.#openOwn().catch((error: unknown) => {
      this.#own = null;
      throw error;
    });
    return this.#own;
  }

  /** Finishes commits that were begun; where nothing was ever kept, nothing is made. */
  async recover(): Promise<void> {
    if (existsSync(this.#options.directory)) await this.all();
  }

  /** Forgets what was followed for sessions that are not among `kept`. */
  async dropSync(kept: ReadonlySet<string>): Promise<void> {
    if (!existsSync(this.#options.directory)) return;
    for (const store of await this.all()) {
      for (const id of store.ids(recordKinds.sync)) {
        if (!kept.has(id)) store.drop(recordKinds.sync, id);
      }
    }
  }

  /** What a store's records removed as one. */
  removedDirectoriesOf(store: SnapshotStore): RemovedDirectories {
    const taken = [...this.#taken.values()].find((one) => one.store === store);
    if (taken === undefined) throw new TrlError('INTERNAL_ERROR', 'Cannot find a store: closed');
    return taken.kept;
  }

  /** Its own store and every other free one that has content of an earlier process. */
  async all(): Promise<SnapshotStore[]> {
    await this.own();
    for (const name of readdirSync(this.#options.directory)) {
      if (/^\d+$/.test(name)) await this.#take(Number(name));
    }
    return [...this.#taken.values()].map(({ store }) => store);
  }

  /** Every record of changes, in no order. */
  async records(): Promise<ChangeRecord[]> {
    const stores = await this.all();
    const found = stores.flatMap((store) => [...store.records(recordKinds.changes)]);
    return found.map(({ value }) => value).filter(isChangeRecord);
  }

  /** Contents of all of them. */
  async contents(): Promise<Pick<ContentStore, 'has' | 'read'>> {
    const stores = await this.all();
    return {
      has: (sha256) => stores.some((store) => store.has(sha256)),
      read: async (sha256) =>
        (await stores.find((store) => store.has(sha256))?.read(sha256)) ?? null,
    };
  }

  /** @throws TrlError `EXEC_NOT_FOUND` where no record of it is kept */
  async find(
    exec: ExecId,
  ): Promise<{ readonly store: SnapshotStore; readonly record: ChangeRecord }> {
    for (const store of [await this.own(), ...(await this.all())]) {
      const record = store.get(recordKinds.changes, exec);
      if (isChangeRecord(record)) return { store, record };
    }
    throw new TrlError('EXEC_NOT_FOUND', `Cannot find what ${exec} changed: no record is kept`);
  }

  async close(): Promise<void> {
    await this.#own?.catch(() => null);
    for (const { store, lock } of this.#taken.values()) {
      await store.close();
      lock.close();
    }
    this.#taken.clear();
  }

  async #openOwn(): Promise<SnapshotStore> {
    mkdirSync(this.#options.directory, { recursive: true, mode: 0o700 });
    for (let number = 0; number < storesMax; number += 1) {
      const store = await this.#take(number);
      if (store !== null) return store;
    }
    const message = `Cannot keep what commands change: ${storesMax} runtimes keep theirs`;
    throw new TrlError('BACKEND_UNAVAILABLE', message);
  }

  /** `null`: another process has it. */
  async #take(number: number): Promise<SnapshotStore | null> {
    const known = this.#taken.get(number);
    if (known !== undefined) return known.store;
    const directory = join(this.#options.directory, String(number));
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const lock = lockAt(join(directory, 'lock'));
    if (lock === null) return null;
    try {
      const { log } = this.#options;
      const key = this.#options.key();
      const store = await SnapshotStore.open(join(directory, 'segments'), {
        key,
        log,
        storeBytesMax: limits.snapshotBytes.default,
        fileBytesMax: limits.snapshotFileBytes.default,
        keepMs: limits.snapshotKeepMs.default,
      });
      const kept = new RemovedDirectories(join(directory, 'removed'), store);
      this.#taken.set(number, { store, lock, kept });
      await this.#finish(store);
      kept.sweep();
      return store;
    } catch (error) {
      this.#taken.delete(number);
      lock.close();
      throw error;
    }
  }

  /** A directory of the runtime's own, for git. */
  get scratch(): string {
    return join(this.#options.directory, 'git');
  }

  /** Doing it twice does nothing twice. What cannot be brought now is put aside. */
  async #finishGit(store: SnapshotStore, { id, tree, git }: CommitIntent): Promise<void> {
    if (git === undefined) return;
    const { scratch } = this;
    mkdirSync(scratch, { recursive: true, mode: 0o700 });
    const world = {
      root: tree.root,
      owner: tree,
      contents: store,
      scratch,
      id,
      isTouched: () => true,
    };
    const transaction = new GitTransaction(git, world);
    try {
      transaction.removeLeftovers();
      if (await transaction.prepare()) await transaction.settle();
    } catch (error) {
      this.#options.log(`git of ${tree.root}: ${String(error)}`);
    } finally {
      transaction.close();
    }
  }

  /** Commits that a process began and did not end: each path is put there, or left to others. */
  async #finish(store: SnapshotStore): Promise<void> {
    for (const { id, value } of Array.from(store.records(recordKinds.intent))) {
      if (isIntent(value)) {
        const { renames } = this.#options;
        const results = await recoverCommit({ intent: value, contents: store, renames });
        noteKeys(store, value, results);
        await this.#finishGit(store, value);
        const left = results.filter(({ state }) => state !== 'applied');
        this.#options.log(
          `finished a commit to ${value.tree.root}: ${results.length} paths, ${left.length} left`,
        );
      }
      store.drop(recordKinds.intent, id);
    }
    await store.sync();
  }
}

/** Records of what was planned say what it left in the real tree. */
function noteKeys(
  store: SnapshotStore,
  intent: CommitIntent,
  results: readonly ItemResult[],
): void {
  const keys = new Map<BytePath, StatKey>();
  for (const result of results) {
    if (result.state === 'applied' && result.key !== null) keys.set(result.path, result.key);
  }
  const afters = new Map(intent.items.map(({ path, after }) => [path, after]));
  for (const { id, value } of Array.from(store.records(recordKinds.changes))) {
    if (!isChangeRecord(value) || value.root !== intent.tree.root) continue;
    const changes = value.changes.map((change): RecordedChange => {
      const { path, after, state } = change;
      const key = state === 'applied' && change.key === null ? keys.get(path) : undefined;
      const isIt = key !== undefined && isEqualEntry(after, afters.get(path) ?? null);
      return isIt ? { ...change, key } : change;
    });
    if (changes.every((change, at) => change === value.changes[at])) continue;
    store.append(
      recordKinds.changes,
      id,
      { ...value, changes },
      { contents: recordedContents(changes) },
    );
  }
}

/** Held until it is closed or this process ends, however it ends. */
function lockAt(file: string): DatabaseSync | null {
  const lock = new DatabaseSync(file, { timeout: 0 });
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return lock;
  } catch {
    lock.close();
    return null;
  }
}

function isIntent(value: unknown): value is CommitIntent {
  return Array.isArray(fieldOf(value, 'items'));
}

// Directories of thousands of entries that commands removed, each unchanged, for undo. They are in
// a private directory, on the mount of their tree or not at all, while the record of the command
// exists and there is room: directories that a command had made are dropped first, then the oldest,
// and none that another writer made within a day.

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
      // It may take minutes; nothing waits for it.
      void rm(join(this.#directory, name), { recursive: true, force: true }).catch(() => null);
    }
  }

  /** Entries to keep longest come first. */
  #all(): RemovedDirectory[] {
    const firmSince = Date.now() - originalsRetentionMs;
    const all = namesIn(this.#directory).map((name): RemovedDirectory => {
      const [atMs = '', bytes = '', first = '', mark = ''] = name.split('-');
      const isMade = mark === madeMark;
      const isFirm = !isMade && Number(atMs) > firmSince;
      const isWanted = this.#contents.has(first);
      return { name, atMs: Number(atMs), bytes: Number(bytes), isMade, isFirm, isWanted };
    });
    return all.toSorted((a, b) => Number(a.isMade) - Number(b.isMade) || b.atMs - a.atMs);
  }
}

interface RemovedDirectory {
  readonly name: string;
  readonly atMs: number;
  readonly bytes: number;
  readonly isMade: boolean;
  /** Later entries do not take its room. */
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
