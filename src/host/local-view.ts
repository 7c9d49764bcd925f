/** One session's access to a view whose files are on this machine. */
import type { Change, ChangeState } from '../change.ts';
import type { ExecId, Overlay, SessionId } from '../command.ts';
import { TrlError } from '../errors.ts';
import { pathSelector } from '../workspace/byte-path.ts';
import type { LayerCapture } from '../workspace/changes/capture.ts';
import { changesDigest } from '../workspace/changes/change-kind.ts';
import type { LedgerLines } from '../workspace/changes/ledger.ts';
import type { LayerDirectories, LayerLayout } from './layer-layout.ts';
import type {
  ApplySelection,
  ChangeRecord,
  CommandStart,
  PathSelection,
  ViewFacts,
  WorkspaceView,
} from './port.ts';
import type { SessionWorkspace } from './session-workspace.ts';

/** Where dry runs happen: each writes to a layer of its own, which is removed with its end. */
export interface DryRunDependencies {
  readonly layering: LayerLayout;
  /** Where the session's own commands run. */
  readonly overlay: Overlay;
  /** Finds the changes in an upper layer that is mounted above the session's. */
  readonly captureOf: (upper: string, over: LedgerLines) => LayerCapture | null;
}

interface DryRun {
  readonly layers: LayerDirectories;
  beginning: CommandStart | null;
}

export class LocalView implements WorkspaceView {
  readonly #session: SessionId;
  readonly #workspace: SessionWorkspace;
  readonly #dryRunParts: DryRunDependencies | null;
  readonly #dryRuns = new Map<ExecId, DryRun>();

  /** @param dryRuns `null`: there are no layers */
  constructor(session: SessionId, workspace: SessionWorkspace, dryRuns: DryRunDependencies | null) {
    this.#session = session;
    this.#workspace = workspace;
    this.#dryRunParts = dryRuns;
  }

  facts(): ViewFacts {
    const { parts, view } = this.#workspace;
    return {
      ...view,
      view: parts.view,
      root: parts.tree.root,
      mode: parts.mode,
      method: parts.method,
    };
  }

  pendingChanges(...states: readonly ChangeState[]): Promise<readonly Change[]> {
    return Promise.resolve(this.#pending(...states));
  }

  #pending(...states: readonly ChangeState[]): Change[] {
    return this.#workspace.pending.all(...states).map(({ change }) => change);
  }

  refresh(): Promise<boolean> {
    return this.#workspace.refresh(this.#session);
  }

  dryRun(exec: ExecId): Overlay | null {
    if (this.#dryRunParts === null) return null;
    const { layering, overlay } = this.#dryRunParts;
    const layers = layering.directoriesForCommand(this.#workspace.parts.view, exec);
    this.#dryRuns.set(exec, { layers, beginning: null });
    const { upper, work } = layers;
    return { ...overlay, below: overlay.upper, upper, work };
  }

  async begin(command: CommandStart): Promise<void> {
    const dryRun = this.#dryRuns.get(command.exec);
    if (dryRun === undefined) await this.#workspace.begin(command);
    else dryRun.beginning = command;
  }

  async abandon(exec: ExecId): Promise<void> {
    await this.#endDryRun(exec);
    this.#workspace.abandon(exec);
  }

  settle(exec: ExecId, isLost: boolean): Promise<ChangeRecord | null> {
    const dryRun = this.#dryRuns.get(exec);
    if (dryRun === undefined) return this.#workspace.settle(exec, isLost);
    return this.#settleDryRun(exec, dryRun);
  }

  /** Records what a dry run changed, and removes its layer. */
  async #settleDryRun(exec: ExecId, { layers, beginning }: DryRun): Promise<ChangeRecord | null> {
    if (this.#dryRunParts === null || beginning === null) return null;
    try {
      // The dry run started from what the session's commands see, not from the real tree.
      const over = this.#workspace.parts.layer?.ledgerLines() ?? [];
      const found = await this.#dryRunParts.captureOf(layers.upper, over)?.capture();
      return found === undefined ? null : await this.#workspace.recordCapture(beginning, found);
    } finally {
      await this.#endDryRun(exec);
    }
  }

  async #endDryRun(exec: ExecId): Promise<void> {
    const dryRun = this.#dryRuns.get(exec);
    this.#dryRuns.delete(exec);
    if (dryRun !== undefined) await this.#dryRunParts?.layering.remove(dryRun.layers);
  }

  apply({ paths, states, heldDigest }: ApplySelection): Promise<ChangeRecord | null> {
    const isSelected = pathSelector(paths);
    // A command that runs may have brought others before it was this one's turn.
    const check = (): void => {
      if (heldDigest === undefined || changesDigest(this.#pending('held')) === heldDigest) return;
      const message = 'Cannot apply held changes: they are others than those that were shown';
      throw new TrlError('INVALID_PARAMS', message);
    };
    return this.#workspace.publish(
      this.#session,
      ({ change }) => states.includes(change.state) && isSelected(change.path),
      check,
    );
  }

  discard(paths: PathSelection): Promise<readonly Change[]> {
    const isSelected = pathSelector(paths);
    return this.#workspace.discard(({ change }) => isSelected(change.path));
  }
}
