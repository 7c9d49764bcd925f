/** The methods `system.*`, `runtime.list` and `console.login`. */
import * as z from 'zod/mini';
import type { AnswerOf, ParamsOf, TypeOf } from './define-method.ts';
import { defineMethod, getRoute, ownershipRules, permittedRoles } from './define-method.ts';
import * as field from './param-fields.ts';
import * as shared from './answer-fields.ts';
import { limits } from '../limits.ts';
import { approvalSchema } from './approval.ts';
import { execSchema } from './receipt.ts';
import { secretRequestSchema } from './secrets.ts';
import { sessionSchema } from './session.ts';

/** A place where commands run. */
export const runtimeSchema = z.object({
  runtime_id: z.string(),
  kind: z.literal('local'),
  platform: z.string(),
  version: z.string(),
  uptime_s: shared.countSchema,
  active_sessions: shared.countSchema,
});

const counted = z.record(z.string(), shared.countSchema);
const amount = z.number();

const metrics = z.object({
  uptime_s: shared.countSchema,
  memory_rss_bytes: shared.countSchema,
  /** Descriptors that the daemon has open; `null`: unknown. */
  open_fds: z.nullable(shared.countSchema),
  heap_used_bytes: shared.countSchema,
  cpu_s: amount,
  /** Delay of a timer: the last one, and the maximum of the last minute. */
  event_loop_lag_ms: amount,
  event_loop_lag_max_ms: amount,
  active_sessions: shared.countSchema,
  commands_running: shared.countSchema,
  /** How commands ended; `refused` ones never ran, the end of `failed` ones is unknown. */
  commands: z.object({
    zero: shared.countSchema,
    nonzero: shared.countSchema,
    timed_out: shared.countSchema,
    stopped: shared.countSchema,
    refused: shared.countSchema,
    failed: shared.countSchema,
  }),
  verdicts: z.object({
    allow: shared.countSchema,
    ask: shared.countSchema,
    block: shared.countSchema,
  }),
  command_duration_ms: z.object({
    /** Commands that took at most `le_ms`; cumulative. */
    buckets: z.array(z.object({ le_ms: shared.countSchema, count: shared.countSchema })),
    sum: amount,
    count: shared.countSchema,
  }),
  /** Bytes of redacted output. */
  output_bytes: shared.countSchema,
  redactions: shared.countSchema,
  approvals_pending: shared.countSchema,
  approvals: z.object({
    approved: shared.countSchema,
    denied: shared.countSchema,
    ended: shared.countSchema,
  }),
  /** Of the HTTP transport; all 0 without one. */
  http: z.object({
    connections: shared.countSchema,
    web_sockets: shared.countSchema,
    evicted: shared.countSchema,
    own_readers: shared.countSchema,
  }),
  /** Requests that a transport refused, by reason. */
  refusals: counted,
});

/** The events of `system.watch`: the present state first, then each change. */
const feedIdSchema = shared.createIdSchema('f-');

export const feedMessageSchema = z.object({
  stream_id: feedIdSchema,
  event: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('session'), session: sessionSchema }),
    z.object({ kind: z.literal('session-ended'), session_id: shared.sessionIdSchema }),
    z.object({ kind: z.literal('exec'), exec: execSchema }),
    z.object({ kind: z.literal('approval'), approval: approvalSchema }),
    z.object({ kind: z.literal('secret-requests'), requests: z.array(secretRequestSchema) }),
    z.object({
      kind: z.literal('held'),
      session_id: shared.sessionIdSchema,
      view: z.string(),
      count: shared.countSchema,
    }),
  ]),
});

