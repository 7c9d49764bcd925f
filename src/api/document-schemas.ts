/** Shapes that answers share: documents are generated from them. Clients import types alone. */
import type * as z from 'zod/mini';
import { approvalSchema, approvalEventSchema } from './approval.ts';
import { auditEventSchema, auditLogSchema, auditMarkSchema } from './audit.ts';
import { changeSchema, restoreAnswerSchema, snapshotSchema, treePairSchema } from './changes.ts';
import { publishFindingSchema, publishVerdictSchema } from './publish.ts';
import {
  chunkSchema,
  execEndSchema,
  enforcedLimitSchema,
  execSchema,
  sandboxSchema,
  receiptSchema,
  droppedStateSchema,
} from './receipt.ts';
import { streamEventSchema, waitingForInputSchema } from './receipt.ts';
import { secretSchema, secretRequestSchema } from './secrets.ts';
import { environmentSchema, sessionSchema } from './session.ts';
import {
  errorCodeSchema,
  redactionsSchema,
  verdictSchema,
  wireErrorSchema,
} from './answer-fields.ts';
import { feedMessageSchema, runtimeSchema } from './system.ts';
import { toolSchema } from './tool.ts';

/** Parts of answers, by their names in documents. */
export const documentSchemas = {
  Session: sessionSchema,
  Environment: environmentSchema,
  Receipt: receiptSchema,
  Ended: execEndSchema,
  Exec: execSchema,
  Chunk: chunkSchema,
  StreamEvent: streamEventSchema,
  WaitingForInput: waitingForInputSchema,
  StateDropped: droppedStateSchema,
  EnforcedLimit: enforcedLimitSchema,
  RanIn: sandboxSchema,
  Trees: treePairSchema,
  Change: changeSchema,
  Snapshot: snapshotSchema,
  Restored: restoreAnswerSchema,
  Approval: approvalSchema,
  ApprovalEvent: approvalEventSchema,
  Verdict: verdictSchema,
  Redactions: redactionsSchema,
  Secret: secretSchema,
  SecretRequest: secretRequestSchema,
  AuditEvent: auditEventSchema,
  AuditMark: auditMarkSchema,
  AuditLog: auditLogSchema,
  PublishFinding: publishFindingSchema,
  PublishVerdict: publishVerdictSchema,
  Runtime: runtimeSchema,
  Tool: toolSchema,
  FeedMessage: feedMessageSchema,
  ErrorCode: errorCodeSchema,
  WireError: wireErrorSchema,
} as const satisfies Readonly<Record<string, z.ZodMiniType>>;
