/** What is not shown in each view of a workspace, kept as a layer of whiteouts. */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { BytePath } from '../change.ts';
import type { PathRules } from '../command.ts';
import { limits } from '../limits.ts';
import type { GitView } from '../api/changes.ts';
import type { IssuedTags } from '../redacted.ts';
import type { HostFacts } from '../sandbox/host-facts.ts';
import { visibleTrees } from '../sandbox/plan.ts';
import { isAtOrBelow } from '../workspace/byte-path.ts';
import { buildFilterInput, type CommitFilter } from '../workspace/commit/commit-filter.ts';
import { openCommitFilter } from '../workspace/commit/filter.ts';
import { SystemTrees } from '../workspace/commit/system-trees.ts';
import type { LayerMarkWriter } from '../workspace/projection/mask-layer.ts';
import { compileMask, type Mask, type MaskState } from '../workspace/projection/mask.ts';
import { readVisibility } from '../workspace/projection/visibility.ts';
import type { WorkspaceFacts } from '../workspace/workspace-survey.ts';

interface Held {
  readonly digest: string;
  readonly mask: Mask;
  /** As it was last computed; `null`: that failed, and no earlier state may be used. */
  state: MaskState | null;
  /** Of the layer that is mounted. */
  readonly generation: string;
}

interface MaskLocation {
  readonly root: string;
  readonly home: string;
  /** The view's own directory, beside its layers. */
  readonly directory: string;
}

export class Masks {
  readonly #marks: LayerMarkWriter;
  readonly #masks = new Map<string, Held>();
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(marks: LayerMarkWriter) {
    this.#marks = marks;
  }

  /**
   * The state that a view's overlay is mounted with; `null`: nothing is hidden.
   *
   * @throws TrlError and errors of the system if it cannot be computed: no command may run then
   */
  of(view: string, rules: PathRules, place: MaskLocation): Promise<MaskState | null> {
    return this.#serial(view, () => this.#compiled(view, rules, place));
  }

  /**
   * Looks again at what changed. `false`: other paths are hidden than in the layer that is mounted.
   *
   * @throws as {@link of}
   */
  isFresh(view: string, directories: readonly BytePath[] | 'all'): Promise<boolean> {
    return this.#serial(view, async () => {
      const held = this.#masks.get(view);
      if (held === undefined) return true;
      const { mask } = held;
      held.state = await mask.update(directories).catch((error: unknown) => {
        held.state = null;
        throw error;
      });
      return held.state.generation === held.generation;
    });
  }

  async #compiled(view: string, rules: PathRules, place: MaskLocation): Promise<MaskState | null> {
    const { root, home, directory } = place;
    const visibility = readVisibility(rules, { root, home });
    if (visibility.isEverything) {
      this.#masks.delete(view);
      return null;
    }
    const known = this.#masks.get(view);
    const { uid, gid } = lstatSync(root);
    const mask =
      known?.digest === visibility.digest
        ? known.mask
        : await compileMask({
            root,
            visibility,
            maskDir: join(directory, 'mask'),
            owner: { uid, gid },
            marks: this.#marks,
          });
    const { state } = mask;
    const { generation } = state;
    this.#masks.set(view, { digest: visibility.digest, mask, state, generation });
    return state;
  }

  /** Sessions of a view come at once, and one mask is made or looked at. */
  #serial<T>(view: string, work: () => Promise<T>): Promise<T> {
    const done = (this.#turns.get(view) ?? Promise.resolve()).then(work);
    this.#turns.set(
      view,
      done.catch(() => {}),
    );
    return done;
  }

  /** Digest (hex) of what is hidden, names and rules; `null`: nothing is. */
  digestOf(view: string): string | null {
    return this.#masks.get(view)?.generation ?? null;
  }

  hides(view: string, path: BytePath): boolean {
    const held = this.#masks.get(view);
    return held === undefined ? false : (held.state ?? held.mask.state).hides(path);
  }

  forget(view: string): void {
    this.#masks.delete(view);
    this.#turns.delete(view);
  }
}

/** How the workspace's own repository is seen. */
export function gitView(root: string, state: MaskState | null): GitView {
  const own = state?.repositories.find(({ path }) => path === '.git');
  if (own !== undefined) return own.kind;
  const stat = lstatSync(join(root, '.git'), { throwIfNoEntry: false });
  if (stat === undefined) return 'none';
  return state?.hides('.git') === true ? 'hidden' : 'real';
}

// What of a session's changes may go into the real tree by itself.

export interface CommitFilterScope {
  readonly root: string;
  readonly host: HostFacts;
  /** Issued in place of secrets. */
  readonly tags: IssuedTags;
}

/** Tests whether a path leads to a tree that every sandbox shows read-only, outside `hidden`. */
export function systemPathTest(
  host: HostFacts,
  hidden: readonly string[],
): (target: BytePath) => boolean {
  const trees = new SystemTrees(visibleTrees(host), [...host.masked, ...hidden]);
  return (target) => trees.shows(target);
}

/** @returns `null` where there is no layer */
export function createSessionFilter(
  { root, host, tags }: CommitFilterScope,
  given: {
    readonly facts: WorkspaceFacts | null;
    readonly write: PathRules;
    readonly hidden: MaskState | null | 'no-layer';
  },
): CommitFilter | null {
  const { facts, write, hidden } = given;
  if (hidden === 'no-layer' || facts === null) return null;
  const repositories = hidden?.repositories ?? [];
  const projected = new Set(
    repositories.flatMap(({ kind, path }) => (kind === 'projected' ? [path] : [])),
  );
  const isProjected = (path: BytePath): boolean => isAtOrBelow(path, projected);
  const input = buildFilterInput({
    root,
    home: host.home,
    write,
    gitDirectories: facts.gitDirectories,
    links: facts.links ?? [],
    isReserved: (path) => !isProjected(path) && (hidden?.hides(path) ?? false),
    isSystem: systemPathTest(host, [root, ...facts.covers.map(({ path }) => path)]),
    tags,
    isProjectedGit: gitView(root, hidden) === 'projected',
    changesMax: limits.commitChanges.default,
    bytesMax: limits.commitBytes.default,
  });
  return openCommitFilter(input);
}