/** Every `system` method: its parameters, its answer and its rules. */
export const systemMethods = {
  'system.ping': defineMethod({
    params: field.emptyParams,
    answer: z.object({ uptime_s: shared.countSchema, version: z.string() }),
    roles: permittedRoles.everybody,
    owns: ownershipRules.none,
    lane: 'at-once',
    http: [{ ...getRoute, path: '/v1/ping', about: 'Whether it answers, and its version' }],
    audit: null,
  }),
  'system.stats': defineMethod({
    params: field.emptyParams,
    answer: z.object({
      active_sessions: shared.countSchema,
      total_commands_run: shared.countSchema,
      uptime_s: shared.countSchema,
      memory_rss_bytes: shared.countSchema,
      /** Descriptors that the daemon has open; `null`: unknown. */
      open_fds: z.nullable(shared.countSchema),
    }),
    roles: permittedRoles.everybody,
    owns: ownershipRules.none,
    lane: 'at-once',
    http: [{ ...getRoute, path: '/v1/stats', about: 'Sessions, commands and memory' }],
    audit: null,
  }),
  'system.metrics': defineMethod({
    params: field.emptyParams,
    answer: metrics,
    roles: permittedRoles.everybody,
    owns: ownershipRules.none,
    lane: 'at-once',
    http: [{ ...getRoute, path: '/v1/metrics', about: 'The figures of /metrics as JSON' }],
    audit: null,
  }),
  'system.hello': defineMethod({
    params: z.object({
      protocol: z.exactOptional(field.nameParam),
      /** An id that all connections of one client give, so that they count as one caller. */
      client: z.exactOptional(field.execKeyParam),
      frames: z.exactOptional(z.enum(['lines', 'bin'], { error: '"lines" or "bin"' })),
      window_bytes: z.exactOptional(
        field.integerParam(limits.windowBytes.default / 16, limits.windowBytes.max),
      ),
    }),
    answer: z.object({
      version: z.string(),
      protocol: z.literal('trl/2'),
      features: shared.nameListSchema,
      frames: z.enum(['lines', 'bin']),
      /** Present if it was requested, with frames: see `docs/protocol.md`. */
      window_bytes: z.exactOptional(shared.countSchema),
    }),
    roles: permittedRoles.everybody,
    owns: ownershipRules.none,
    lane: 'at-once',
    http: 'it is about a connection; GET /rpc',
    audit: null,
  }),
  'runtime.list': defineMethod({
    params: field.emptyParams,
    answer: z.object({ runtimes: z.array(runtimeSchema) }),
    roles: permittedRoles.everybody,
    owns: ownershipRules.none,
    lane: 'beside',
    http: [{ ...getRoute, path: '/v1/runtimes', about: 'Where commands run' }],
    audit: null,
  }),
  'system.watch': defineMethod({
    params: field.emptyParams,
    answer: z.object({ stream_id: feedIdSchema }),
    roles: permittedRoles.everybody,
    owns: ownershipRules.none,
    lane: 'beside',
    http: [
      {
        ...getRoute,
        path: '/v1/events',
        about: 'Follow everything that changes as server-sent events',
        answer: 'events',
      },
    ],
    audit: null,
  }),
  'console.login': defineMethod({
    params: z.object({ passphrase: z.exactOptional(field.passphraseParam) }),
    answer: z.object({ url: z.string(), expires_at: shared.timestampSchema }),
    roles: 'socket',
    owns: ownershipRules.none,
    lane: 'beside',
    http: 'it makes the link by which a person logs in here',
    // Anyone who has the link can log in: it is not recorded.
    audit: { kind: 'call.done', params: [], answer: ['expires_at'] },
  }),
} as const;

/** What a runtime counts of itself since it started. */
export type MetricsView = AnswerOf<typeof systemMethods, 'system.metrics'>;
export type CommandEnd = keyof MetricsView['commands'];
export type ConsoleLoginParams = ParamsOf<typeof systemMethods, 'console.login'>;
export type FeedMessage = TypeOf<typeof feedMessageSchema>;
/**
 * The present state first, then each change. A reader that is slower than the changes gets only
 * the latest state of each session, execution and approval.
 */
export type FeedEvent = FeedMessage['event'];
export type FeedId = FeedMessage['stream_id'];
/** What `system.watch` answers before the first event. */
export type FeedAnswer = AnswerOf<typeof systemMethods, 'system.watch'>;
