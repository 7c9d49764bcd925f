/** How the filter looks at files: the real tree, and the session's new contents. */
import { createHash } from 'node:crypto';
import type { BytePath, Entry } from '../../change.ts';
import type { ContentStore } from '../../content-store.ts';
import type { FileEntry } from '../merge/current-file.ts';
import type { FilterLookup } from './commit-filter.ts';
import type { CommitSource } from './commit-item.ts';
import { TreePathResolver } from './tree-path-resolver.ts';
import { entryAt } from './entry-stat.ts';

/** A new content: where it stands, and what was told of it. */
export interface NewContent {
  readonly source: CommitSource | null;
  /** `null`: nobody read it. */
  readonly sha256: string | null;
}

export interface TreeLookupDependencies {
  /** Of the tree: absolute, without a link in it. */
  readonly root: string;
  readonly written: (path: BytePath) => NewContent | null;
  readonly contents: Pick<ContentStore, 'read'>;
  /** Default: every content of before is. */
  readonly isKept?: FilterLookup['isKept'];
}

/**
 * Reads the real tree, and new contents as they were told: what a command writes meanwhile is not
 * what will be applied. Follows no link and opens regular files only. Close it after judging: it
 * holds directories open.
 */
export class TreeLookup implements FilterLookup {
  readonly #real: TreePathResolver;
  readonly #sources = new Map<string, TreePathResolver>();
  readonly #parts: TreeLookupDependencies;

  constructor(parts: TreeLookupDependencies) {
    this.#real = new TreePathResolver(parts.root);
    this.#parts = parts;
  }

  real(path: BytePath): Entry | null {
    return entryAt(this.#real, path);
  }

  isKept(path: BytePath, before: FileEntry): boolean {
    return this.#parts.isKept?.(path, before) ?? true;
  }

  async text(path: BytePath, side: 'real' | 'after', bytesMax: number): Promise<string | null> {
    if (side === 'real') return this.#real.read(path, bytesMax);
    const { source, sha256 } = this.#parts.written(path) ?? { source: null, sha256: null };
    if (sha256 === null) return null;
    const text = source === null ? null : this.#stepsOf(source).read(source.path, bytesMax);
    if (text !== null && hash(text) === sha256) return text;
    const kept = await this.#parts.contents.read(sha256);
    return kept === null || kept.length > bytesMax ? null : kept.toString('latin1');
  }

  #stepsOf({ tree }: CommitSource): TreePathResolver {
    const steps = this.#sources.get(tree) ?? new TreePathResolver(tree);
    this.#sources.set(tree, steps);
    return steps;
  }

  [Symbol.dispose](): void {
    for (const steps of [this.#real, ...this.#sources.values()]) steps.close();
  }
}

function hash(text: string): string {
  return createHash('sha256').update(text, 'latin1').digest('hex');
}
