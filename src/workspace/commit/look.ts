/** How the filter looks at files: the real tree, and the session's new contents. */
import type { BytePath, Entry } from '../../change.ts';
import type { Look } from './held.ts';
import type { Source } from './item.ts';
import { TreeSteps } from './steps.ts';
import { entryOf } from './standing.ts';

/**
 * Reads the tree at `root`, and new contents where `sourceOf` says they stand. Follows no link and
 * opens regular files only. Close it after judging: it holds directories open.
 */
export class TreeLook implements Look {
  readonly #real: TreeSteps;
  readonly #sources = new Map<string, TreeSteps>();
  readonly #sourceOf: (path: BytePath) => Source | null;

  constructor(root: string, sourceOf: (path: BytePath) => Source | null) {
    this.#real = new TreeSteps(root);
    this.#sourceOf = sourceOf;
  }

  real(path: BytePath): Entry | null {
    return entryOf(this.#real, path);
  }

  text(path: BytePath, side: 'real' | 'after', bytesMax: number): Promise<string | null> {
    if (side === 'real') return Promise.resolve(this.#real.read(path, bytesMax));
    const source = this.#sourceOf(path);
    if (source === null) return Promise.resolve(null);
    const steps = this.#sources.get(source.tree) ?? new TreeSteps(source.tree);
    this.#sources.set(source.tree, steps);
    return Promise.resolve(steps.read(source.path, bytesMax));
  }

  [Symbol.dispose](): void {
    for (const steps of [this.#real, ...this.#sources.values()]) steps.close();
  }
}
