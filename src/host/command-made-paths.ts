/**
 * What commands left in the real tree, as far as this runtime knows. They may change it again, also
 * where undo does not have it, and it is given up before what anybody else made.
 */
import type { BytePath, Entry } from '../change.ts';
import type { CommitItem } from '../workspace/commit/commit-item.ts';

/** Past this nothing is known any more, and all counts as somebody else's. */
const knownMax = 50_000;

export class CommandMadePaths {
  readonly #known = new Set<string>();

  has(path: BytePath, entry: Entry | null): boolean {
    const name = nameOf(path, entry);
    return name !== null && this.#known.has(name);
  }

  /** Whether a command had moved a directory there as one. */
  isWhole(path: BytePath): boolean {
    return this.#known.has(wholeName(path));
  }

  /** These have reached the real tree. */
  note(items: readonly Pick<CommitItem, 'path' | 'base' | 'after'>[]): void {
    for (const { path, base, after } of items) {
      const name = nameOf(path, after);
      // With new times or a new mode it stays what it was.
      if (name === null || name === nameOf(path, base)) continue;
      if (this.#known.size >= knownMax) this.#known.clear();
      this.#known.add(name);
    }
  }
}

/** `null`: nothing that could be told from what stood there before. */
function nameOf(path: BytePath, entry: Entry | null): string | null {
  if (entry?.type === 'file') return entry.sha256 === null ? null : `${entry.sha256} ${path}`;
  return entry?.type === 'directory' && entry.whole !== undefined ? wholeName(path) : null;
}

const wholeName = (path: BytePath): string => `whole ${path}`;
