/** One session's access to a view whose files are on this machine. */
import type { Change, ChangeState } from '../change.ts';
import type { ExecId, Overlay, SessionId } from '../command.ts';
import { TrlError } from '../errors.ts';
import { pathSelector } from '../workspace/byte-path.ts';
import { changesDigest } from '../workspace/changes/changes-digest.ts';
import type { DryRuns } from './dry-runs.ts';
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
