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

export class LocalView implements WorkspaceView {
  readonly #session: SessionId;
  readonly #workspace: SessionWorkspace;
  readonly #dryRuns: DryRuns | null;

  /** @param dryRuns `null`: there are no layers */
  constructor(session: SessionId, workspace: SessionWorkspace, dryRuns: DryRuns | null) {
    this.#session = session;
    this.#workspace = workspace;
    this.#dryRuns = dryRuns;
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
    return Promise.resolve(this.#waiting(...states));
  }

  #waiting(...states: readonly ChangeState[]): Change[] {
    return this.#workspace.pending.all(...states).map(({ change }) => change);
  }

  refresh(): Promise<boolean> {
    return this.#workspace.refresh(this.#session);
  }

  dryRun(exec: ExecId): Overlay | null {
    return this.#dryRuns?.overlay(exec, this.#workspace) ?? null;
  }

  async begin(command: CommandStart): Promise<void> {
    if (this.#dryRuns?.has(command.exec) === true) this.#dryRuns.begin(command);
    else await this.#workspace.begin(command);
  }

  async abandon(exec: ExecId): Promise<void> {
    await this.#dryRuns?.abandon(exec);
    this.#workspace.abandon(exec);
  }

  settle(exec: ExecId, isLost: boolean): Promise<ChangeRecord | null> {
    if (this.#dryRuns?.has(exec) === true) return this.#dryRuns.settle(exec, this.#workspace);
    return this.#workspace.settle(exec, isLost);
  }

  apply({ paths, states, heldDigest }: ApplySelection): Promise<ChangeRecord | null> {
    const isSelected = pathSelector(paths);
    // A command that runs may have brought others before it was this one's turn.
    const check = (): void => {
      if (heldDigest === undefined || changesDigest(this.#waiting('held')) === heldDigest) return;
      const message = 'Cannot apply held changes: they are others than those that were shown';
      throw new TrlError('INVALID_PARAMS', message);
    };
    return this.#workspace.publish(
      this.#session,
      ({ change }) => states.includes(change.state) && isSelected(change.path),
      '(workspace apply)',
      check,
    );
  }

  discard(paths: PathSelection): Promise<readonly Change[]> {
    const isSelected = pathSelector(paths);
    return this.#workspace.discard(({ change }) => isSelected(change.path));
  }
}

// Commands of which nothing is to stay: each writes to a layer of its own, which goes with it.

interface DryRunDependencies {
  readonly layering: LayerLayout;
  /** Where the session's own commands run. */
  readonly overlay: Overlay;
  /** What finds the changes in an upper layer that was mounted above the session's. */
  readonly captureOf: (upper: string, over: LedgerLines) => LayerCapture;
}

interface DryRun {
  readonly layers: LayerDirectories;
  beginning: CommandStart | null;
}

export class DryRuns {
  readonly #parts: DryRunDependencies;
  readonly #runs = new Map<ExecId, DryRun>();

  constructor(parts: DryRunDependencies) {
    this.#parts = parts;
  }

  has(id: ExecId): boolean {
    return this.#runs.has(id);
  }

  /** Where the command runs: above what the session's commands see. */
  overlay(id: ExecId, { parts }: SessionWorkspace): Overlay {
    const { layering, overlay } = this.#parts;
    const layers = layering.directoriesForCommand(parts.view, id);
    this.#runs.set(id, { layers, beginning: null });
    const { upper, work } = layers;
    return { ...overlay, below: overlay.upper, upper, work };
  }

  begin(beginning: CommandStart): void {
    const run = this.#runs.get(beginning.exec);
    if (run !== undefined) run.beginning = beginning;
  }

  /** Finds what the command changed; nothing of it is left then. */
  async settle(id: ExecId, workspace: SessionWorkspace): Promise<ChangeRecord | null> {
    const run = this.#runs.get(id);
    if (run?.beginning == null) return null;
    try {
      // It started from what the session's commands see, not from the real tree.
      const over = workspace.parts.layer?.ledgerLines() ?? [];
      const found = await this.#parts.captureOf(run.layers.upper, over).capture();
      return await workspace.recordCapture(run.beginning, found);
    } finally {
      await this.abandon(id);
    }
  }

  async abandon(id: ExecId): Promise<void> {
    const run = this.#runs.get(id);
    this.#runs.delete(id);
    if (run !== undefined) await this.#parts.layering.remove(run.layers);
  }
}
