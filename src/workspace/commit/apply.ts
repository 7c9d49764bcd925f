/**
 * Applies changes to the real tree, each path only if it still is as the change expects: anything
 * that another process wrote meanwhile stays, and is reported.
 *
 * Contents are written under a temporary name, outside the tree if possible (`openStaging`), else
 * in the same directory. A new file gets its name if the name is free; a replacement is exchanged
 * with the old file, and exchanged back if that is not the expected one (`atomic-renames.ts`). Each
 * step uses descriptors of directories and follows no link. So nobody sees half a file, and nothing
 * outside is reached.
 *
 * Late writes to a replaced file, through a name that was looked up before, are saved beside it.
 * Two gaps remain: a program that takes a second from looking a name up to opening it writes to a
 * file that is gone; modes and times, set by descriptor after a check, may hide that another
 * process set them within those microseconds.
 */
import {
  type BigIntStats,
  closeSync,
  fstatSync,
  linkSync,
  lstatSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import type { BytePath, Entry, StatKey } from '../../change.ts';
import {
  type FileOwner,
  makeDirectory,
  makeLink,
  modeOfDescriptor,
  openEntry,
  setMode,
  setTimes,
} from '../beneath.ts';
import { baseNameOf, entryPathIn, errnoCodeOf, parentPathOf } from '../byte-path.ts';
import { isSameStat, statKey } from '../stat.ts';
import {
  type ApplyInput,
  type CommitItem,
  type CommitRefusal,
  commitRefusalOf,
  type CommitSource,
  type ItemResult,
} from './commit-item.ts';
import { bulkDirectoryOf, moveBulkDirectory, moveBulkDirectoryAway } from './move-directory.ts';
import { writeNewContent } from './new-content.ts';
import { type CompletedRename, type QueuedRename, RenameQueue } from './rename-queue.ts';
import {
  isMetadataOnly,
  keyAfterWrite,
  mtimeOfEntry,
  statAt,
  TreePathResolver,
} from './tree-path-resolver.ts';
import { WritableDirectories } from './writable-directories.ts';

const sliceMs = 5;
const ownerAll = 0o700;

interface Making {
  readonly item: CommitItem;
  readonly index: number;
  readonly after: Extract<Entry, { type: 'file' | 'symlink' }>;
  /** The entry there now. */
  readonly stat: BigIntStats | 'nothing';
}

/** @returns in the order of the items. Throws nothing that one path could cause. */
export async function applyChanges(input: ApplyInput): Promise<readonly ItemResult[]> {
  const applying = new Applying(input);
  try {
    await applying.run();
  } finally {
    await applying.close();
  }
  return input.items.map((item) => applying.resultOf(item.path));
}

class Applying {
  readonly #input: ApplyInput;
  readonly #place: WritableDirectories;
  readonly #sources = new Map<string, TreePathResolver>();
  readonly #results = new Map<BytePath, ItemResult>();
  readonly #isRoot = process.geteuid?.() === 0;
  readonly #queue: RenameQueue;
  readonly #directories = new Map<BytePath, CommitItem>();
  #sliceStart = performance.now();

  constructor(input: ApplyInput) {
    this.#input = input;
    this.#place = new WritableDirectories(input.tree.root);
    this.#queue = new RenameQueue(input);
  }

  resultOf(path: BytePath): ItemResult {
    const result = this.#results.get(path);
    return result ?? { path, state: 'failed', reason: 'refused', detail: null, keptAt: null };
  }

  async run(): Promise<void> {
    const numbered = this.#input.items.map((item, index) => ({ item, index }));
    const gone = numbered.filter(({ item }) => item.after === null);
    const isDirectory = ({ item }: { item: CommitItem }): boolean =>
      item.base?.type === 'directory';
    // A directory goes when what was in it went, the deepest first.
    const directories = gone.filter(isDirectory).toSorted((a, b) => order(b.item, a.item));
    const rest = numbered.filter(({ item }) => item.after !== null);
    for (const { item, index } of gone.filter((one) => !isDirectory(one))) {
      await this.#attempt(item, () => this.#remove(item, index));
    }
    await this.#flush();
    for (const { item } of directories) {
      await this.#slice();
      if (this.#stands(item) === null) continue;
      try {
        if (bulkDirectoryOf(item.base)?.kept === undefined) this.#removeDirectory(item);
        else await this.#move(item);
      } catch (error) {
        this.#fail(item, error);
      }
    }
    for (const { item, index } of rest.toSorted((a, b) => order(a.item, b.item))) {
      await this.#attempt(item, () => this.#put(item, index));
    }
    await this.#flush();
    this.#place.setModes((path, outcome) => {
      const item = this.#directories.get(path);
      if (item === undefined) return;
      if ('key' in outcome) this.#done(item, outcome.key);
      else this.#fail(item, outcome.error);
    });
  }

  async close(): Promise<void> {
    await this.#queue.conclude(() => undefined);
    this.#place.release();
    for (const steps of this.#sources.values()) steps.close();
    this.#queue.close();
  }

  async #slice(): Promise<void> {
    if (this.#queue.isFull) await this.#send();
    if (performance.now() - this.#sliceStart < sliceMs) return;
    await this.#send();
    this.#input.progress?.(this.#results.size, this.#input.items.length);
    await turn();
    this.#sliceStart = performance.now();
  }

  async #attempt(item: CommitItem, act: () => Promise<void> | void): Promise<void> {
    await this.#slice();
    try {
      await act();
    } catch (error) {
      this.#fail(item, error);
    }
  }

  /**
   * The entry there now if it is what the change expects; otherwise reports it and returns `null`.
   */
  #stands(item: CommitItem): BigIntStats | 'nothing' | null {
    if (this.#place.steps.directory(parentPathOf(item.path)) === null) {
      this.#refuse(item, 'no-directory');
      return null;
    }
    // It gets its name only where nothing has it.
    const isNamed = item.after?.type === 'file' || item.after?.type === 'symlink';
    if (item.baseKey === null && isNamed) return 'nothing';
    const stat = statAt(this.#place.steps, item.path);
    if (isSameStat(stat, item.baseKey)) return stat ?? 'nothing';
    this.#refuse(item, 'changed-meanwhile');
    return null;
  }

  #remove(item: CommitItem, index: number): void {
    const stat = this.#stands(item);
    if (stat === null) return;
    if (stat === 'nothing') this.#done(item, null);
    else this.#enqueue({ item, index, kind: 'away', made: null });
  }

  #removeDirectory(item: CommitItem): void {
    this.#place.enter(parentPathOf(item.path));
    rmdirSync(this.#place.at(item.path));
    this.#done(item, null);
  }

  async #put(item: CommitItem, index: number): Promise<void> {
    const { after } = item;
    if (after === null) return;
    if (after.type !== 'file' && after.type !== 'directory' && after.type !== 'symlink') {
      this.#refuse(item, 'special');
      return;
    }
    let stat = this.#stands(item);
    if (stat === null) return;
    if (after.type === 'directory') {
      await this.#putDirectory({ item, index, after, stat });
      return;
    }
    if (stat !== 'nothing' && stat.isDirectory()) {
      this.#removeDirectory(item);
      this.#results.delete(item.path);
      stat = 'nothing';
    }
    if (stat !== 'nothing' && isMetadataOnly(item, stat)) {
      this.#setMeta(item, after);
      return;
    }
    await this.#bring({ item, index, after, stat });
  }

  async #bring(making: Making): Promise<void> {
    const { item, index, stat } = making;
    const made = await this.#make(making);
    if (made === null) return;
    if (stat !== 'nothing') this.#enqueue({ item, index, kind: 'exchange', made });
    else if (this.#queue.staging !== null) this.#enqueue({ item, index, kind: 'name', made });
    else this.#name(item, index, made);
  }

  async #putDirectory(putting: {
    readonly item: CommitItem;
    readonly index: number;
    readonly after: Extract<Entry, { type: 'directory' }>;
    readonly stat: BigIntStats | 'nothing';
  }): Promise<void> {
    const { item, index, after, stat } = putting;
    if (stat !== 'nothing' && stat.isDirectory()) {
      this.#setModeLater(item, after.mode, stat);
      return;
    }
    if (stat !== 'nothing') {
      this.#enqueue({ item, index, kind: 'away', made: null });
      await this.#flush();
      if (this.#results.get(item.path)?.state !== 'applied') return;
      this.#results.delete(item.path);
    }
    if (after.whole !== undefined) return await this.#move(item);
    this.#place.enter(parentPathOf(item.path));
    const mode = (after.mode & 0o777) | ownerAll;
    const fd = makeDirectory(this.#place.at(item.path), mode, this.#giveTo(this.#input.tree));
    this.#setModeLater(item, after.mode, fstatSync(fd, { bigint: true }));
    closeSync(fd);
  }

  async #move(item: CommitItem): Promise<void> {
    await this.#flush();
    const directory = this.#place.enter(parentPathOf(item.path));
    const move = item.after === null ? moveBulkDirectoryAway : moveBulkDirectory;
    const moved = await move(item, directory, this.#input);
    if (typeof moved === 'string') this.#refuse(item, moved);
    else this.#done(item, moved.key);
  }

  /** Makes the new thing under its temporary name. */
  async #make({ item, index, after, stat }: Making): Promise<BigIntStats | null> {
    const { tree, contents, atHand } = this.#input;
    const owner: FileOwner =
      stat === 'nothing' ? tree : { uid: Number(stat.uid), gid: Number(stat.gid) };
    const directory = this.#place.enter(parentPathOf(item.path));
    const at = this.#queue.temporary(directory, index);
    if (after.type === 'symlink') makeLink(at, after.target, this.#giveTo(owner));
    else {
      const stepsOf = (source: CommitSource): TreePathResolver => this.#stepsOf(source);
      const bytes = after.sha256 === null ? null : (atHand?.get(after.sha256) ?? null);
      const written = writeNewContent({ item, at, owner, contents, bytes, stepsOf }, after);
      if (!(typeof written === 'boolean' ? written : await written)) {
        this.#refuse(item, 'no-content');
        return null;
      }
    }
    return lstatSync(at, { bigint: true });
  }

  /** Gives the new entry its name, if that is free. */
  #name(item: CommitItem, index: number, made: BigIntStats): void {
    const directory = this.#place.hold(parentPathOf(item.path));
    const from = this.#queue.temporary(directory, index);
    const to = entryPathIn(directory, baseNameOf(item.path));
    try {
      linkSync(from, to);
      unlinkSync(from);
    } catch (error) {
      if (!['EPERM', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(errnoCodeOf(error))) {
        unlinkSync(from);
        throw error;
      }
      // A file system without hard links: a moment remains between the look and the rename.
      if (lstatSync(to, { throwIfNoEntry: false }) === undefined) renameSync(from, to);
      else {
        unlinkSync(from);
        this.#refuse(item, 'changed-meanwhile');
        return;
      }
    }
    this.#done(item, keyAfterWrite(to, made));
    if (made.isFile()) this.#enqueue({ item, index, kind: 'write', made });
  }

  #setMeta(item: CommitItem, after: Entry): void {
    const fd = openEntry(this.#place.at(item.path));
    try {
      const stat = fstatSync(fd, { bigint: true });
      if (statKey(stat) !== item.baseKey) {
        this.#refuse(item, 'changed-meanwhile');
        return;
      }
      if (after.type === 'file') {
        setTimes(fd, new Date(), mtimeOfEntry(after));
        if (modeOfDescriptor(fd) !== after.mode) setMode(fd, after.mode);
      }
      this.#done(item, statKey(fstatSync(fd, { bigint: true })));
    } finally {
      closeSync(fd);
    }
  }

  #enqueue(queued: QueuedRename): void {
    this.#queue.add(this.#place.enter(parentPathOf(queued.item.path)), queued);
  }

  /**
   * Executes the queued renames while more is prepared: one batch is running, one is being filled.
   */
  async #send(): Promise<void> {
    const again = await this.#queue.conclude((one) => this.#conclude(one));
    for (const one of again) {
      await this.#repeat(one).catch((error: unknown) => this.#fail(one.item, error));
    }
    // What is open may be moved away before it is used again.
    this.#queue.send(this.#place.detach());
  }

  async #flush(): Promise<void> {
    await this.#send();
    while (!this.#queue.isIdle) await this.#send();
  }

  /** The same with its temporary name in the tree. */
  async #repeat({ item, index, kind }: QueuedRename): Promise<void> {
    const { after } = item;
    if (kind === 'away') this.#enqueue({ item, index, kind, made: null });
    else if (after?.type === 'file' || after?.type === 'symlink') {
      const stat = kind === 'name' ? 'nothing' : this.#stands(item);
      if (stat !== null) await this.#bring({ item, index, after, stat });
    }
  }

  #conclude({ item, kind, made, answer, at, keptAt }: CompletedRename): void {
    // It has its name already.
    if (kind === 'write') return;
    if (answer === 'done') this.#done(item, made === null ? null : keyAfterWrite(at, made));
    if (answer === 'open') this.#refuse(item, 'open-elsewhere');
    if (answer === 'changed') this.#refuse(item, 'changed-meanwhile');
    if (answer === 'refused') this.#refuse(item, 'refused', 'the file cannot be renamed');
    if (answer !== 'kept') return;
    const conflict = { state: 'conflict', reason: 'changed-meanwhile', detail: null } as const;
    this.#results.set(item.path, { path: item.path, ...conflict, keptAt });
  }

  #setModeLater(item: CommitItem, mode: number, at: Pick<BigIntStats, 'dev' | 'ino'>): void {
    this.#directories.set(item.path, item);
    this.#place.setLater(item.path, mode, at);
  }

  /** Only root can change owners. */
  #giveTo(owner: FileOwner): FileOwner | null {
    return this.#isRoot ? owner : null;
  }

  #stepsOf({ tree }: CommitSource): TreePathResolver {
    const steps = this.#sources.get(tree) ?? new TreePathResolver(tree);
    this.#sources.set(tree, steps);
    return steps;
  }

  #done({ path }: CommitItem, key: StatKey | null): void {
    this.#results.set(path, { path, state: 'applied', key });
  }

  #refuse({ path }: CommitItem, reason: CommitRefusal, detail: string | null = null): void {
    const isTheirs = ['changed-meanwhile', 'open-elsewhere', 'not-empty', 'no-directory'];
    const state = isTheirs.includes(reason) ? 'conflict' : 'failed';
    this.#results.set(path, { path, state, reason, detail, keptAt: null });
  }

  #fail(item: CommitItem, error: unknown): void {
    const code = errnoCodeOf(error);
    const reason = commitRefusalOf(code);
    this.#refuse(item, reason ?? 'refused', code === '' ? String(error) : code);
  }
}

function order(a: CommitItem, b: CommitItem): number {
  return a.path < b.path ? -1 : Number(a.path > b.path);
}
