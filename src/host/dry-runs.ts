/** Commands of which nothing is to stay: each writes to a layer of its own, which goes with it. */
import type { ExecId, Overlay } from '../command.ts';
import type { LayerCapture } from '../workspace/changes/capture.ts';
import type { LedgerLines } from '../workspace/changes/ledger.ts';
import type { LayerLayout, LayerDirectories } from './layer-layout.ts';
import type { ChangeRecord, CommandStart } from './port.ts';
import type { SessionWorkspace } from './session-workspace.ts';

export interface DryRunDependencies {
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
