/** What is not shown in each view of a workspace, kept as a layer of whiteouts. */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { BytePath } from '../change.ts';
import type { PathRules } from '../command.ts';
import type { GitView } from '../api/changes.ts';
import type { LayerMarkWriter } from '../workspace/projection/mask-layer.ts';
import { compileMask, type Mask, type MaskState } from '../workspace/projection/mask.ts';
import { readVisibility } from '../workspace/projection/visibility.ts';

interface Held {
  readonly digest: string;
  readonly mask: Mask;
  /** As it was last looked at; `null`: that failed, and nothing of before may be used. */
  state: MaskState | null;
  /** Of the layer that is mounted. */
  readonly generation: string;
}

export interface MaskLocation {
  readonly root: string;
  readonly home: string;
  /** The view's own directory, beside its layers. */
  readonly directory: string;
}

export class Masks {
  readonly #marks: LayerMarkWriter;
  readonly #held = new Map<string, Held>();
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(marks: LayerMarkWriter) {
    this.#marks = marks;
  }

  /**
   * The state that a view's overlay is to be mounted with; `null`: nothing is hidden.
   *
   * @throws TrlError and errors of the system where it cannot be told: no command may run then
   */
  of(view: string, rules: PathRules, place: MaskLocation): Promise<MaskState | null> {
    return this.#alone(view, () => this.#compiled(view, rules, place));
  }

  /**
   * Looks again at what changed. `false`: other paths are hidden than in the layer that is mounted.
   *
   * @throws as {@link of}
   */
  isFresh(view: string, directories: readonly BytePath[] | 'all'): Promise<boolean> {
    return this.#alone(view, async () => {
      const held = this.#held.get(view);
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
      this.#held.delete(view);
      return null;
    }
    const known = this.#held.get(view);
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
    this.#held.set(view, { digest: visibility.digest, mask, state, generation });
    return state;
  }

  /** Sessions of a view come at once, and one mask is made or looked at. */
  #alone<T>(view: string, work: () => Promise<T>): Promise<T> {
    const done = (this.#turns.get(view) ?? Promise.resolve()).then(work);
    this.#turns.set(
      view,
      done.catch(() => {}),
    );
    return done;
  }

  /** Digest (hex) of what is hidden, names and rules; `null`: nothing is. */
  digestOf(view: string): string | null {
    return this.#held.get(view)?.generation ?? null;
  }

  hides(view: string, path: BytePath): boolean {
    const held = this.#held.get(view);
    return held === undefined ? false : (held.state ?? held.mask.state).hides(path);
  }

  forget(view: string): void {
    this.#held.delete(view);
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
