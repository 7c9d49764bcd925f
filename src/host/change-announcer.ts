/**
 * Announces to watchers inside the sandbox which files others save while commands run, so that a
 * dev server reloads: each file is written into the view through its mount. The layer then has a
 * copy of it, which is no change of a command and yields to the next version.
 */
import { closeSync } from 'node:fs';
import type { BytePath, StatKey } from '../change.ts';
import type { SnapshotStore } from '../snapshot/store.ts';
import { baseNameOf, parentPathOf } from '../workspace/byte-path.ts';
import type { LayerCapture } from '../workspace/changes/capture.ts';
import type { LayerCopy } from '../workspace/changes/layer-copies.ts';
import {
  type MountedFileUpdate,
  MountedTreeWriter,
} from '../workspace/changes/mounted-tree-writer.ts';
import { AtomicRenames } from '../workspace/commit/atomic-renames.ts';
import { type FileEntry, readCurrentFile } from '../workspace/merge/current-file.ts';
import type { ChangeCommitter } from './change-committer.ts';
import { findExtendedCopy } from './file-merger.ts';
import type { WatchedMount } from '../runner/operations.ts';
import type { WorkspaceTree } from './workspace-tree.ts';

const KiB = 1024;
/** At once; more is a checkout or an install, after which a person restarts the server. */
const pathsMax = 256;
const fileBytesMax = 4 * KiB * KiB;
const batchBytesMax = 16 * KiB * KiB;
/** In the layer, until no command runs. */
const copiesMax = 1_024;
const copiesBytesMax = 128 * KiB * KiB;
/** Files held open. */
const pinsMax = 256;

export interface AnnouncerDependencies {
  readonly tree: WorkspaceTree;
  readonly store: SnapshotStore;
  readonly layer: LayerCapture;
  readonly upper: string;
  /** `null`: no command watches. */
  readonly watched: () => Promise<WatchedMount | null>;
  /** Whether commands may see a path at all, and as what the view has there. */
  readonly mayAnnounce: (path: BytePath) => boolean;
  /** Must not throw. */
  readonly log: (text: string) => void;
}

type Parts = Pick<AnnouncerDependencies, 'tree' | 'store' | 'log'> & {
  readonly layer: LayerCapture | null;
  readonly announcing: Pick<AnnouncerDependencies, 'upper' | 'watched' | 'mayAnnounce'> | null;
};

interface Announcement extends Disposable {
  /** The layer has copies of these; later saves are announced at the next look. */
  readonly announced: Set<BytePath>;
  /** To be called when the overlay was refreshed. Never fails. */
  end(): Promise<void>;
}

interface Begun extends Announcement {
  readonly left: ReadonlySet<BytePath>;
}

/** For a later process. */
export interface StoredCopies {
  /** Of each path the versions that the layer may have, the newest first. */
  readonly copies: readonly (readonly [BytePath, readonly LayerCopy[]])[];
  /** What is on its way may be there. */
  readonly staging: string | null;
  /** In the layer only because of entries below them, or to announce them. */
  readonly directories: readonly BytePath[];
  /** Being announced as deleted: the layer may have something there. */
  readonly gone: readonly BytePath[];
}

export const noStoredCopies: StoredCopies = {
  copies: [],
  staging: null,
  directories: [],
  gone: [],
};

interface Wanted extends MountedFileUpdate {
  readonly copy: LayerCopy | null;
  /** What the layer has there. */
  readonly was: FileEntry | null;
}

export class ChangeAnnouncer {
  readonly #parts: AnnouncerDependencies;
  readonly #committing: ChangeCommitter;
  readonly #keep: () => void;
  readonly #renames = new AtomicRenames();
  readonly #copies = new Map<BytePath, readonly LayerCopy[]>();
  /** Files announced last, kept open so that the kernel still knows who watches them. */
  readonly #pins = new Map<BytePath, number>();
  #staging: string | null = null;
  readonly #directories = new Set<BytePath>();
  readonly #gone = new Set<BytePath>();

  /** @param keep appends {@link toJson} to the store */
  constructor(parts: AnnouncerDependencies, committing: ChangeCommitter, keep: () => void) {
    this.#parts = parts;
    this.#committing = committing;
    this.#keep = keep;
  }

  /** `null`: there is no layer. */
  static of(parts: Parts, committing: ChangeCommitter, keep: () => void): ChangeAnnouncer | null {
    const { layer, announcing } = parts;
    if (layer === null || announcing === null) return null;
    return new ChangeAnnouncer({ ...parts, ...announcing, layer }, committing, keep);
  }

