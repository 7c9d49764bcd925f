/** The methods `audit.*`, and the position of an event. */
import * as z from 'zod/mini';
import type { AnswerOf, ParamsOf, TypeOf } from './define-method.ts';
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

/** The permanent position of an event in the audit log. */
export const auditMarkSchema = z.object({
  /** The log: 32 lower-case hex digits. */
  log: z.string(),
  seq: shared.countSchema,
  /** SHA-256 of the event's leaf (RFC 6962), hex. */
  leaf: shared.sha256Schema,
  /** The newest signed head above it, a signed note (C2SP `tlog-checkpoint`). */
  head: z.string(),
});

export const auditEventSchema = z.object({
  /** The log: 32 lower-case hex digits. */
  log: z.string(),
  /** From 0, in that log. */
  seq: shared.countSchema,
  /** SHA-256 of its leaf (RFC 6962), hex. */
  leaf: shared.sha256Schema,
  /** ISO 8601, by the clock of the process that wrote it. */
  at: shared.timestampSchema,
  /** Dotted: `exec.ended`. There may be other kinds than the documented ones. */
  kind: z.string(),
  /** `null`: the runtime itself. */
  actor: shared.nullableTextSchema,
  session_id: z.exactOptional(shared.sessionIdSchema),
  exec_id: z.exactOptional(shared.execIdSchema),
  /** For a publication, if the caller is not authenticated as a person: `{withheld:true}`. */
  data: z.record(z.string(), z.unknown()),
});

const logFinding = z.object({
  kind: z.string(),
  segment: shared.nullableTextSchema,
  /** Byte in the segment. */
  offset: z.nullable(shared.countSchema),
  seq: z.nullable(shared.countSchema),
  /** One sentence. */
  text: z.string(),
});

export const auditLogSchema = z.object({
  /** `null`: it has no head. */
  log: shared.nullableTextSchema,
  events: shared.countSchema,
  heads: shared.countSchema,
  bytes: shared.countSchema,
  /** The newest valid one: save it outside the machine. */
  head: shared.nullableTextSchema,
  good: z.boolean(),
  /** The first of them; `finding_count` is all. */
  findings: z.array(logFinding),
  finding_count: shared.countSchema,
});

/** Every `audit` method: its parameters, its answer and its rules. */
export const auditMethods = {
  'audit.list': defineMethod({
    params: z.object({
      session_id: sessionParam,
      exec_id: z.exactOptional(field.execIdParam),
      /** Only these; `exec.*`: all that begin with `exec.`. */
      kinds: z.exactOptional(
        z.array(kind, { error: kindWanted }).check(z.minLength(1), z.maxLength(kindsMax)),
      ),
      actor: z.exactOptional(field.nameParam),
      /** ISO 8601, both inclusive. */
      since: timeParam,
      until: timeParam,
      /** Default and maximum: `limits.auditListed`. */
      limit: z.exactOptional(field.integerParam(1, limits.auditListed.max)),
      passphrase,
    }),
    answer: z.object({
      /** Newest first. */
      events: z.array(auditEventSchema),
      /** Whether there are older ones; request them with `until`. */
      truncated: z.boolean(),
    }),
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
      /** Required of a caller that is not a person: the session of the event. */
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
      /** Signed heads that were saved elsewhere, as in receipts. */
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
      /** About missing logs, and heads that another key signed. */
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

/** One event, and its position. */
export type AuditEventView = TypeOf<typeof auditEventSchema>;
/** What a check of one log found. */
export type AuditLogView = TypeOf<typeof auditLogSchema>;
/** The permanent position of an event in the audit log. It includes a head of the log. */
export type AuditMarkView = TypeOf<typeof auditMarkSchema>;
export type AuditListParams = ParamsOf<typeof auditMethods, 'audit.list'>;
export type AuditListAnswer = AnswerOf<typeof auditMethods, 'audit.list'>;
export type AuditGetParams = ParamsOf<typeof auditMethods, 'audit.get'>;
export type AuditVerifyParams = ParamsOf<typeof auditMethods, 'audit.verify'>;
export type AuditVerifyAnswer = AnswerOf<typeof auditMethods, 'audit.verify'>;
