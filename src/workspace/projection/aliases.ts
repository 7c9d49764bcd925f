/**
 * Other names of denied files: hard links anywhere in the tree, and what denied links lead to. They
 * are looked for where a denied file has more names than those that are hidden anyway. What is
 * hidden only because no `allow` rule names it may be shown by another name.
 */
import { realpathSync } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import type { BytePath } from '../../change.ts';
import { bytePathOf, isAtOrBelow, joinPath, baseNameOf, parentPathOf } from '../byte-path.ts';
import { OpenDirectory } from './open-directory.ts';
import { TimeSlices } from '../time-slices.ts';
import type { Visibility } from './visibility.ts';

interface Found {
  readonly names: BytePath[];
  /** Inodes of denied files that have names which are not hidden, inside the tree or not. */
  readonly elsewhere: ReadonlySet<string>;
  /** Topmost hidden paths by their directory, each with its entry. */
  readonly held: ReadonlyMap<BytePath, ReadonlyMap<BytePath, string>>;
}

export class Aliases {
  readonly #root: string;
  readonly #visibility: Visibility;
  #last: Found | null = null;
  #changed: Set<BytePath> | 'all' = 'all';

  constructor(root: string, visibility: Visibility) {
    this.#root = root;
    this.#visibility = visibility;
  }

