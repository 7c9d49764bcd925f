/** The methods `system.*`, `runtime.list` and `console.login`. */
import * as z from 'zod/mini';
import { defineMethod, getRoute, ownershipRules, permittedRoles } from './define-method.ts';
import * as field from './param-fields.ts';
import * as shared from './answer-fields.ts';
import { limits } from '../limits.ts';
import { feedIdSchema } from './feed.ts';

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
  open_fds: z.nullable(shared.countSchema),
  heap_used_bytes: shared.countSchema,
  cpu_s: amount,
  event_loop_lag_ms: amount,
  event_loop_lag_max_ms: amount,
  active_sessions: shared.countSchema,
  commands_running: shared.countSchema,
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
    buckets: z.array(z.object({ le_ms: shared.countSchema, count: shared.countSchema })),
    sum: amount,
    count: shared.countSchema,
  }),
  output_bytes: shared.countSchema,
  redactions: shared.countSchema,
  approvals_pending: shared.countSchema,
  approvals: z.object({
    approved: shared.countSchema,
    denied: shared.countSchema,
    ended: shared.countSchema,
  }),
  http: z.object({
    connections: shared.countSchema,
    web_sockets: shared.countSchema,
    evicted: shared.countSchema,
    own_readers: shared.countSchema,
  }),
  refusals: counted,
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
    // The link itself is whoever's who has it: it is told to nobody.
    audit: { kind: 'call.done', params: [], answer: ['expires_at'] },
  }),
} as const;
