/** Walks a directory and finds out whether it can be moved as one. */
import { closeSync, type Dirent } from 'node:fs';
import type { BytePath, DirectorySummary, Entry } from '../../change.ts';
import { openDirectory } from '../beneath.ts';
import { baseNameOf, parentPathOf } from '../byte-path.ts';
import { TreeCursor } from '../changes/tree-cursor.ts';
import { permissionBits } from '../stat.ts';
import { WorkPacer } from '../time-slices.ts';
import { isGitDirectory } from '../walk.ts';
import type { AtomicRenames, RenameRequest } from './atomic-renames.ts';
import type { JudgedChange } from './commit-filter.ts';

const [entriesMax, pathBytesMax] = [500_000, 3_000];
/** Directories in one request, and requests before an answer. */
const [askedMax, waitingMax] = [16, 2];
/** An overlay says so of a directory that is new in it. */
const opaque = 'user.overlay.opaque';

interface Level {
  readonly path: BytePath;
  readonly entries: readonly Dirent[];
  next: number;
}

export class BulkDirectoryWalk implements Disposable {
  readonly counts: Record<'files' | 'directories' | 'links' | 'bytes', number> = {
    files: 0,
    directories: 0,
    links: 0,
    bytes: 0,
  } satisfies Omit<DirectorySummary, 'manifest'>;
  readonly #tree: number;
  readonly #cursor: TreeCursor;
  readonly #top: BytePath;
  readonly #renames: AtomicRenames | null;
  readonly #sinceS: number;
  readonly #all: JudgedChange[] = [];
  /** Names of files with several that were not met yet, by number. */
  readonly #missing = new Map<number, number>();
  #asked: RenameRequest[] = [];
  readonly #answers: Promise<boolean>[] = [];

  /**
   * @param tree absolute, in which nobody changes anything meanwhile
   * @param renames `null`: attributes go along, and are nobody's concern
   * @param sinceS Unix s: what is older is on the disk
   */
  constructor(tree: string, top: BytePath, renames: AtomicRenames | null, sinceS = 0) {
    this.#sinceS = sinceS;
    this.#tree = openDirectory(tree);
    this.#cursor = new TreeCursor(tree, { mayWiden: false });
    this.#top = top;
    this.#renames = renames;
  }

  /**
   * The directory and everything in it, in walk order; `null`: it cannot be moved as one, because
   * it contains entries that are handled separately (repositories, special files) or that would
   * take something along (other names of its files, attributes). Its contents are being written to
   * the disk then.
   */
  async run(): Promise<readonly JudgedChange[] | null> {
    const top = this.#note(this.#top);
    const isPlain = top === 'directory' && (await this.#walk());
    await this.#ask();
    const isAll = (await Promise.all(this.#answers)).every(Boolean);
    return isPlain && isAll && this.#missing.size === 0 ? this.#all : null;
  }

  async #walk(): Promise<boolean> {
    const pace = new WorkPacer();
    const levels: Level[] = [];
    const first = await this.#enter(this.#top);
    if (first === null) return false;
    levels.push(first);
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      if (pace.isDue()) await pace.rest();
      const entry = level.entries[level.next];
      level.next += 1;
      if (entry === undefined) {
        levels.pop();
        continue;
      }
      const path = `${level.path}/${entry.name}`;
      const type = this.#note(path);
      if (type === null || this.#all.length > entriesMax) return false;
      const inside = type === 'directory' ? await this.#enter(path) : null;
      if (inside !== null) levels.push(inside);
      else if (type === 'directory') return false;
    }
    return true;
  }

  async #enter(path: BytePath): Promise<Level | null> {
    if (path.length > pathBytesMax || this.#cursor.goto(path) !== 'here') return null;
    const entries = this.#cursor.entries();
    const names = new Set(entries.map(({ name }) => name));
    const isGits = entries.some(({ name }) => name.toLowerCase() === '.git');
    if (isGits || isGitDirectory(names)) return null;
    const named = { name: path, temporary: '.', fallbackName: '.' };
    const key = `${this.#sinceS} ${path === this.#top ? opaque : ''}`;
    this.#asked.push({ kind: 'plain', directory: this.#tree, staging: null, ...named, key });
    if (this.#asked.length >= askedMax) await this.#ask();
    return { path, entries: entries.toSorted((a, b) => (a.name < b.name ? -1 : 1)), next: 0 };
  }

  async #ask(): Promise<void> {
    const asked = this.#asked;
    this.#asked = [];
    if (asked.length === 0 || this.#renames === null) return;
    await this.#answers.at(-waitingMax);
    const answer = this.#renames.run(asked);
    this.#answers.push(answer.then((said) => said.every((one) => one === 'done')));
  }

  /** The entry; `null`: it is handled separately. */
  #note(path: BytePath): 'file' | 'directory' | 'symlink' | null {
    if (this.#cursor.goto(parentPathOf(path)) !== 'here') return null;
    const stat = this.#cursor.quickStat(baseNameOf(path));
    if (stat === null) return null;
    const { counts } = this;
    const mode = stat.mode & permissionBits;
    let after: Entry;
    if (stat.isFile()) {
      after = { type: 'file', mode, size: stat.size, mtimeMs: stat.mtimeMs, sha256: null };
      counts.files += 1;
      counts.bytes += stat.size;
      if (stat.nlink > 1) this.#meet(stat.ino, stat.nlink);
    } else if (stat.isDirectory()) {
      after = { type: 'directory', mode };
      counts.directories += path === this.#top ? 0 : 1;
    } else {
      const target = stat.isSymbolicLink() ? this.#cursor.readLink(baseNameOf(path)) : null;
      if (target === null) return null;
      after = { type: 'symlink', target };
      counts.links += 1;
    }
    this.#all.push({ path, before: null, after });
    return after.type;
  }

  #meet(file: number, names: number): void {
    const missing = (this.#missing.get(file) ?? names) - 1;
    if (missing === 0) this.#missing.delete(file);
    else this.#missing.set(file, missing);
  }

  [Symbol.dispose](): void {
    this.#cursor[Symbol.dispose]();
    closeSync(this.#tree);
  }
}
