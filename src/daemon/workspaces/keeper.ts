/** What the story of a command asks of its session's workspace. */
import type { Box, ExecId } from '../../command.ts';
import type { RecordedChanges, WorkspaceMode } from '../../change.ts';
import { TrlError } from '../../errors.ts';
import type { ChangeKeeper } from '../../run.ts';
import type { ChangeRecord } from './record.ts';
import type { SessionWorkspace } from './session-workspace.ts';

export interface KeeperParts {
  readonly sessionMode: WorkspaceMode;
  /** Why there is no layer; `null`: there is one. */
  readonly unlayered: string | null;
  readonly workspace: () => Promise<SessionWorkspace>;
  /** As it is kept: without known secrets. */
  readonly masked: (command: string) => string;
}

export function keeperOf({ sessionMode, unlayered, workspace, masked }: KeeperParts): ChangeKeeper {
  const modeOf = (mode: WorkspaceMode | null): WorkspaceMode => mode ?? sessionMode;
  return {
    boxFor: async (mode): Promise<Box | null> => {
      if (modeOf(mode) !== 'direct' && unlayered !== null) {
        const message = `Cannot keep changes out of the workspace: ${unlayered}`;
        throw new TrlError('SANDBOX_UNAVAILABLE', message);
      }
      return null;
    },
    begin: async ({ id, text, mode, startedAt }) =>
      (await workspace()).begin({
        exec: id,
        command: masked(text),
        mode: modeOf(mode),
        ...(startedAt === undefined ? {} : { startedAt }),
      }),
    abandon: async (id: ExecId) => (await workspace()).abandon(id),
    settle: async (id, isLost) => {
      const record = await (await workspace()).settle(id, isLost);
      return record === null ? null : recordedOf(record);
    },
  };
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
