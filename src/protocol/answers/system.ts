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

export const systemAnswers = {
  'system.ping': z.object({ uptime_s: word.count, version: z.string() }),
  'system.stats': z.object({
    active_sessions: word.count,
    total_commands_run: word.count,
    uptime_s: word.count,
    memory_rss_bytes: word.count,
  }),
  'system.hello': z.object({
    version: z.string(),
    protocol: z.literal('trl/2'),
    features: word.names,
    frames: z.enum(['lines', 'bin']),
    window_bytes: z.exactOptional(word.count),
  }),
  'runtime.list': z.object({ runtimes: z.array(runtime) }),
  'console.login': z.object({ url: z.string(), expires_at: word.time }),
} as const;
