/**
 * Whether a link out of the workspace leads to files that every sandbox shows read-only:
 * interpreters, libraries and tools. Such a link reveals nothing new to a command and lets it write
 * nothing; virtual environments consist of them. A program on the host that follows the link must
 * not write through it either, so it leads to a program, or to a file that the person may not
 * write.
 */
import { accessSync, constants, lstatSync, readlinkSync, realpathSync, type Stats } from 'node:fs';
import type { BytePath } from '../../change.ts';
import { bytePathOf, pathBytes, isAtOrBelow, parentPathOf } from '../byte-path.ts';

const linksMax = 40;
/** Directories in which people own some of what is deeper. */
const local: ReadonlySet<BytePath> = new Set(['/opt', '/usr/local']);

export class SystemTrees {
  /** Their names and real paths, as bytes. */
  readonly #trees: ReadonlySet<BytePath>;
  /** The directories on the way to them. */
  readonly #above: ReadonlySet<BytePath>;
  readonly #hidden: ReadonlySet<BytePath>;

  /**
   * @param shown absolute paths that every sandbox shows read-only
   * @param hidden absolute paths that a link must not lead to or through
   */
  constructor(shown: readonly string[], hidden: readonly string[]) {
    this.#trees = namesOf(shown);
    this.#above = new Set([...this.#trees, ...local].flatMap(parentsOf));
    this.#hidden = namesOf(hidden);
  }

  /** Whether `target` (absolute) steps only through shown trees, and ends at what may be linked. */
  shows(target: BytePath): boolean {
    let rest = stepsOf(target);
    let at = '';
    let end: Stats | null = null;
    for (let links = 0; rest.length > 0;) {
      const [part = '', ...after]: string[] = rest;
      rest = after;
      const next = part === '..' ? parentPathOf(at) : `${at}/${part}`;
      const found = lookAt(next === '' ? '/' : next);
      if (found === null || !this.#mayPass(next, found)) return false;
      if (!found.isSymbolicLink()) {
        at = next;
        end = found;
        continue;
      }
      const leads = linkOf(next);
      if (leads === null || ++links > linksMax) return false;
      if (leads.startsWith('/')) at = '';
      rest = [...stepsOf(leads), ...rest];
    }
    return end !== null && this.#isShown(at) && this.#mayEnd(at, end);
  }

  /** `/bin` and its like are the system's own links, on the way to a shown tree. */
  #mayPass(path: BytePath, found: Stats): boolean {
    if (isAtOrBelow(path, this.#hidden)) return false;
    if (this.#isShown(path)) return true;
    return found.isSymbolicLink() ? parentPathOf(path) === '' : this.#above.has(path);
  }

  #mayEnd(path: BytePath, found: Stats): boolean {
    if (found.isFile()) return (found.mode & 0o111) !== 0 || !mayWrite(path, found);
    if (!found.isDirectory() || mayWrite(path, found)) return false;
    return !this.#above.has(path) && !isAtOrBelow(path, local);
  }

  #isShown(path: BytePath): boolean {
    return isAtOrBelow(path, this.#trees);
  }
}

/** Root may write despite the mode, so a file counts as read-only if no mode bit allows writing. */
function mayWrite(path: BytePath, { mode }: Stats): boolean {
  if (process.getuid?.() === 0) return (mode & 0o222) !== 0;
  try {
    accessSync(pathBytes(path), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function lookAt(path: BytePath): Stats | null {
  try {
    return lstatSync(pathBytes(path));
  } catch {
    return null;
  }
}

function linkOf(path: BytePath): BytePath | null {
  try {
    return readlinkSync(pathBytes(path), 'latin1');
  } catch {
    return null;
  }
}

function stepsOf(path: BytePath): string[] {
  return path.split('/').filter((part) => part !== '' && part !== '.');
}

/** With `''`, which is the root. */
function parentsOf(path: BytePath): BytePath[] {
  const parent = parentPathOf(path);
  return path === '' ? [] : [parent, ...parentsOf(parent)];
}

function namesOf(paths: readonly string[]): ReadonlySet<BytePath> {
  return new Set(
    paths.flatMap((path) => {
      try {
        return [bytePathOf(path), bytePathOf(realpathSync(path))];
      } catch {
        return [bytePathOf(path)];
      }
    }),
  );
}
