/** What is kept of a command from the moment it was judged. Pure. */
import type { Caller, ExecId, Request } from '../../command.ts';
import type { Asking, Decided, Ground, Question } from '../../run.ts';
import type { SessionRecord } from '../../session/record.ts';
import type { ExecRecord } from './executions.ts';
import { levelOf } from '../sessions/ground.ts';
import { warningsOf } from '../secrets/variables.ts';

/** How a call starts. */
export interface Starting {
  readonly mode: Request['mode'];
  readonly caller: Caller;
  /** Tells what its key was given for; `null`: it has none. */
  readonly call: string | null;
}

interface Judged {
  readonly id: ExecId;
  readonly session: SessionRecord;
  readonly request: Asking;
  readonly ground: Ground;
  readonly prepared: Decided | Question;
  /** Tells what its key was given for; `null`: it has none. */
  readonly call: string | null;
  /** `null`: a person must decide first. */
  readonly decided: Decided | null;
}

export function begunRecord(judged: Judged): Omit<ExecRecord, 'parked'> {
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
      level: session.assurance?.level ?? levelOf(ground.box),
      network: session.grants.network,
      ...(session.shareCache === undefined ? {} : { shareCache: session.shareCache }),
      warnings: warningsOf(ground, session, request),
    },
    outcome: null,
    lost: null,
  };
}
