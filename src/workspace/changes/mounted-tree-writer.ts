/**
 * What commands see, written through the mount that they see it in, so that their watches tell them
 * of it: the kernel says nothing of what changes in a layer. What was saved in place is written in
 * place, while nobody else has the file open, as some watch the file itself. Else a file is made
 * under a name of the upper layer that nobody watches, and exchanged with the one that stands
 * there, which nobody may have open for writing. What came out must be what was expected, or it
 * goes back.
 *
 * Nothing on the way may be a link, and nothing is opened but regular files.
 */
import { randomBytes } from 'node:crypto';
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  rmdirSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import type { BytePath, StatKey } from '../../change.ts';
import { openDirectory, setMode, setOwner, setTimes } from '../beneath.ts';
import { baseNameOf, entryPathIn, O_PATH, openOrNull, parentPathOf } from '../byte-path.ts';
import type { AtomicRenames, RenameRequest } from '../commit/atomic-renames.ts';
import { isWhiteout, permissionBits, permissionsOf, statKey } from '../stat.ts';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDWR } = constants;
const directoryFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW;
const fileFlags = O_RDWR | O_NOFOLLOW | O_NONBLOCK;
/** The owner of files whose owner the mount does not map. */
const nobody = 65_534n;

interface MountedTreeWriterOptions {
  /** A descriptor of the mount's root, as a path, and the device that it must be of. */
  readonly root: string;
  readonly dev: number;
  /** The layers of the mount: absolute paths of the host; `null`: nothing is masked. */
  readonly mask: string | null;
  readonly upper: string;
  /** The directory below all. */
  readonly tree: string;
  readonly renames: AtomicRenames;
}

export interface MountedFileUpdate {
  readonly path: BytePath;
  /** Of the file that the upper layer has there and that may go; `null`: it must have none. */
  readonly upperKey: StatKey | null;
  /** The number of the tree's file before; `null`: it is what the mount shows. */
  readonly wasIno: bigint | null;
  /** `null`: it is removed without a replacement. */
  readonly next: {
    readonly bytes: Buffer;
    /** The number of the tree's file. */
    readonly ino: bigint;
    readonly mode: number;
    readonly mtimeMs: number;
  } | null;
}

interface Ready {
  readonly file: MountedFileUpdate;
  readonly rename: RenameRequest;
}

export class MountedTreeWriter implements Disposable {
  /** A directory of the upper layer, for what is on its way in or out. */
  readonly staging = `.trl-view-${randomBytes(8).toString('hex')}`;
  readonly #options: MountedTreeWriterOptions;
  readonly #root: number;
  readonly #upper: number;
  /** Whether a file keeps its number when it is copied to the upper layer. */
  readonly #isOneFileSystem: boolean;

