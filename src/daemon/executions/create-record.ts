/** What is kept of a command from the moment it was judged. Pure. */
import type { Caller, ExecId, CommandRequest } from '../../command.ts';
import type {
  ExecutionRequest,
  AuthorizedExecution,
  ExecutionContext,
  PendingApproval,
} from '../../run.ts';
import type { SessionRecord } from '../../session/record.ts';
import type { ExecRecord } from './executions.ts';
import { boxAssuranceLevel } from '../sessions/execution-context.ts';
import { legacyWarningsOf } from '../secrets/variables.ts';

/** How a call starts. */
export interface LaunchOrigin {
  readonly mode: CommandRequest['mode'];
  readonly caller: Caller;
  /** Tells what its key was given for; `null`: it has none. */
  readonly call: string | null;
}

interface Judged {
  readonly id: ExecId;
  readonly session: SessionRecord;
  readonly request: ExecutionRequest;
  readonly ground: ExecutionContext;
  readonly prepared: AuthorizedExecution | PendingApproval;
  /** Tells what its key was given for; `null`: it has none. */
  readonly call: string | null;
  /** `null`: a person must decide first. */
  readonly decided: AuthorizedExecution | null;
}

export function createExecRecord(judged: Judged): Omit<ExecRecord, 'parked'> {
  const { id, session, request, ground, prepared, call, decided } = judged;
  const { parent } = prepared;
  return {
    id,
    sessionId: session.id,
    mode: request.mode,
    ...(request.pty === null ? {} : { pty: true }),
    command: request.command,
    key: request.execKey,
    ...(call === null ? {} : { call }),
    ...(parent === null ? {} : { parent }),
    workspaceMode: request.workspaceMode ?? null,
    startedAt: Date.now(),
    facts: {
      digest: decided?.approved.digest ?? '',
      verdict: prepared.verdict,
      sandbox: ground.box.kind,
      level: session.assurance?.level ?? boxAssuranceLevel(ground.box),
      network: session.grants.network,
      ...(session.shareCache === undefined ? {} : { shareCache: session.shareCache }),
      warnings: legacyWarningsOf(ground, session, request),
    },
    outcome: null,
    lost: null,
  };
}
