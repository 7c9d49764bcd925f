/** What the story of a command asks of its session's workspace. */
import type { Box, ExecId, SessionId } from '../../command.ts';
import type { RecordedChanges, WorkspaceMode } from '../../change.ts';
import { diskFailure, isTrlError, TrlError } from '../../errors.ts';
import type { ChangeKeeper } from '../../run.ts';
import type { ChangeRecord } from '../../host/record.ts';
import type { DryRuns } from '../../host/dry-runs.ts';
import type { SessionWorkspace } from '../../host/session-workspace.ts';

export interface KeeperParts {
  readonly session: SessionId;
  readonly sessionMode: WorkspaceMode;
  /** Why there is no layer; `null`: there is one. */
  readonly unlayered: string | null;
  /** Commands with layers of their own; `null`: there are no layers. */
  readonly dryRuns: DryRuns | null;
  readonly workspace: () => Promise<SessionWorkspace>;
  readonly isWaiting: (path: string) => boolean;
  /** As it is kept: without known secrets. */
  readonly masked: (command: string) => string;
}

export function keeperOf(parts: KeeperParts): ChangeKeeper {
  const { session, sessionMode, unlayered, dryRuns, workspace, isWaiting, masked } = parts;
  const modeOf = (mode: WorkspaceMode | null): WorkspaceMode => mode ?? sessionMode;
  return {
    isWaiting,
    boxFor: async (mode, id): Promise<Box | null> => {
      if (modeOf(mode) !== 'direct' && unlayered !== null) {
        const message = `Cannot keep changes out of the workspace: ${unlayered}`;
        throw new TrlError('SANDBOX_UNAVAILABLE', message);
      }
      // What a session throws away, its later commands still see.
      const isDry = modeOf(mode) === 'discard' && sessionMode !== 'discard';
      return isDry ? (dryRuns?.box(id, await workspace()) ?? null) : null;
    },
    begin: async ({ id, text, mode, startedAt }) => {
      const beginning = {
        exec: id,
        session,
        command: masked(text),
        mode: modeOf(mode),
        ...(startedAt === undefined ? {} : { startedAt }),
      };
      if (dryRuns?.has(id) === true) dryRuns.begin(beginning);
      else await (await workspace()).begin(beginning);
    },
    abandon: async (id: ExecId) => {
      await dryRuns?.abandon(id);
      (await workspace()).abandon(id);
    },
    settle: async (id, isLost) => {
      const own = await workspace();
      const isDry = dryRuns?.has(id) === true;
      try {
        const record = isDry ? await dryRuns.settle(id, own) : await own.settle(id, isLost);
        return record === null ? null : recordedOf(record);
      } catch (error) {
        const layered = isDry ? inNoLayer : inLayer;
        throw unrecorded(error, unlayered === null ? layered : inTree);
      }
    },
  };
}

const inNoLayer = 'what it changed was to be thrown away, and is';
const inLayer = 'what it changed and was not applied waits in its session (trl workspace status)';
const inTree = 'what it changed is in the workspace, and cannot be undone';

/** Says where the changes are that could not be recorded. */
function unrecorded(error: unknown, where: string): unknown {
  const known = isTrlError(error) ? error : diskFailure('look what a command changed', error);
  if (known === null) return error;
  return new TrlError(known.code, `${known.message}; ${where}`, { cause: error });
}

function recordedOf({
  before,
  after,
  method,
  mode,
  changes,
  complete,
}: ChangeRecord): RecordedChanges {
  return { snapshot: { before, after, method }, mode, changes, complete };
}
