/**
 * What a session's commands must not see, as the mask layer of its overlay:
 *
 *   lowerdir=<mask>:<real tree>     a whiteout in the mask is "nothing there"
 *
 * A layer in use never gains or loses a name: where other paths are hidden than before, another
 * layer is made, of another *generation*, and a session with the old one needs a new mount.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { BytePath } from '../../change.ts';
import { isAtOrBelow, parentPathOf, pathBytes, topmostPaths } from '../byte-path.ts';
import { RepositoryProjections, type RepositoryView } from './git-projection.ts';
import { HiddenPaths } from './hidden-paths.ts';
import {
  type LayerMarkWriter,
  type LayerOwner,
  parentDirectoriesOf,
  refreshMaskLayer,
  writeMaskLayer,
} from './mask-layer.ts';
import type { Visibility } from './visibility.ts';

interface MaskOptions {
  /** The workspace, a real path. */
  readonly root: string;
  /** Private to the runtime and this workspace; made where it is missing. */
  readonly maskDir: string;
  readonly visibility: Visibility;
  /** On disk, what belongs to the owner of `root` in the real tree belongs to this owner. */
  readonly owner: LayerOwner;
  readonly marks: LayerMarkWriter;
  /** Bound of the entries of the workspace; 2,000,000 by default. */
  readonly entriesMax?: number;
}

/** One state of the mask; values that stay as they are. */
export interface MaskState {
  /** Changes with the layer: a new generation needs a new mount of the overlay. */
  readonly generation: string;
  /** The layer; `null`: nothing is hidden, no layer is needed. */
  readonly directory: string | null;
  /** Topmost paths that do not exist for commands, in byte order. */
  readonly hidden: readonly BytePath[];
  readonly repositories: readonly RepositoryView[];
  /**
   * Whether a path is kept from the session: by a rule, whether it is there or not, as another name
   * of what is hidden, or as part of a repository that is not shown as it is.
   */
  hides(path: BytePath): boolean;
}

interface Held extends MaskState {
  /** The directories of the layer. */
  readonly parents: ReadonlySet<BytePath>;
}

const entriesMaxDefault = 2_000_000;

export class Mask {
  readonly #options: MaskOptions;
  readonly #tree: HiddenPaths;
  readonly #repositories: RepositoryProjections;
  #views: readonly RepositoryView[] = [];
  #rules: readonly BytePath[] = [];
  /** What holds now; `null` while it is not known, and after a failure. */
  #state: Held | null = null;
  #last: Held | null = null;

