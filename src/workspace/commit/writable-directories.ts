/** The directories of a tree in which something is being changed, held open and made writable. */
import { accessSync, type BigIntStats, closeSync, constants, fstatSync, openSync } from 'node:fs';
import type { BytePath, StatKey } from '../../change.ts';
import { isSameInode, modeOfDescriptor, openEntry, setMode } from '../beneath.ts';
import { entryPathIn, O_PATH } from '../byte-path.ts';
import { statKey } from '../stat.ts';
import { TreePathResolver } from './tree-path-resolver.ts';

const { O_DIRECTORY, R_OK, W_OK, X_OK } = constants;
const ownerAll = 0o700;

type Identity = Pick<BigIntStats, 'dev' | 'ino'>;

interface Later {
  readonly mode: number;
  /** Identifies the directory itself, as another process may replace it. */
  readonly directory: Identity;
}

export class WritableDirectories {
  readonly steps: TreePathResolver;
  readonly #isRoot = process.geteuid?.() === 0;
  readonly #held = new Map<BytePath, number>();
  /** Modes to be set when everything in the directories is done. */
  readonly #modes = new Map<BytePath, Later>();

  /** @param root absolute, without a link in it */
  constructor(root: string) {
    this.steps = new TreePathResolver(root);
  }

  /** The way to an entry. @throws Error `ENOTDIR` where its directory is missing or a link. */
  at(path: BytePath): Buffer {
    return this.steps.at(path) ?? missing();
  }

  /** A directory that stays open until `release`, or is given away by `detach`. @throws as `at` */
  hold(path: BytePath): number {
    const known = this.#held.get(path);
    if (known !== undefined) return known;
    const fd = openSync(
      entryPathIn(this.steps.directory(path) ?? missing(), '.'),
      O_PATH | O_DIRECTORY,
    );
    this.#held.set(path, fd);
    return fd;
  }

  /** Holds a directory and lets its owner write to it, until its mode is set at the end. */
  enter(path: BytePath): number {
    const fd = this.hold(path);
    if (this.#isRoot) return fd;
    try {
      accessSync(`/proc/self/fd/${fd}/.`, R_OK | W_OK | X_OK);
    } catch {
      const mode = modeOfDescriptor(fd);
      setMode(fd, mode | ownerAll);
      if (!this.#modes.has(path)) this.setLater(path, mode, fstatSync(fd, { bigint: true }));
    }
    return fd;
  }

  /** Notes the mode that this very directory is to have at the end. */
  setLater(path: BytePath, mode: number, { dev, ino }: Identity): void {
    this.#modes.set(path, { mode, directory: { dev, ino } });
  }

  /** Sets modes, the deepest directories first, and reports each key or failure. */
  setModes(tell: (path: BytePath, outcome: { key: StatKey } | { error: unknown }) => void): void {
    const deepestFirst = [...this.#modes].toSorted(([a], [b]) => (a < b ? 1 : -1));
    for (const [path, later] of deepestFirst) {
      try {
        tell(path, { key: this.#setMode(path, later) });
      } catch (error) {
        tell(path, { error });
      }
    }
  }

  #setMode(path: BytePath, { mode, directory }: Later): StatKey {
    const fd = openEntry(this.at(path));
    try {
      if (!isSameInode(fd, directory)) missing();
      if (modeOfDescriptor(fd) !== mode) setMode(fd, mode);
      return statKey(fstatSync(fd, { bigint: true }));
    } finally {
      closeSync(fd);
    }
  }

  /** Hands over the open directory; the caller closes it. Later lookups start again. */
  detach(): readonly number[] {
    const held = [...this.#held.values()];
    this.#held.clear();
    this.steps.close();
    return held;
  }

  /** Closes what is held. */
  release(): void {
    for (const fd of this.detach()) closeSync(fd);
  }
}

function missing(): never {
  throw Object.assign(new Error('no directory'), { code: 'ENOTDIR' });
}