  /** In these directories, names were added, removed or changed since the last answer. */
  changed(directories: readonly BytePath[] | 'all'): void {
    if (directories === 'all') this.#changed = 'all';
    else if (this.#changed !== 'all') for (const one of directories) this.#changed.add(one);
  }

  forgetChanges(): void {
    this.#changed = new Set();
  }

  /** Other names of what is hidden, among the shown directories. */
  async of(hidden: ReadonlySet<BytePath>, shown: Iterable<BytePath>): Promise<readonly BytePath[]> {
    this.#last = await this.#find(hidden, shown);
    return this.#last.names;
  }

  /** Whether what changed may have made, moved or removed another name of a hidden file. */
  isTouched(hidden: ReadonlySet<BytePath>): boolean {
    const changed = this.#changed;
    if (changed === 'all' || this.#last === null) return true;
    const { elsewhere, held } = this.#last;
    if (elsewhere.size > 0 && changed.size > 0) return true;
    return [...changed].some(
      (one) => isAtOrBelow(one, hidden) || this.#hasOther(one, held.get(one) ?? new Map()),
    );
  }

  /**
   * Whether a directory has a file with several names, or its hidden entries differ from the
   * checked ones. It is opened once, as this runs before each command that follows a change.
   */
  #hasOther(path: BytePath, held: ReadonlyMap<BytePath, string>): boolean {
    try {
      using directory = OpenDirectory.open(this.#root, path);
      for (const entry of directory.entries()) {
        const name = entry.name.toString('latin1');
        if (entry.isFile() && !held.has(joinPath(path, name)) && directory.links(name) > 1) {
          return true;
        }
      }
      return [...held].some(([at, kind]) => {
        return kind === 'other' || kindOf(directory.look(baseNameOf(at) || '.')) !== kind;
      });
    } catch {
      // What is gone or cannot be read has no names to show.
      return [...held.values()].some((kind) => kind !== 'none');
    }
  }

  async #find(hidden: ReadonlySet<BytePath>, shown: Iterable<BytePath>): Promise<Found> {
    const counts = new Map<string, { readonly links: bigint; names: bigint }>();
    const targets: BytePath[] = [];
    const held = new Map<BytePath, Map<BytePath, string>>();
    const slices = new TimeSlices();
    const stack = [...hidden].map((at) => ({
      at,
      isDenied: this.#visibility.deniesWithParents(at),
    }));
    for (let one = stack.pop(); one !== undefined; one = stack.pop()) {
      if (slices.isOver) await slices.yieldTurn();
      const { at, isDenied } = one;
      const stat = this.#look(at);
      if (hidden.has(at)) {
        const beside = held.get(parentPathOf(at)) ?? new Map<BytePath, string>();
        held.set(parentPathOf(at), beside.set(at, kindOf(stat)));
      }
      if (stat?.isDirectory() === true) {
        for (const child of this.#names(at)) {
          stack.push({ at: child, isDenied: isDenied || this.#visibility.denies(child) });
        }
      } else if (isDenied && stat?.isSymbolicLink() === true) {
        targets.push(...this.#target(at));
      } else if (isDenied && stat?.isFile() === true && stat.nlink > 1n) {
        const key = keyOf(stat);
        const count = counts.get(key) ?? { links: stat.nlink, names: 0n };
        count.names += 1n;
        counts.set(key, count);
      }
    }
    const elsewhere = new Set(
      [...counts].filter(([, { links, names }]) => names < links).map(([key]) => key),
    );
    const names = await this.#named(elsewhere, hidden, shown);
    return { names: [...names, ...targets], elsewhere, held };
  }

  async #named(
    wanted: ReadonlySet<string>,
    hidden: ReadonlySet<BytePath>,
    shown: Iterable<BytePath>,
  ): Promise<BytePath[]> {
    const found: BytePath[] = [];
    if (wanted.size === 0) return found;
    const slices = new TimeSlices();
    for (const directory of shown) {
      if (slices.isOver) await slices.yieldTurn();
      for (const [name, stat] of this.#files(directory, hidden)) {
        if (stat.nlink > 1n && wanted.has(keyOf(stat))) found.push(joinPath(directory, name));
      }
    }
    return found;
  }

  /** Regular files in a directory. */
  #files(directory: BytePath, except: ReadonlySet<BytePath> | null): [string, BigIntStats][] {
    const found: [string, BigIntStats][] = [];
    try {
      using opened = OpenDirectory.open(this.#root, directory);
      for (const entry of opened.entries()) {
        const name = entry.name.toString('latin1');
        if (!entry.isFile() || except?.has(joinPath(directory, name)) === true) continue;
        const stat = opened.look(name);
        if (stat?.isFile() === true) found.push([name, stat]);
      }
    } catch {
      // What is gone or cannot be read has no names to show.
    }
    return found;
  }

  #look(at: BytePath): BigIntStats | null {
    try {
      using directory = OpenDirectory.open(this.#root, parentPathOf(at));
      return directory.look(baseNameOf(at) || '.');
    } catch {
      return null;
    }
  }

  #names(at: BytePath): BytePath[] {
    try {
      using directory = OpenDirectory.open(this.#root, at);
      return directory.entries().map((entry) => joinPath(at, entry.name.toString('latin1')));
    } catch {
      return [];
    }
  }

  /** Where a denied link leads in the tree; nothing where that holds the link itself. */
  #target(at: BytePath): BytePath[] {
    try {
      using directory = OpenDirectory.open(this.#root, parentPathOf(at));
      const name = directory.at(baseNameOf(at));
      const leads = realpathSync.native(name, { encoding: 'buffer' }).toString('latin1');
      const root = bytePathOf(this.#root);
      if (!leads.startsWith(`${root}/`)) return [];
      const target = leads.slice(root.length + 1);
      return `${at}/`.startsWith(`${target}/`) ? [] : [target];
    } catch {
      // It leads nowhere.
      return [];
    }
  }
}

/**
 * Equal kinds have the same other names, as long as nothing changed below a directory: a file of
 * one name has none, and a directory is the one that it was. `other`: nobody can tell.
 */
function kindOf(stat: BigIntStats | null): string {
  if (stat === null) return 'none';
  if (stat.isFile() && stat.nlink === 1n) return 'file';
  // The time distinguishes it from a later directory that got the inode.
  return stat.isDirectory() ? `${keyOf(stat)}:${stat.ctimeNs}` : 'other';
}

function keyOf(stat: BigIntStats): string {
  return `${stat.dev}:${stat.ino}`;
}
