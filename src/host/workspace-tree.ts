/** The real directory behind workspaces: one for all views of it. */
import { type BigIntStats, lstatSync } from 'node:fs';
import type { BytePath, Change, StatKey } from '../change.ts';
import { TreeIdentity } from '../snapshot/tree-identity.ts';
import { baseNameOf, isAtOrBelow, joinPath, parentPathOf } from '../workspace/byte-path.ts';
import { bulkDirectoryOf } from '../workspace/commit/move-directory.ts';
import { OpenDirectory } from '../workspace/projection/open-directory.ts';
import {
  type TreeChanges,
  TreeWatch,
  type WatchCursor,
} from '../workspace/projection/tree-watch.ts';
import { statKey } from '../workspace/stat.ts';
import { isGitDirectory } from '../workspace/walk.ts';
import { CommandMadePaths } from './change-record.ts';
import { FileVersions } from './file-versions.ts';
import { SerialQueue } from './scheduling.ts';

export class WorkspaceTree {
  readonly root: string;
  readonly watch: TreeWatch;
  readonly identity = new TreeIdentity();
  readonly versions: FileVersions;
  readonly made = new CommandMadePaths();
  readonly #cursor: WatchCursor;
  /** What commits changed since the last look. */
  #committed: BytePath[] = [];
  /** Directories that arrived with all their entries. */
  readonly #moved = new Set<BytePath>();
  readonly #serial = new SerialQueue();
  /** The directory that was looked into last, until this turn of the event loop is over. */
  #near: { readonly path: BytePath; readonly directory: OpenDirectory } | null = null;

  constructor(root: string, cookieDir: string) {
    this.root = root;
    this.versions = new FileVersions(root);
    this.watch = TreeWatch.start(root, { cookieDir });
    this.#cursor = this.watch.cursor();
  }

  /** One writer at a time: `work` begins when those before it have ended. */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    return this.#serial.run(work);
  }

  /** Notes what a commit changed; `changes` are looked at for what was moved whole. */
  noteChanges(
    paths: readonly BytePath[],
    changes: readonly Pick<Change, 'path' | 'after'>[] = [],
  ): void {
    for (const path of paths) this.#committed.push(path);
    for (const { path, after } of changes) {
      if (bulkDirectoryOf(after) !== null) this.#moved.add(path);
    }
  }

  /**
   * Detects whether others changed the tree since the last look; if so it has another id from now
   * on. Their changes in the very directories of a commit, during the commit, cannot be
   * distinguished from it.
   */
  async detectExternalChanges(): Promise<void> {
    const committed = this.#committed;
    this.#committed = [];
    const moved = new Set(this.#moved);
    this.#moved.clear();
    const settled = await this.#cursor.nextChanges();
    if (isElsewhere(settled, committed, moved)) this.identity.noteUnrecordedChange();
  }

  /** Of the current entry at a path; `null`: none. */
  keyAt(path: BytePath): StatKey | null {
    const stat = this.statAt(path);
    return stat === null ? null : statKey(stat);
  }

  /** Whether it is known to have had a file at a path. */
  wasThere(path: BytePath): boolean {
    return this.versions.of(path).length > 0;
  }

  /** When an existing directory on the way to a path was last changed; Unix ns. */
  pathChangedNs(path: BytePath): bigint {
    let newest = this.#ownStat().ctimeNs;
    let at = '';
    for (const part of path.split('/').slice(0, -1)) {
      at = joinPath(at, part);
      const stat = this.statAt(at);
      if (stat?.isDirectory() !== true) break;
      if (stat.ctimeNs > newest) newest = stat.ctimeNs;
    }
    return newest;
  }

  statAt(path: BytePath): BigIntStats | null {
    try {
      return this.#open(parentPathOf(path)).look(baseNameOf(path));
    } catch {
      return null;
    }
  }

  #ownStat(): BigIntStats {
    return lstatSync(this.root, { bigint: true });
  }

  /** Whether a path is a git directory, bare or not, or inside one. */
  isInRepository(path: BytePath): boolean {
    for (let at = path; at !== ''; at = parentPathOf(at)) {
      if (baseNameOf(at).toLowerCase() === '.git') return true;
      const names = ['HEAD', 'objects', 'refs'];
      const found = names.filter((name) => this.statAt(joinPath(parentPathOf(at), name)) !== null);
      if (isGitDirectory(new Set(found))) return true;
    }
    return false;
  }

  #open(path: BytePath): OpenDirectory {
    if (this.#near?.path === path) return this.#near.directory;
    const directory = OpenDirectory.open(this.root, path);
    if (this.#near === null) setImmediate(() => this.#letGo());
    this.#letGo();
    this.#near = { path, directory };
    return directory;
  }

  #letGo(): void {
    this.#near?.directory[Symbol.dispose]();
    this.#near = null;
  }

  /** What is in a directory; nothing where it is gone, or not to be read. */
  entries(directory: BytePath): BytePath[] {
    try {
      using open = OpenDirectory.open(this.root, directory);
      return open.entries().map(({ name }) => joinPath(directory, name.toString('latin1')));
    } catch {
      return [];
    }
  }

  /** Running commands may have them open, and no refresh updates those: each is checked by name. */
  namesIn(directories: readonly BytePath[] | 'all', isBusy: boolean): readonly BytePath[] | 'all' {
    if (directories === 'all' || !isBusy) return directories;
    return directories.flatMap((path) => [path, ...this.entries(path)]);
  }

  close(): void {
    this.watch.close();
  }
}

function isElsewhere(
  settled: TreeChanges,
  committed: readonly BytePath[],
  moved: ReadonlySet<BytePath>,
): boolean {
  if (!settled.changed) return false;
  if (settled.directories === 'all') return true;
  // A created or removed directory is named itself and by its parent.
  const known = new Set(committed.flatMap((path) => [path, parentPathOf(path)]));
  return settled.directories.some((path) => !known.has(path) && !isAtOrBelow(path, moved));
}

/** Every tree that sessions work in. */
export class WorkspaceTrees {
  readonly #cookieDir: string;
  readonly #all = new Map<string, { readonly tree: WorkspaceTree; readonly users: Set<string> }>();

  /** @param cookieDir a private directory outside every workspace */
  constructor(cookieDir: string) {
    this.#cookieDir = cookieDir;
  }

  use(root: string, view: string): WorkspaceTree {
    const known = this.#all.get(root) ?? {
      tree: new WorkspaceTree(root, this.#cookieDir),
      users: new Set<string>(),
    };
    known.users.add(view);
    this.#all.set(root, known);
    return known.tree;
  }

  find(root: string): WorkspaceTree | null {
    return this.#all.get(root)?.tree ?? null;
  }

  leave(view: string): void {
    for (const [root, { tree, users }] of this.#all) {
      if (!users.delete(view) || users.size > 0) continue;
      tree.close();
      this.#all.delete(root);
    }
  }

  close(): void {
    for (const { tree } of this.#all.values()) tree.close();
    this.#all.clear();
  }
}
