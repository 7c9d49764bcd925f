/** Answers of `audit.*`, and where a receipt's event lies. */
import * as z from 'zod/mini';
import * as word from './words.ts';

/** Where an event lies in the audit log for good. */
export const auditMark = z.object({
  log: z.string(),
  seq: word.count,
  leaf: word.sha256,
  head: z.string(),
});

export const auditEvent = z.object({
  log: z.string(),
  seq: word.count,
  leaf: word.sha256,
  at: word.time,
  kind: z.string(),
  actor: word.nullableText,
  session_id: z.exactOptional(word.sessionId),
  exec_id: z.exactOptional(word.execId),
  data: z.record(z.string(), z.unknown()),
});

const logFinding = z.object({
  kind: z.string(),
  segment: word.nullableText,
  offset: z.nullable(word.count),
  seq: z.nullable(word.count),
  text: z.string(),
});

export const auditLog = z.object({
  log: word.nullableText,
  events: word.count,
  heads: word.count,
  bytes: word.count,
  head: word.nullableText,
  good: z.boolean(),
  findings: z.array(logFinding),
  finding_count: word.count,
});

export const auditAnswers = {
  'audit.list': z.object({ events: z.array(auditEvent), truncated: z.boolean() }),
  'audit.get': auditEvent,
  'audit.verify': z.object({
    good: z.boolean(),
    findings: z.array(z.object({ kind: z.string(), text: z.string() })),
    logs: z.array(auditLog),
  }),
} as const;
