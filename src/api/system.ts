/** The methods `system.*`, `runtime.list` and `console.login`. */
import * as z from 'zod/mini';
import { define, get, ownership, roles } from './define.ts';
import * as field from './fields.ts';
import * as shared from './shared.ts';
import { limits } from '../limits.ts';
import { feedId } from './feed.ts';

/** A place where commands run. */
export const runtime = z.object({
  runtime_id: z.string(),
  kind: z.literal('local'),
  platform: z.string(),
  version: z.string(),
  uptime_s: shared.count,
  active_sessions: shared.count,
});

const counted = z.record(z.string(), shared.count);
const amount = z.number();

const metrics = z.object({
  uptime_s: shared.count,
  memory_rss_bytes: shared.count,
  open_fds: z.nullable(shared.count),
  heap_used_bytes: shared.count,
  cpu_s: amount,
  event_loop_lag_ms: amount,
  event_loop_lag_max_ms: amount,
  active_sessions: shared.count,
  commands_running: shared.count,
  commands: z.object({
    zero: shared.count,
    nonzero: shared.count,
    timed_out: shared.count,
    stopped: shared.count,
    refused: shared.count,
    failed: shared.count,
  }),
  verdicts: z.object({ allow: shared.count, ask: shared.count, block: shared.count }),
  command_duration_ms: z.object({
    buckets: z.array(z.object({ le_ms: shared.count, count: shared.count })),
    sum: amount,
    count: shared.count,
  }),
  output_bytes: shared.count,
  redactions: shared.count,
  approvals_pending: shared.count,
  approvals: z.object({ approved: shared.count, denied: shared.count, ended: shared.count }),
  http: z.object({
    connections: shared.count,
    web_sockets: shared.count,
    evicted: shared.count,
    own_readers: shared.count,
  }),
  refusals: counted,
});

/** Every `system` method: its parameters, its answer and its rules. */
export const systemMethods = {
  'system.ping': define({
    params: field.noParams,
    answer: z.object({ uptime_s: shared.count, version: z.string() }),
    roles: roles.everybody,
    owns: ownership.none,
    lane: 'at-once',
    http: [{ ...get, path: '/v1/ping', about: 'Whether it answers, and its version' }],
    audit: null,
  }),
  'system.stats': define({
    params: field.noParams,
    answer: z.object({
      active_sessions: shared.count,
      total_commands_run: shared.count,
      uptime_s: shared.count,
      memory_rss_bytes: shared.count,
      open_fds: z.nullable(shared.count),
    }),
    roles: roles.everybody,
    owns: ownership.none,
    lane: 'at-once',
    http: [{ ...get, path: '/v1/stats', about: 'Sessions, commands and memory' }],
    audit: null,
  }),
  'system.metrics': define({
    params: field.noParams,
    answer: metrics,
    roles: roles.everybody,
    owns: ownership.none,
    lane: 'at-once',
    http: [{ ...get, path: '/v1/metrics', about: 'The figures of /metrics as JSON' }],
    audit: null,
  }),
  'system.hello': define({
    params: z.object({
      protocol: z.exactOptional(field.name),
      client: z.exactOptional(field.execKey),
      frames: z.exactOptional(z.enum(['lines', 'bin'], { error: '"lines" or "bin"' })),
      window_bytes: z.exactOptional(
        field.whole(limits.windowBytes.default / 16, limits.windowBytes.max),
      ),
    }),
    answer: z.object({
      version: z.string(),
      protocol: z.literal('trl/2'),
      features: shared.names,
      frames: z.enum(['lines', 'bin']),
      window_bytes: z.exactOptional(shared.count),
    }),
    roles: roles.everybody,
    owns: ownership.none,
    lane: 'at-once',
    http: 'it is about a connection; GET /rpc',
    audit: null,
  }),
  'runtime.list': define({
    params: field.noParams,
    answer: z.object({ runtimes: z.array(runtime) }),
    roles: roles.everybody,
    owns: ownership.none,
    lane: 'beside',
    http: [{ ...get, path: '/v1/runtimes', about: 'Where commands run' }],
    audit: null,
  }),
  'system.watch': define({
    params: field.noParams,
    answer: z.object({ stream_id: feedId }),
    roles: roles.everybody,
    owns: ownership.none,
    lane: 'beside',
    http: [
      {
        ...get,
        path: '/v1/events',
        about: 'Follow everything that changes as server-sent events',
        answer: 'events',
      },
    ],
    audit: null,
  }),
  'console.login': define({
    params: z.object({ passphrase: z.exactOptional(field.passphrase) }),
    answer: z.object({ url: z.string(), expires_at: shared.time }),
    roles: 'socket',
    owns: ownership.none,
    lane: 'beside',
    http: 'it makes the link by which a person logs in here',
    // The link itself is whoever's who has it: it is told to nobody.
    audit: { kind: 'call.done', params: [], answer: ['expires_at'] },
  }),
} as const;
