/** A command's use of its session's workspace. */
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
  /** The session's sandbox configuration with another overlay, for one command. */
  readonly boxWith: (overlay: Overlay) => Box;
  readonly isWaiting: (path: string) => boolean;
  /** The command as it is stored: without known secrets. */
  readonly masked: (command: string) => string;
}

export function createChangeTracker(parts: ChangeTrackerParts): ChangeTracker {
  const { session, sessionMode, unlayered, view, boxWith, isWaiting, masked } = parts;
  /** Commands whose changes are discarded, although their session does not discard changes. */
  const dryRuns = new Set<ExecId>();
  const modeOf = (mode: WorkspaceMode | null): WorkspaceMode => mode ?? sessionMode;
  return {
    isWaiting,
    boxFor: async (mode, id): Promise<Box | null> => {
      if (modeOf(mode) !== 'direct' && unlayered !== null) {
        const message = `Cannot keep changes out of the workspace: ${unlayered}`;
        throw new TrlError('SANDBOX_UNAVAILABLE', message);
      }
      // Later commands of a session that discards changes still see them.
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

const inNoLayer = 'its changes were to be discarded, and are';
const inLayer =
  'its changes that were not applied are pending in its session (trl workspace status)';
const inTree = 'its changes are in the workspace, and cannot be undone';

/** Adds to an error where the unrecorded changes are. */
function unrecorded(error: unknown, where: string): unknown {
  const action = 'read what a command changed';
  const known = isTrlError(error) ? error : (diskFailure(action, error) ?? gone(action, error));
  if (known === null) return error;
  return new TrlError(known.code, `${known.message}; ${where}`, { cause: error });
}

/**
 * The error for a workspace that was moved or deleted meanwhile; `null`: this is another failure.
 */
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
