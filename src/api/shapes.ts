/** Shapes that answers share: documents are generated from them. Clients import types alone. */
import type * as z from 'zod/mini';
import { approval, approvalEvent } from './approval.ts';
import { auditEvent, auditLog, auditMark } from './audit.ts';
import { change, restored, snapshot, trees } from './changes.ts';
import { feedMessage } from './feed.ts';
import { publishFinding, publishVerdict } from './publish.ts';
import { chunk, ended, enforcedLimit, exec, ranIn, receipt, stateDropped } from './receipt.ts';
import { streamEvent, waitingForInput } from './receipt.ts';
import { secret, secretRequest } from './secrets.ts';
import { environment, session } from './session.ts';
import { errorCode, redactions, verdict, wireError } from './shared.ts';
import { runtime } from './system.ts';
import { tool } from './tool.ts';

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