  /** @throws the system's error where the mount is gone */
  constructor(options: MountedTreeWriterOptions) {
    this.#options = options;
    this.#root = openSync(options.root, O_PATH | O_DIRECTORY);
    try {
      if (fstatSync(this.#root).dev !== options.dev) throw new Error('the mount is gone');
      this.#upper = openDirectory(options.upper);
    } catch (error) {
      closeSync(this.#root);
      throw error;
    }
    this.#isOneFileSystem = fstatSync(this.#upper).dev === lstatSync(options.tree).dev;
  }

  [Symbol.dispose](): void {
    closeSync(this.#root);
    closeSync(this.#upper);
  }

  /** Whether the mask of this very mount keeps a path from commands. */
  masks(path: BytePath): boolean {
    const { mask } = this.#options;
    if (mask === null) return false;
    const parts = path.split('/');
    for (let count = 1; count <= parts.length; count += 1) {
      const stat = statBelow(mask, parts.slice(0, count).join('/'));
      if (stat === null) return false;
      if (!stat.isDirectory()) return true;
    }
    return false;
  }

  /** What commands see at a path; `null`: nothing. */
  look(path: BytePath): BigIntStats | null {
    const directory = this.#directory(parentPathOf(path));
    if (directory === null) return null;
    try {
      return statAt(directory, baseNameOf(path));
    } finally {
      closeSync(directory);
    }
  }

  /**
   * Replaces files, while nobody has them open for writing.
   *
   * @param isCurrent whether the mount shows what the layers have now
   * @returns those that were, each with a descriptor that the caller closes: as long as it is open,
   *   the kernel knows what watches the file by this name; `null`: nothing is there now
   */
  async replace(
    files: readonly MountedFileUpdate[],
    isCurrent: boolean,
  ): Promise<ReadonlyMap<BytePath, number | null>> {
    const done = new Map<BytePath, number | null>();
    if (files.length === 0) return done;
    mkdirSync(entryPathIn(this.#upper, this.staging), { mode: 0o700 });
    const [inLayer, shown] = [this.#open(this.#upper), this.#open(this.#root)];
    const ready: Ready[] = [];
    try {
      for (const file of files) {
        if (inLayer === null || shown === null) break;
        const at = { inLayer, shown, name: String(ready.length) };
        const rename = this.#ready(file, at, isCurrent);
        if (rename !== null) ready.push({ file, rename });
      }
      const answers = await this.#options.renames.run(ready.map(({ rename }) => rename));
      for (const [index, { file, rename }] of ready.entries()) {
        if (answers[index] !== 'done') continue;
        if (file.next === null) this.#dropWhiteout(file.path);
        else endWriting(rename, file.next);
        const at = file.next === null ? null : entryPathIn(rename.directory, rename.name);
        done.set(file.path, at === null ? null : openOrNull(at, O_PATH | O_NOFOLLOW));
      }
    } finally {
      for (const { rename } of ready) {
        closeSync(rename.directory);
        if (inLayer !== null) removeAt(inLayer, rename.temporary);
      }
      for (const fd of [inLayer, shown]) if (fd !== null) closeSync(fd);
      removeDirectoryAt(this.#upper, this.staging);
    }
    return done;
  }

  /** Announces a new directory. */
  announceDirectory(path: BytePath): void {
    const directory = this.#directory(path);
    if (directory === null) return;
    try {
      if (statBelow(this.#options.upper, path) !== null) return;
      setMode(directory, fstatSync(directory).mode & permissionBits);
    } catch {
      // It is not this user's: no watcher is notified.
    } finally {
      closeSync(directory);
    }
  }

  /** Announces a deletion: a directory appears and disappears under the name, which is free. */
  announceRemoval(path: BytePath): void {
    if (statBelow(this.#options.upper, path) !== null) return;
    const directory = this.#directory(parentPathOf(path));
    if (directory === null) return;
    try {
      mkdirSync(entryPathIn(directory, baseNameOf(path)), { mode: 0o700 });
      rmdirSync(entryPathIn(directory, baseNameOf(path)));
    } catch {
      // Another process created an entry there meanwhile.
    } finally {
      closeSync(directory);
      this.#dropWhiteout(path);
    }
  }

  #open(top: number): number | null {
    return openOrNull(entryPathIn(top, this.staging), directoryFlags);
  }

  /** `null`: missing, or a link on the way. */
  #directory(path: BytePath): number | null {
    let fd = openOrNull(entryPathIn(this.#root, '.'), directoryFlags);
    for (const part of path === '' ? [] : path.split('/')) {
      if (fd === null) return null;
      const from = fd;
      fd = openOrNull(entryPathIn(from, part), directoryFlags);
      closeSync(from);
    }
    if (fd === null || fstatSync(fd).dev === this.#options.dev) return fd;
    closeSync(fd);
    return null;
  }

  #ready(
    file: MountedFileUpdate,
    staging: { readonly inLayer: number; readonly shown: number; readonly name: string },
    isCurrent: boolean,
  ): RenameRequest | null {
    const { path, next } = file;
    const directory = this.#directory(parentPathOf(path));
    if (directory === null) return null;
    try {
      const found = this.#expected(file, directory, isCurrent);
      if (found !== null && (next === null || make(staging, next, found.stat))) {
        const { shown, name: temporary } = staging;
        const kept = `.trl-kept-${this.staging.slice(-8)}-${temporary}`;
        const names = { name: baseNameOf(path), temporary, fallbackName: kept };
        const key = statKey(found.stat);
        return { kind: found.kind, directory, staging: shown, ...names, key };
      }
    } catch {
      // Of another owner, or without room: no watcher is notified.
    }
    closeSync(directory);
    return null;
  }

  /** The file that is to go or to be written, as it is seen; `null`: there is another. */
  #expected(
    { path, upperKey, wasIno, next }: MountedFileUpdate,
    directory: number,
    isCurrent: boolean,
  ): { readonly stat: BigIntStats; readonly kind: RenameRequest['kind'] } | null {
    const name = baseNameOf(path);
    const stat = statAt(directory, name);
    const upper = statBelow(this.#options.upper, path);
    if (stat === null || !isPlain(stat)) return null;
    if (upperKey !== null) {
      if (upper === null || statKey(upper) !== upperKey) return null;
      if (next === null) return { stat, kind: 'away' };
      // If it could not be written the first time, a process is reading it.
      return { stat, kind: next.ino === wasIno && !isCurrent ? 'fill' : 'exchange' };
    }
    if (upper !== null || next === null) return null;
    const isInPlace = stat.ino === next.ino;
    if (this.#isOneFileSystem && !isInPlace) return { stat, kind: 'exchange' };
    // What the mount shows may be older than what was saved: that must not be copied.
    if (!this.#isOneFileSystem && !isCurrent) return null;
    const fd = openOrNull(entryPathIn(directory, name), fileFlags);
    if (fd !== null) closeSync(fd);
    const copied = statAt(directory, name);
    const isSame = copied !== null && isPlain(copied) && isWrittenAs(copied, stat);
    return isSame ? { stat: copied, kind: 'fill' } : null;
  }

  /** A new entry of the tree must not be hidden. */
  #dropWhiteout(path: BytePath): void {
    const stat = statBelow(this.#options.upper, path);
    if (stat === null || !isWhiteout(stat)) return;
    const directory = directoryBelow(this.#options.upper, parentPathOf(path));
    if (directory === null) return;
    removeAt(directory, baseNameOf(path));
    closeSync(directory);
  }
}

/** Of one name, and without rights beyond its own. */
function isPlain(stat: BigIntStats): boolean {
  return stat.isFile() && stat.nlink === 1n && (permissionsOf(stat) & 0o7000) === 0;
}

function isWrittenAs(one: BigIntStats, other: BigIntStats): boolean {
  return one.size === other.size && one.mtimeNs === other.mtimeNs && one.mode === other.mode;
}

/** Creates the entry to show, with the owner of `like`; `false`: that is impossible. */
function make(
  { inLayer, name }: { readonly inLayer: number; readonly name: string },
  next: NonNullable<MountedFileUpdate['next']>,
  like: BigIntStats,
): boolean {
  if (like.uid === nobody || like.gid === nobody) return false;
  const flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW;
  const fd = openSync(entryPathIn(inLayer, name), flags, 0o600);
  try {
    for (let at = 0; at < next.bytes.length;) at += writeSync(fd, next.bytes, at);
    const { uid, gid } = fstatSync(fd, { bigint: true });
    const owner = { uid: Number(like.uid), gid: Number(like.gid) };
    if (uid !== like.uid || gid !== like.gid) setOwner(fd, owner);
    setMode(fd, next.mode);
    setTimes(fd, new Date(), next.mtimeMs / 1000);
    return true;
  } catch (error) {
    removeAt(inLayer, name);
    throw error;
  } finally {
    closeSync(fd);
  }
}

/** The last event of a file is that it was written: an exchange looks like the end of it. */
function endWriting(
  { directory, name }: RenameRequest,
  { mode, mtimeMs }: NonNullable<MountedFileUpdate['next']>,
): void {
  const fd = openOrNull(entryPathIn(directory, name), fileFlags);
  if (fd === null) return;
  try {
    if (!fstatSync(fd).isFile()) return;
    setMode(fd, mode);
    setTimes(fd, new Date(), mtimeMs / 1000);
  } catch {
    // Another process replaced it.
  } finally {
    closeSync(fd);
  }
}

function statAt(directory: number, name: string): BigIntStats | null {
  return lstatSync(entryPathIn(directory, name), { bigint: true, throwIfNoEntry: false }) ?? null;
}

function directoryBelow(top: string, path: BytePath): number | null {
  let fd: number | null = openDirectory(top);
  for (const part of path === '' ? [] : path.split('/')) {
    if (fd === null) return null;
    const from: number = fd;
    fd = openOrNull(entryPathIn(from, part), directoryFlags);
    closeSync(from);
  }
  return fd;
}

/** What a layer has at a path; `null`: nothing, or no directory that it would be in. */
function statBelow(top: string, path: BytePath): BigIntStats | null {
  const directory = directoryBelow(top, parentPathOf(path));
  if (directory === null) return null;
  try {
    return statAt(directory, baseNameOf(path));
  } finally {
    closeSync(directory);
  }
}

function removeAt(directory: number, name: string): void {
  try {
    unlinkSync(entryPathIn(directory, name));
  } catch {
    // It is gone, as it should be.
  }
}

function removeDirectoryAt(directory: number, name: string): void {
  try {
    rmdirSync(entryPathIn(directory, name));
  } catch {
    // A command put something into it: that is the command's own, and is captured.
  }
}
