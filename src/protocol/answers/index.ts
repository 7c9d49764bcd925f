/**
 * What each method answers in `data`, as schemas: documents are generated from them, and tests
 * hold real answers against them. The types of `types.ts` are the same in another form, which
 * `test/openapi-types.ts` has the compiler check. Clients import the types, never this module.
 */
import type * as z from 'zod/mini';
import type { MethodName } from '../methods.ts';
import type { MethodAnswers } from '../types.ts';
import { approval, approvalAnswers, approvalEvent } from './approval.ts';
import { auditAnswers, auditEvent, auditLog, auditMark } from './audit.ts';
import { chunk, ended, exec, execAnswers, receipt, streamEvent } from './exec.ts';
import { enforcedLimit, ranIn, stateDropped, waitingForInput } from './exec.ts';
import { feedAnswers, feedMessage } from './feed.ts';
import { publishAnswers, publishFinding, publishVerdict } from './publish.ts';
import { secret, secretAnswers, secretRequest } from './secrets.ts';
import { environment, session, sessionAnswers } from './session.ts';
import { runtime, systemAnswers } from './system.ts';
import { tool, toolAnswers } from './tool.ts';
import { change, restored, snapshot, trees, workspaceAnswers } from './workspace.ts';
import { errorCode, redactions, verdict, wireError } from './words.ts';

/** One row a method: the schema of its answer. */
export const answers = {
  ...sessionAnswers,
  ...execAnswers,
  ...systemAnswers,
  ...approvalAnswers,
  ...secretAnswers,
  ...workspaceAnswers,
  ...publishAnswers,
  ...auditAnswers,
  ...feedAnswers,
  ...toolAnswers,
} as const satisfies { readonly [M in MethodName]: z.ZodMiniType<MethodAnswers[M]> };

/** Things that answers are made of, by the names that documents give them. */
export const shapes = {
  Session: session,
  Environment: environment,
  Receipt: receipt,
  Ended: ended,
  Exec: exec,
  Chunk: chunk,
  StreamEvent: streamEvent,
  WaitingForInput: waitingForInput,
  StateDropped: stateDropped,
  EnforcedLimit: enforcedLimit,
  RanIn: ranIn,
  Trees: trees,
  Change: change,
  Snapshot: snapshot,
  Restored: restored,
  Approval: approval,
  ApprovalEvent: approvalEvent,
  Verdict: verdict,
  Redactions: redactions,
  Secret: secret,
  SecretRequest: secretRequest,
  AuditEvent: auditEvent,
  AuditMark: auditMark,
  AuditLog: auditLog,
  PublishFinding: publishFinding,
  PublishVerdict: publishVerdict,
  Runtime: runtime,
  Tool: tool,
  FeedMessage: feedMessage,
  ErrorCode: errorCode,
  WireError: wireError,
} as const satisfies Readonly<Record<string, z.ZodMiniType>>;
