/** Walks a tree for what policy hides in it, and knows it again after parts of it changed. */
import type { BytePath } from '../../change.ts';
import { TrlError } from '../../errors.ts';
import {
  baseNameOf,
  errnoCodeOf,
  isSamePathList,
  joinPath,
  parentPathOf,
  topmostPaths,
} from '../byte-path.ts';
import { TimeSlices } from '../time-slices.ts';
import { Aliases } from './aliases.ts';
import { OpenDirectory } from './open-directory.ts';
import type { Visibility } from './visibility.ts';

interface HiddenPathsOptions {
  readonly root: string;
  readonly visibility: Visibility;
  /** Bound of the entries looked at. */
  readonly entriesMax: number;
}

/** What a walk remembers of a directory that is not hidden itself. */
interface Seen {
  /** Directories in it that were walked too. */
  readonly walked: readonly string[];
  /** Entries that are hidden, whatever is below them. */
  readonly hidden: readonly string[];
  /** Whether something in it other than walked directories is shown. */
  readonly shows: boolean;
  /** Whether an `allow` rule names it or a directory that holds it. */
  readonly isAllowed: boolean;
  readonly entries: number;
}

/** The entries of a git directory, by which it is known. */
const gitNames = ['HEAD', 'objects', 'refs'] as const;

/** The topmost hidden paths of a tree. */
export class HiddenPaths {
  readonly #options: HiddenPathsOptions;
  readonly #seen = new Map<BytePath, Seen>();
  readonly #aliases: Aliases;
  readonly #gits = new Set<BytePath>();
  /** Topmost hidden paths without their other names, and with them. */
  #direct: ReadonlySet<BytePath> = new Set();
  #listed: readonly BytePath[] = [];
  #isStale = true;
  #entries = 0;

  private constructor(options: HiddenPathsOptions) {
    this.#options = options;
    this.#aliases = new Aliases(options.root, options.visibility);
  }

  /**
   * Walks the whole tree.
   *
   * @throws TrlError `QUOTA_EXCEEDED` where the tree has more entries than the bound: nothing is
   *   known then, so nothing may be shown
   */
  static async read(options: HiddenPathsOptions): Promise<HiddenPaths> {
    const hidden = new HiddenPaths(options);
    await hidden.reread('all');
    return hidden;
  }

  /** Looks again at these directories, and at what is new below them. @throws as {@link read} */
  async reread(directories: readonly BytePath[] | 'all'): Promise<void> {
    this.#aliases.changed(directories);
    if (directories === 'all') this.#forget('');
    const known = directories === 'all' ? [''] : directories;
    await this.#walk([...new Set(known.map((path) => this.#nearestSeen(path)))]);
  }

