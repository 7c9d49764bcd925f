/** The tree as it would be with all changes in it, and where paths in it lead. Reads no content. */
import type { BytePath, Entry } from '../../change.ts';
import type { JudgedChange, FilterLookup } from './commit-filter.ts';

const linksMax = 40;

interface Led {
  readonly inside: BytePath | null;
  readonly outside: BytePath | null;
}

const nowhere: Led = { inside: null, outside: null };

/** Only an absolute target: where a relative one ends, changes with the place of the workspace. */
function leadsOut(target: string, rest: readonly string[]): Led {
  if (!target.startsWith('/')) return nowhere;
  return { inside: null, outside: [target, ...rest].join('/') };
}

export class MergedView {
  readonly #root: string;
  readonly #changes: ReadonlyMap<BytePath, JudgedChange>;
  readonly #look: FilterLookup;
  readonly #real = new Map<BytePath, Entry | null>();

  /** @param root absolute, as bytes */
  constructor(root: string, changes: ReadonlyMap<BytePath, JudgedChange>, look: FilterLookup) {
    this.#root = root;
    this.#changes = changes;
    this.#look = look;
  }

  entry(path: BytePath): Entry | null {
    const change = this.#changes.get(path);
    return change === undefined ? this.real(path) : change.after;
  }

  /** Whether the content at `path` is one that a change brings. */
  isChanged(path: BytePath): boolean {
    return this.#changes.has(path);
  }

  real(path: BytePath): Entry | null {
    const known = this.#real.get(path);
    if (known !== undefined) return known;
    const found = path === '' ? ({ type: 'directory', mode: 0 } as const) : this.#look.real(path);
    this.#real.set(path, found);
    return found;
  }

  /** The start of a content, as it would be; `null` where it cannot be told. */
  text(path: BytePath, bytesMax: number): Promise<string | null> {
    const side = this.#changes.has(path) ? 'after' : 'real';
    return this.#look.text(path, side, bytesMax);
  }

  realText(path: BytePath, bytesMax: number): Promise<string | null> {
    return this.#look.text(path, 'real', bytesMax);
  }

  /**
   * Where `target`, written in the directory `from`, leads to; `null`: out of the workspace, or it
   * could later. A `..` behind a name could: when the name becomes a link.
   */
  resolve(from: BytePath, target: string): BytePath | null {
    return this.#lead(from, target).inside;
  }

  /** The absolute path by which `target` leads out, where a link on the way names one. */
  exit(from: BytePath, target: string): BytePath | null {
    return this.#lead(from, target).outside;
  }

  #lead(from: BytePath, target: string): Led {
    let links = 0;
    let at: string[] = from === '' ? [] : from.split('/');
    let rest = this.#enter(target);
    if (rest === null) return leadsOut(target, []);
    if (target.startsWith('/')) at = [];
    while (rest.length > 0) {
      const [part = '', ...after]: string[] = rest;
      rest = after;
      if (part === '..') {
        if (at.pop() === undefined) return nowhere;
        continue;
      }
      const entry = this.entry([...at, part].join('/'));
      if (entry?.type !== 'symlink') {
        at.push(part);
        continue;
      }
      const next = this.#enter(entry.target);
      if (++links > linksMax) return nowhere;
      if (next === null) return leadsOut(entry.target, rest);
      if (entry.target.startsWith('/')) at = [];
      rest = [...next, ...rest];
    }
    return { inside: at.join('/'), outside: null };
  }

  /** The parts of a target, from the workspace if it is absolute; `null`: elsewhere. */
  #enter(target: string): string[] | null {
    const isAbsolute = target.startsWith('/');
    if (isAbsolute && target !== this.#root && !target.startsWith(`${this.#root}/`)) return null;
    const relative = isAbsolute ? target.slice(this.#root.length) : target;
    const parts = relative.split('/').filter((part) => part !== '' && part !== '.');
    return parts.lastIndexOf('..') > parts.findIndex((part) => part !== '..') &&
      parts.some((part) => part !== '..')
      ? null
      : parts;
  }
}