  private constructor(options: MaskOptions, tree: HiddenPaths) {
    this.#options = options;
    this.#tree = tree;
    this.#repositories = new RepositoryProjections({
      root: options.root,
      visibility: options.visibility,
      cacheDir: path.join(options.maskDir, 'git'),
    });
  }

  /** @throws as {@link compileMask} */
  static async compile(options: MaskOptions): Promise<Mask> {
    const { root, visibility, entriesMax = entriesMaxDefault } = options;
    mkdirSync(options.maskDir, { recursive: true, mode: 0o700 });
    const mask = new Mask(options, await HiddenPaths.read({ root, visibility, entriesMax }));
    await mask.#settle('all');
    return mask;
  }

  /** What holds since the last {@link compile} or {@link update}. */
  get state(): MaskState {
    if (this.#state === null) throw new Error('the mask was not compiled');
    return this.#state;
  }

  /**
   * Applies changes of the tree. After a failure no old state may be used.
   *
   * @throws as {@link compileMask}
   */
  async update(directories: readonly BytePath[] | 'all'): Promise<MaskState> {
    if (directories !== 'all' && directories.length === 0) return this.state;
    // After a failure, half of it may have been looked at.
    const changed = this.#state === null ? 'all' : directories;
    this.#state = null;
    await this.#tree.reread(changed);
    return this.#settle(changed);
  }

  /** Removes layers of generations other than these and the current one. */
  prune(keep: ReadonlySet<string>): void {
    for (const name of readdirSync(this.#options.maskDir)) {
      const isKept = name === 'git' || name === this.#state?.generation || keep.has(name);
      if (!isKept) remove(path.join(this.#options.maskDir, name));
    }
  }

  async #settle(changed: readonly BytePath[] | 'all'): Promise<MaskState> {
    const rules = await this.#tree.list();
    const views = await this.#look(rules, changed);
    const before = this.#last;
    const isSame = before !== null && rules === this.#rules && sameViews(views, this.#views);
    this.#rules = rules;
    this.#views = views;
    this.#state = isSame ? before : await this.#made();
    this.#last = this.#state;
    const { root, owner } = this.#options;
    const { directory, parents } = this.#state;
    if (isSame && directory !== null) {
      const only = changed === 'all' ? parents : new Set(changed);
      const paths = [...parents].filter((path) => only.has(path));
      refreshMaskLayer({ root, directory, owner, paths });
    }
    return this.#state;
  }

  async #made(): Promise<Held> {
    const { visibility } = this.#options;
    const closed = this.#views.flatMap((view) => (view.kind === 'real' ? [] : [view.path]));
    const hidden = closed.length === 0 ? this.#rules : topmostPaths([...this.#rules, ...closed]);
    const generation = this.#generation(hidden);
    const directory = hidden.length === 0 ? null : path.join(this.#options.maskDir, generation);
    if (directory !== null) await this.#write(directory, hidden);
    const set = new Set(hidden);
    return {
      generation,
      directory,
      hidden,
      parents: new Set(parentDirectoriesOf(hidden)),
      repositories: this.#views,
      hides: (name) => visibility.hides(name) || isAtOrBelow(name, set),
    };
  }

  /** Decides again on repositories that changed, or on all where other paths are hidden. */
  async #look(
    rules: readonly BytePath[],
    changed: readonly BytePath[] | 'all',
  ): Promise<RepositoryView[]> {
    const isSame = changed !== 'all' && rules === this.#rules;
    const set = new Set(isSame && this.#tree.gitDirectories.length === 0 ? [] : rules);
    const gits = this.#options.visibility.isEverything
      ? []
      : this.#tree.gitDirectories.filter((git) => !isAtOrBelow(git, set)).toSorted();
    const known = new Map(this.#views.map((view) => [view.path, view]));
    const views: RepositoryView[] = [];
    const closed = new Set<BytePath>();
    for (const git of gits) {
      // The content of a hidden repository is hidden.
      if (isAtOrBelow(git, closed)) continue;
      const before = isSame && !isTouched(git, changed) ? known.get(git) : undefined;
      const view = before ?? (await this.#repositories.view(git, rules));
      views.push(view);
      if (view.kind !== 'real') closed.add(git);
    }
    return views;
  }

  #generation(hidden: readonly BytePath[]): string {
    const { visibility, owner } = this.#options;
    const projected = this.#views.map((view) => (view.kind === 'projected' ? view.digest : ''));
    const parts = [visibility.digest, `${owner.uid}:${owner.gid}`, ...projected, '', ...hidden];
    return createHash('sha256')
      .update(pathBytes(parts.join('\0')))
      .digest('hex');
  }

  async #write(directory: string, hidden: readonly BytePath[]): Promise<void> {
    const { root, owner, marks } = this.#options;
    if (existsSync(directory)) {
      refreshMaskLayer({ root, directory, paths: parentDirectoriesOf(hidden), owner });
      return;
    }
    const making = `${directory}.new`;
    remove(making);
    mkdirSync(making, { mode: 0o700 });
    const placed = this.#views.flatMap((view) =>
      view.kind === 'projected' ? [{ path: view.path, from: view.directory }] : [],
    );
    const names = new Set(placed.map((one) => one.path));
    const whiteouts = hidden.filter((one) => !names.has(one));
    await writeMaskLayer({ root, directory: making, hidden: whiteouts, placed, owner, marks });
    renameSync(making, directory);
  }
}

/**
 * Makes the layer that hides what `visibility` does not show, whole repositories that could show it
 * included. The first time costs a walk of the tree, an update what changed.
 *
 * @throws TrlError `QUOTA_EXCEEDED` where the tree is larger than the bound, `INTERNAL_ERROR` or
 *   the system's error where it could not be read or the layer not be made: no command may run then
 */
export async function compileMask(options: MaskOptions): Promise<Mask> {
  return Mask.compile(options);
}

function isTouched(git: BytePath, changed: readonly BytePath[] | 'all'): boolean {
  const holds = parentPathOf(git);
  return (
    changed === 'all' ||
    changed.some((one) => one === git || one === holds || one.startsWith(`${git}/`))
  );
}

function sameViews(one: readonly RepositoryView[], other: readonly RepositoryView[]): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function remove(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
}