  /**
   * Topmost hidden paths in byte order; whole directories where nothing below is shown. Other names
   * of denied files are among them. The same array as long as nothing changed.
   */
  async list(): Promise<readonly BytePath[]> {
    if (this.#isStale || this.#aliases.isTouched(this.#direct)) {
      const direct = topmostPaths([...this.#folded()]);
      this.#direct = new Set(direct);
      const aliases = await this.#aliases.of(this.#direct, this.#seen.keys());
      const listed = topmostPaths([...direct, ...aliases]);
      if (!isSamePathList(listed, this.#listed)) this.#listed = listed;
      this.#isStale = false;
    }
    this.#aliases.forgetChanges();
    return this.#listed;
  }

  /** `.git` of any kind, and git directories of other names, that no rule hides. */
  get gitDirectories(): readonly BytePath[] {
    return [...this.#gits];
  }

  #nearestSeen(path: BytePath): BytePath {
    let at = path;
    while (at !== '' && !this.#seen.has(at)) at = parentPathOf(at);
    return at;
  }

  async #walk(from: readonly BytePath[]): Promise<void> {
    const queue = [...from];
    const slices = new TimeSlices();
    for (const path of queue) {
      if (slices.isOver) await slices.yieldTurn();
      const before = this.#seen.get(path);
      const now = this.#look(path);
      const walked = new Set(now?.walked);
      for (const name of before?.walked ?? []) {
        if (!walked.has(name)) this.#forget(joinPath(path, name));
      }
      if (now === null) {
        this.#forget(path);
        continue;
      }
      this.#entries += now.entries - (before?.entries ?? 0);
      this.#isStale ||=
        !isSamePathList(before?.hidden ?? [], now.hidden) || before?.shows !== now.shows;
      this.#seen.set(path, now);
      for (const name of now.walked) {
        const child = joinPath(path, name);
        if (!this.#seen.has(child)) queue.push(child);
      }
      this.#bound();
    }
  }

  #bound(): void {
    const { entriesMax, root } = this.#options;
    if (this.#entries <= entriesMax) return;
    const why = `it has more than ${entriesMax} entries`;
    throw new TrlError('QUOTA_EXCEEDED', `Cannot hide files of workspace "${root}": ${why}`);
  }

  /**
   * `null`: it is gone. An unreadable entry is hidden completely, because its content is unknown.
   */
  #look(path: BytePath): Seen | null {
    const { root, visibility } = this.#options;
    const isAllowed =
      visibility.allows(path) || this.#seen.get(parentPathOf(path))?.isAllowed === true;
    try {
      using directory = OpenDirectory.open(root, path);
      const entries = directory.entries();
      const names = new Map(
        entries.map((entry) => [entry.name.toString('latin1'), entry.isDirectory()]),
      );
      return this.#sort(path, names, isAllowed);
    } catch (error) {
      const code = errnoCodeOf(error);
      if (path !== '' && (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP')) return null;
      if (path !== '' && (code === 'EACCES' || code === 'EPERM')) {
        return { walked: [], hidden: ['.'], shows: false, isAllowed, entries: 0 };
      }
      throw new TrlError('INTERNAL_ERROR', `Cannot hide files of workspace "${root}": not read`, {
        cause: error,
      });
    }
  }

  #sort(path: BytePath, names: ReadonlyMap<string, boolean>, isAllowed: boolean): Seen {
    const { visibility } = this.#options;
    const walked: string[] = [];
    const hidden: string[] = [];
    let shows = isAllowed;
    const isGit = gitNames.every((name) => names.has(name));
    this.#noteGit(path, isGit, names);
    for (const [name, isDirectory] of names) {
      const child = joinPath(path, name);
      const isChildAllowed = isAllowed || visibility.allows(child);
      const leads = isDirectory && visibility.mayLeadToAllowed(child);
      if (visibility.denies(child) || visibility.denies('')) hidden.push(name);
      else if (!isChildAllowed && !leads) hidden.push(name);
      else if (!isDirectory) shows ||= name !== '.git';
      else if (!(isGit && name === 'objects')) walked.push(name);
      else shows = true;
    }
    return { walked, hidden, shows, isAllowed, entries: names.size };
  }

  #noteGit(path: BytePath, isGit: boolean, names: ReadonlyMap<string, boolean>): void {
    if (isGit) this.#gits.add(path);
    // A `.git` is noted by what holds it, whatever it is.
    else if (baseNameOf(path) !== '.git') this.#gits.delete(path);
    const dotGit = joinPath(path, '.git');
    if (names.has('.git')) this.#gits.add(dotGit);
    else this.#gits.delete(dotGit);
  }

  #forget(first: BytePath): void {
    const stack = [first];
    for (let path = stack.pop(); path !== undefined; path = stack.pop()) {
      const seen = this.#seen.get(path);
      this.#seen.delete(path);
      this.#gits.delete(path);
      this.#gits.delete(joinPath(path, '.git'));
      if (seen === undefined) continue;
      this.#isStale ||= seen.hidden.length > 0 || this.#options.visibility.isAllowList;
      this.#entries -= seen.entries;
      for (const name of seen.walked) stack.push(joinPath(path, name));
    }
  }

  /** Hidden paths, with directories that show nothing hidden whole where there is an `allow`. */
  #folded(): Set<BytePath> {
    const found = new Set<BytePath>();
    const { isAllowList } = this.#options.visibility;
    // Children come after their parents, so the other way round they are known first.
    const paths = [...this.#seen.keys()].toReversed();
    const empty = new Set<BytePath>();
    for (const path of isAllowList ? paths : []) {
      const seen = this.#seen.get(path);
      const shows = seen?.walked.some(
        (name) => name !== '.git' && !empty.has(joinPath(path, name)),
      );
      if (seen?.shows !== true && shows !== true && path !== '') empty.add(path);
    }
    for (const [path, seen] of this.#seen) {
      if (empty.has(path)) {
        if (!empty.has(parentPathOf(path))) found.add(path);
        continue;
      }
      for (const name of seen.hidden) found.add(name === '.' ? path : joinPath(path, name));
    }
    return found;
  }
}
