/** The methods `audit.*`, and where an event lies. */
import * as z from 'zod/mini';
import {
  defineMethod,
  getRoute,
  ownershipRules,
  postRoute,
  permittedRoles,
} from './define-method.ts';
import * as field from './param-fields.ts';
import * as shared from './answer-fields.ts';
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
const passphrase = z.exactOptional(field.passphraseParam);
const sessionParam = z.exactOptional(field.sessionIdParam);

/** Where an event lies in the audit log for good. */
export const auditMarkSchema = z.object({
  log: z.string(),
  seq: shared.countSchema,
  leaf: shared.sha256Schema,
  head: z.string(),
});

export const auditEventSchema = z.object({
  log: z.string(),
  seq: shared.countSchema,
  leaf: shared.sha256Schema,
  at: shared.timestampSchema,
  kind: z.string(),
  actor: shared.nullableTextSchema,
  session_id: z.exactOptional(shared.sessionIdSchema),
  exec_id: z.exactOptional(shared.execIdSchema),
  data: z.record(z.string(), z.unknown()),
});

const logFinding = z.object({
  kind: z.string(),
  segment: shared.nullableTextSchema,
  offset: z.nullable(shared.countSchema),
  seq: z.nullable(shared.countSchema),
  text: z.string(),
});

export const auditLogSchema = z.object({
  log: shared.nullableTextSchema,
  events: shared.countSchema,
  heads: shared.countSchema,
  bytes: shared.countSchema,
  head: shared.nullableTextSchema,
  good: z.boolean(),
  findings: z.array(logFinding),
  finding_count: shared.countSchema,
});

/** Every `audit` method: its parameters, its answer and its rules. */
export const auditMethods = {
  'audit.list': defineMethod({
    params: z.object({
      session_id: sessionParam,
      exec_id: z.exactOptional(field.execIdParam),
      kinds: z.exactOptional(
        z.array(kind, { error: kindWanted }).check(z.minLength(1), z.maxLength(kindsMax)),
      ),
      actor: z.exactOptional(field.nameParam),
      since: timeParam,
      until: timeParam,
      limit: z.exactOptional(field.integerParam(1, limits.auditListed.max)),
      passphrase,
    }),
    answer: z.object({ events: z.array(auditEventSchema), truncated: z.boolean() }),
    roles: permittedRoles.everybody,
    owns: ownershipRules.listed,
    lane: 'beside',
    http: [
      {
        ...getRoute,
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
  'audit.get': defineMethod({
    params: z.object({
      log: z
        .string({ error: 'the id of a log' })
        .check(z.regex(/^[0-9a-f]{32}$/, { error: 'the id of a log, 32 hex digits' })),
      seq: field.integerParam(0),
      session_id: sessionParam,
      passphrase,
    }),
    answer: auditEventSchema,
    roles: permittedRoles.everybody,
    owns: ownershipRules.listed,
    lane: 'beside',
    http: [
      {
        ...getRoute,
        path: '/v1/audit/{log}/{seq}',
        about: 'Look at one recorded event',
        query: { session_id: 'text' },
      },
    ],
    audit: null,
  }),
  'audit.verify': defineMethod({
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
      logs: z.array(auditLogSchema),
    }),
    roles: permittedRoles.people,
    owns: ownershipRules.none,
    lane: 'beside',
    http: [
      {
        ...postRoute,
        path: '/v1/audit/verify',
        about: 'Check the audit log from end to end',
      },
    ],
    audit: null,
  }),
} as const;
