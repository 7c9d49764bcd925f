/** The methods `audit.*`, and where an event lies. */
import * as z from 'zod/mini';
import { define, get, ownership, post, roles } from './define.ts';
import * as field from './fields.ts';
import * as shared from './shared.ts';
import { limits } from '../limits.ts';

const kindsMax = 64;
const headsMax = 256;
const headBytesMax = 16 * 1024;

const timeParam = z.exactOptional(z.iso.datetime({ error: 'a time like "2026-11-22T09:30:00Z"' }));
const kindWanted = 'a list of kinds like "exec.ended" or "exec.*"';
const kind = z
  .string({ error: kindWanted })
  .check(z.regex(/^[a-z-]+\.(?:[a-z-]+|\*)$/, { error: kindWanted }));
const headWanted = 'a list of signed heads';
const passphrase = z.exactOptional(field.passphrase);
const sessionParam = z.exactOptional(field.sessionId);

/** Where an event lies in the audit log for good. */
export const auditMark = z.object({
  log: z.string(),
  seq: shared.count,
  leaf: shared.sha256,
  head: z.string(),
});

export const auditEvent = z.object({
  log: z.string(),
  seq: shared.count,
  leaf: shared.sha256,
  at: shared.time,
  kind: z.string(),
  actor: shared.nullableText,
  session_id: z.exactOptional(shared.sessionId),
  exec_id: z.exactOptional(shared.execId),
  data: z.record(z.string(), z.unknown()),
});

const logFinding = z.object({
  kind: z.string(),
  segment: shared.nullableText,
  offset: z.nullable(shared.count),
  seq: z.nullable(shared.count),
  text: z.string(),
});

export const auditLog = z.object({
  log: shared.nullableText,
  events: shared.count,
  heads: shared.count,
  bytes: shared.count,
  head: shared.nullableText,
  good: z.boolean(),
  findings: z.array(logFinding),
  finding_count: shared.count,
});

/** Every `audit` method: its parameters, its answer and its rules. */
export const auditMethods = {
  'audit.list': define({
    params: z.object({
      session_id: sessionParam,
      exec_id: z.exactOptional(field.execId),
      kinds: z.exactOptional(
        z.array(kind, { error: kindWanted }).check(z.minLength(1), z.maxLength(kindsMax)),
      ),
      actor: z.exactOptional(field.name),
      since: timeParam,
      until: timeParam,
      limit: z.exactOptional(field.whole(1, limits.auditListed.max)),
      passphrase,
    }),
    answer: z.object({ events: z.array(auditEvent), truncated: z.boolean() }),
    roles: roles.everybody,
    owns: ownership.listed,
    lane: 'beside',
    http: [
      {
        ...get,
        path: '/v1/audit',
        about: 'List what was recorded, newest first',
        query: {
          session_id: 'text',
          exec_id: 'text',
          kinds: 'list',
          actor: 'text',
          since: 'text',
          until: 'text',
        },
        page: { items: 'events', key: 'at', by: 'time', usual: 100, max: 500 },
      },
    ],
    audit: null,
  }),
  'audit.get': define({
    params: z.object({
      log: z
        .string({ error: 'the id of a log' })
        .check(z.regex(/^[0-9a-f]{32}$/, { error: 'the id of a log, 32 hex digits' })),
      seq: field.whole(0),
      session_id: sessionParam,
      passphrase,
    }),
    answer: auditEvent,
    roles: roles.everybody,
    owns: ownership.listed,
    lane: 'beside',
    http: [
      {
        ...get,
        path: '/v1/audit/{log}/{seq}',
        about: 'Look at one recorded event',
        query: { session_id: 'text' },
      },
    ],
    audit: null,
  }),
  'audit.verify': define({
    params: z.object({
      heads: z.exactOptional(
        z
          .array(
            z.string({ error: headWanted }).check(z.maxLength(headBytesMax, { error: headWanted })),
            { error: headWanted },
          )
          .check(z.maxLength(headsMax, { error: `at most ${headsMax} heads` })),
      ),
      passphrase,
    }),
    answer: z.object({
      good: z.boolean(),
      findings: z.array(z.object({ kind: z.string(), text: z.string() })),
      logs: z.array(auditLog),
    }),
    roles: roles.people,
    owns: ownership.none,
    lane: 'beside',
    http: [
      {
        ...post,
        path: '/v1/audit/verify',
        about: 'Check the audit log from end to end',
      },
    ],
    audit: null,
  }),
} as const;
