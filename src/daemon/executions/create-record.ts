/** The stored record of a command, made when it was judged. Pure. */
import type { Caller, ExecId, CommandRequest } from '../../command.ts';
import type {
  ExecutionRequest,
  AuthorizedExecution,
  ExecutionContext,
  PendingApproval,
} from '../../execution.ts';
import type { LiveSession } from '../sessions/sessions.ts';
import type { ExecRecord } from './executions.ts';
import { boxAssuranceLevel } from '../sessions/execution-context.ts';
import { legacyWarningsOf } from '../secrets/variables.ts';

/** How a call starts. */
export interface LaunchOrigin {
  readonly mode: CommandRequest['mode'];
  readonly caller: Caller;
  /** Identifies what its key was given for; `null`: it has no key. */
  readonly call: string | null;
}

/** A command that was judged. */
interface JudgedCommand {
  readonly id: ExecId;
  readonly session: LiveSession;
  readonly request: ExecutionRequest;
  readonly context: ExecutionContext;
  /** By policy alone. */
  readonly result: AuthorizedExecution | PendingApproval;
  /** After earlier answers were considered. */
  readonly decided: AuthorizedExecution | PendingApproval;
  /** Identifies what its key was given for; `null`: it has no key. */
  readonly call: string | null;
}

export function createExecRecord(judged: JudgedCommand): Omit<ExecRecord, 'parked'> {
  const { id, request, context, result, call, decided } = judged;
  const { record: session } = judged.session;
  const { parent } = result;
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
      digest: 'approved' in decided ? decided.approved.digest : '',
      verdict: result.verdict,
      sandbox: context.box.kind,
      level: session.assurance?.level ?? boxAssuranceLevel(context.box),
      network: session.grants.network,
      ...(session.shareCache === undefined ? {} : { shareCache: session.shareCache }),
      warnings: legacyWarningsOf(context, session, request),
    },
    outcome: null,
    lost: null,
  };
}