  toJson(): StoredCopies {
    const [directories, gone] = [[...this.#directories], [...this.#gone]];
    return { copies: [...this.#copies], staging: this.#staging, directories, gone };
  }

  /** Goes on with what was kept, by a process that may have died in the middle. */
  async restore({ copies, staging, directories, gone }: StoredCopies): Promise<void> {
    const { layer } = this.#parts;
    const all = copies.flatMap(([, versions]) => versions);
    const isHalf = staging !== null && (await layer.removeStaging(staging, all));
    for (const path of gone) await layer.removeDeletionMarker(path);
    for (const path of directories) this.#directories.add(path);
    await this.#adoptDirectories();
    for (const [path, versions] of copies) {
      const copy = await this.#adopted(path, versions);
      if (copy !== null) {
        this.#copies.set(path, [copy]);
        this.#committing.noteCopied(path, copy, null);
      } else if (!isHalf) await this.#followAdded(path, versions);
      else if ((await layer.layerStateOf(path)) !== 'none') {
        // It may be half written, and nothing may be derived from it.
        this.#committing.points.drop(path);
        this.#committing.applied.markContested([{ path, state: 'conflict' }]);
      }
    }
  }

  /** What a command added to a copy is a delta against that. */
  async #followAdded(path: BytePath, copies: readonly LayerCopy[]): Promise<void> {
    const { points } = this.#committing;
    const own = points.of(path).filter(({ isShown }) => !isShown);
    const start = await findExtendedCopy(path, { ...this.#parts, copies, own });
    if (start !== null) points.set(path, start);
  }

  async #adoptDirectories(): Promise<void> {
    for (const path of this.#directories) {
      if (!(await this.#parts.layer.adoptDirectory(path))) this.#directories.delete(path);
    }
  }

  /** Records for a later process what will be put into the layer. */
  #prepare(paths: readonly BytePath[]): Promise<void> {
    const { layer, store } = this.#parts;
    for (const path of paths) {
      for (let at = path; at !== '' && !layer.has(at); at = parentPathOf(at)) {
        this.#directories.add(at);
      }
    }
    this.#keep();
    return store.sync();
  }

  async #adopted(path: BytePath, versions: readonly LayerCopy[]): Promise<LayerCopy | null> {
    const { layer } = this.#parts;
    for (const copy of versions) {
      if (await layer.adoptCopy(path, { ...copy, isCertain: false })) return copy;
    }
    return null;
  }

  /** No command runs, and the layer was cleared. */
  clear(): void {
    this.#copies.clear();
    this.#directories.clear();
    for (const path of this.#pins.keys()) this.#unpin(path);
  }

  /** What left the layer is no copy any more, and must not be held. */
  release(paths: readonly BytePath[]): void {
    for (const path of paths) {
      this.#unpin(path);
      this.#copies.delete(path);
    }
  }

  #pin(path: BytePath, fd: number | null): void {
    this.#unpin(path);
    if (fd === null) return;
    if (this.#pins.size < pinsMax) this.#pins.set(path, fd);
    else closeSync(fd);
  }

  #unpin(path: BytePath): void {
    const fd = this.#pins.get(path);
    this.#pins.delete(path);
    if (fd !== undefined) closeSync(fd);
  }

  close(): void {
    this.clear();
    this.#renames[Symbol.dispose]();
  }

  /**
   * Announces changes that the mount already shows. Never fails.
   *
   * @returns what to `end` after the refresh of the overlay; `null`: there is nothing to announce
   */
  async begin(changed: readonly BytePath[]): Promise<Announcement | null> {
    const announcement = await this.#begin(changed);
    // What is taken out of the layer by its name must not be held.
    const left = announcement?.left ?? new Set(changed);
    for (const path of this.#pins.keys()) if (left.has(path)) this.#unpin(path);
    return announcement;
  }

  async #begin(changed: readonly BytePath[]): Promise<Begun | null> {
    const { upper, watched } = this.#parts;
    const paths = changed.filter((path) => this.#isAnnounceable(path));
    if (paths.length === 0 || paths.length > pathsMax) return null;
    try {
      const mount = await watched();
      if (mount === null) return null;
      const {
        tree: { root },
      } = this.#parts;
      using opened = new DisposableStack();
      const shown = opened.use(
        new MountedTreeWriter({ ...mount, upper, tree: root, renames: this.#renames }),
      );
      const seen = paths.filter((path) => !shown.masks(path));
      const left = new Set(await this.#announce(shown, seen, false));
      const held = opened.move();
      const end = (): Promise<void> => this.#end(shown, [...left]);
      const announced = new Set(seen).difference(left);
      return { left, announced, end, [Symbol.dispose]: () => held.dispose() };
    } catch (error) {
      this.#parts.log(`watchers: ${String(error)}`);
      return null;
    }
  }

  async #end(shown: MountedTreeWriter, paths: readonly BytePath[]): Promise<void> {
    const { tree, log } = this.#parts;
    try {
      const came: BytePath[] = [];
      const unannounced = await this.#announce(shown, paths, true);
      this.#gone.clear();
      for (const path of unannounced) {
        const stat = tree.statAt(path);
        if (stat?.isDirectory() === true && this.#directories.size < copiesMax) came.push(path);
        const top = stat === null ? this.#removedRootOf(path) : path;
        if (stat === null && this.#isAnnounceable(top)) this.#gone.add(top);
      }
      if (came.length + this.#gone.size === 0) return;
      await this.#prepare([...came, ...[...this.#gone].map(parentPathOf)]);
      for (const path of came) shown.announceDirectory(path);
      for (const path of this.#gone) shown.announceRemoval(path);
      await this.#adoptDirectories();
      this.#gone.clear();
      this.#keep();
    } catch (error) {
      log(`watchers: ${String(error)}`);
    }
  }

  /** The directory that went with it. */
  #removedRootOf(path: BytePath): BytePath {
    const above = parentPathOf(path);
    return above === '' || this.#parts.tree.statAt(above) !== null
      ? path
      : this.#removedRootOf(above);
  }

  #isAnnounceable(path: BytePath): boolean {
    const { tree, mayAnnounce } = this.#parts;
    if (baseNameOf(path).startsWith('.trl-') || !mayAnnounce(path)) return false;
    return this.#committing.isExternal(path) && !tree.isInRepository(path);
  }

  /** Writes files into the view; returns the paths that were not announced. */
  async #announce(
    shown: MountedTreeWriter,
    paths: readonly BytePath[],
    isCurrent: boolean,
  ): Promise<readonly BytePath[]> {
    const { layer } = this.#parts;
    const wanted = await this.#wanted(paths);
    if (wanted.length === 0) return paths;
    const before = new Map(this.#copies);
    for (const { path, copy } of wanted) {
      if (copy !== null) this.#copies.set(path, [copy, ...(before.get(path) ?? [])]);
    }
    this.#staging = shown.staging;
    this.#gone.clear();
    for (const { path, next } of wanted) if (next === null) this.#gone.add(path);
    await this.#prepare(wanted.map(({ path }) => parentPathOf(path)));
    const done = await shown.replace(wanted, isCurrent);
    this.#staging = null;
    await this.#adoptDirectories();
    for (const { path, copy, was } of wanted) {
      const isDone = done.has(path);
      this.#pin(path, done.get(path) ?? null);
      const known = before.get(path);
      if (known === undefined) this.#copies.delete(path);
      else this.#copies.set(path, known);
      if (copy === null) {
        if (isDone && was !== null) this.#noteRemoved(path, was);
      } else if (await layer.adoptCopy(path, { ...copy, isCertain: isDone })) {
        this.#copies.set(path, [copy]);
        this.#committing.noteCopied(path, copy, was);
      }
    }
    this.#gone.clear();
    // Else a later process would not know what commands wrote to a copy from a half of one.
    this.#keep();
    await this.#parts.store.sync();
    return paths.filter((path) => !done.has(path));
  }

  #noteRemoved(path: BytePath, was: FileEntry): void {
    this.#copies.delete(path);
    this.#parts.layer.forget([path]);
    this.#committing.noteYielded(path, was);
  }

  async #wanted(paths: readonly BytePath[]): Promise<Wanted[]> {
    const { layer, tree } = this.#parts;
    const wanted: Wanted[] = [];
    let room = this.#room();
    for (const path of paths) {
      const inLayer = await layer.layerStateOf(path);
      if (inLayer === 'other') continue;
      const isOurs = inLayer !== 'none';
      // A command's change that the real tree does not have is merged, or stays pending.
      if (isOurs && !this.#committing.isSettled(path)) continue;
      const was = isOurs ? inLayer.entry : null;
      const upperKey = isOurs ? inLayer.upperKey : null;
      const known = this.#copies.get(path)?.[0]?.key ?? this.#committing.applied.keyAt(path);
      const wasIno = isOurs && known !== null ? inoOf(known) : null;
      const at = { path, upperKey, wasIno, was };
      const stat = tree.statAt(path);
      if (stat === null && isOurs) wanted.push({ ...at, next: null, copy: null });
      // What has another name, too, would be two files.
      if (stat?.isFile() !== true || stat.nlink > 1n || (stat.mode & 0o7000n) !== 0n) continue;
      const found = readCurrentFile(tree.root, path, Math.min(room, fileBytesMax));
      if (found === null || (!this.#copies.has(path) && this.#copies.size >= copiesMax)) continue;
      room -= found.bytes.length;
      const { entry, key, bytes } = found;
      this.#parts.store.put(bytes);
      const { mode, mtimeMs } = entry;
      const next = { bytes, ino: inoOf(key), mode, mtimeMs };
      wanted.push({ ...at, next, copy: { entry, key } });
    }
    return wanted;
  }

  #room(): number {
    let used = 0;
    for (const [copy] of this.#copies.values()) used += copy?.entry.size ?? 0;
    return Math.max(0, Math.min(batchBytesMax, copiesBytesMax - used));
  }
}

function inoOf(key: StatKey): bigint {
  return BigInt(key.slice(0, key.indexOf(':')));
}
