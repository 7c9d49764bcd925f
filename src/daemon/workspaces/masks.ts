/** What each session is not shown of its workspace, kept as a layer of whiteouts. */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { BytePath } from '../../change.ts';
import type { PathRules, SessionId } from '../../command.ts';
import type { GitView } from '../../protocol/workspace.ts';
import type { LayerMarks } from '../../workspace/projection/layer.ts';
import { compileMask, type Mask, type MaskState } from '../../workspace/projection/mask.ts';
import { readVisibility } from '../../workspace/projection/visibility.ts';

interface Held {
  readonly digest: string;
  readonly mask: Mask;
  /** Of the layer that is mounted. */
  readonly generation: string;
}

export interface MaskPlace {
  readonly root: string;
  readonly home: string;
  /** The session's own directory, beside its layers. */
  readonly directory: string;
}

export class Masks {
  readonly #marks: LayerMarks;
  readonly #held = new Map<SessionId, Held>();

  constructor(marks: LayerMarks) {
    this.#marks = marks;
  }

  /**
   * The state that a session's overlay is to be mounted with; `null`: nothing is hidden.
   *
   * @throws TrlError and errors of the system where it cannot be told: no command may run then
   */
  async of(id: SessionId, rules: PathRules, place: MaskPlace): Promise<MaskState | null> {
    const { root, home, directory } = place;
    const visibility = readVisibility(rules, { root, home });
    if (visibility.isEverything) {
      this.#held.delete(id);
      return null;
    }
    const known = this.#held.get(id);
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
    this.#held.set(id, { digest: visibility.digest, mask, generation: state.generation });
    return state;
  }

  /**
   * Looks again at what changed. `false`: other paths are hidden than in the layer that is mounted.
   *
   * @throws as {@link of}
   */
  async isFresh(id: SessionId, directories: readonly BytePath[] | 'all'): Promise<boolean> {
    const held = this.#held.get(id);
    if (held === undefined) return true;
    const state = await held.mask.update(directories);
    return state.generation === held.generation;
  }

  /** Digest (hex) of what is hidden, names and rules; `null`: nothing is. */
  digestOf(id: SessionId): string | null {
    return this.#held.get(id)?.generation ?? null;
  }

  hides(id: SessionId, path: BytePath): boolean {
    return this.#held.get(id)?.mask.state.hides(path) ?? false;
  }

  forget(id: SessionId): void {
    this.#held.delete(id);
  }
}

/** How the workspace's own repository is seen. */
export function gitView(root: string, state: MaskState | null): GitView {
  const view = state?.repositories.find(({ path }) => path === '.git');
  if (view !== undefined) return view.kind;
  const stat = lstatSync(join(root, '.git'), { throwIfNoEntry: false });
  if (stat === undefined) return 'none';
  return state?.hides('.git') === true ? 'hidden' : 'real';
}
