/** What the story of a command asks of its session's workspace. */
import type { Box, ExecId, Overlay, SessionId } from '../../command.ts';
import type { RecordedChanges, WorkspaceMode } from '../../change.ts';
import { diskFailure, isTrlError, TrlError } from '../../errors.ts';
import type { ChangeTracker } from '../../execution.ts';
import type { ChangeRecord, WorkspaceView } from '../../host/port.ts';

export interface ChangeTrackerParts {
  readonly session: SessionId;
  readonly sessionMode: WorkspaceMode;
  /** Why there is no layer; `null`: there is one. */
  readonly unlayered: string | null;
  readonly view: () => Promise<WorkspaceView>;
  /** The session's box with another overlay, for one command. */
  readonly boxWith: (overlay: Overlay) => Box;
  readonly isWaiting: (path: string) => boolean;
  /** As it is kept: without known secrets. */
  readonly masked: (command: string) => string;
}

export function createChangeTracker(parts: ChangeTrackerParts): ChangeTracker {
  const { session, sessionMode, unlayered, view, boxWith, isWaiting, masked } = parts;
  /** Commands whose changes are thrown away, by the session's choice of this command alone. */
  const dryRuns = new Set<ExecId>();
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
      const overlay = isDry ? (await view()).dryRun(id) : null;
      if (overlay === null) return null;
      dryRuns.add(id);
      return boxWith(overlay);
    },
    begin: async ({ id, text, mode, startedAt }) => {
      await (
        await view()
      ).begin({
        exec: id,
        session,
        command: masked(text),
        mode: modeOf(mode),
        ...(startedAt === undefined ? {} : { startedAt }),
      });
    },
    abandon: async (id: ExecId) => {
      dryRuns.delete(id);
      await (await view()).abandon(id);
    },
    settle: async (id, isLost) => {
      const own = await view();
      const isDry = dryRuns.delete(id);
      try {
        const record = await own.settle(id, isLost);
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
  const action = 'look what a command changed';
  const known = isTrlError(error) ? error : (diskFailure(action, error) ?? gone(action, error));
  if (known === null) return error;
  return new TrlError(known.code, `${known.message}; ${where}`, { cause: error });
}

/** The workspace was moved or deleted meanwhile. `null`: it is no such failure. */
function gone(action: string, error: unknown): TrlError | null {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : null;
  if (code !== 'ENOENT' && code !== 'ENOTDIR' && code !== 'ESTALE') return null;
  const message = `Cannot ${action}: its workspace was moved or deleted meanwhile`;
  return new TrlError('BACKEND_UNAVAILABLE', message, { cause: error });
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
