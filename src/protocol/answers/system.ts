/** Answers of `system.*`, `console.login` and `runtime.list`. */
import * as z from 'zod/mini';
import * as word from './words.ts';

/** A place where commands run. */
export const runtime = z.object({
  runtime_id: z.string(),
  kind: z.literal('local'),
  platform: z.string(),
  version: z.string(),
  uptime_s: word.count,
  active_sessions: word.count,
});

const counted = z.record(z.string(), word.count);
const amount = z.number();

const metrics = z.object({
  uptime_s: word.count,
  memory_rss_bytes: word.count,
  open_fds: z.nullable(word.count),
  heap_used_bytes: word.count,
  cpu_s: amount,
  event_loop_lag_ms: amount,
  event_loop_lag_max_ms: amount,
  active_sessions: word.count,
  commands_running: word.count,
  commands: z.object({
    zero: word.count,
    nonzero: word.count,
    timed_out: word.count,
    stopped: word.count,
    refused: word.count,
    failed: word.count,
  }),
  verdicts: z.object({ allow: word.count, ask: word.count, block: word.count }),
  command_duration_ms: z.object({
    buckets: z.array(z.object({ le_ms: word.count, count: word.count })),
    sum: amount,
    count: word.count,
  }),
  output_bytes: word.count,
  redactions: word.count,
  approvals_pending: word.count,
  approvals: z.object({ approved: word.count, denied: word.count, ended: word.count }),
  http: z.object({
    connections: word.count,
    web_sockets: word.count,
    evicted: word.count,
    own_readers: word.count,
  }),
  refusals: counted,
});

export const systemAnswers = {
  'system.ping': z.object({ uptime_s: word.count, version: z.string() }),
  'system.stats': z.object({
    active_sessions: word.count,
    total_commands_run: word.count,
    uptime_s: word.count,
    memory_rss_bytes: word.count,
    open_fds: z.nullable(word.count),
  }),
  'system.metrics': metrics,
  'system.hello': z.object({
    version: z.string(),
    protocol: z.literal('trl/2'),
    features: word.names,
    frames: z.enum(['lines', 'bin']),
    window_bytes: z.exactOptional(word.count),
  }),
  'console.login': z.object({ url: z.string(), expires_at: word.time }),
  'runtime.list': z.object({ runtimes: z.array(runtime) }),
} as const;
