/** The wire of `system.metrics`: what a runtime counts of itself, since it started. */

export interface MetricsView {
  readonly uptime_s: number;
  readonly memory_rss_bytes: number;
  /** Descriptors that the daemon has open; `null`: the system does not say. */
  readonly open_fds: number | null;
  readonly heap_used_bytes: number;
  readonly cpu_s: number;
  /** How late the process came to a timer: just now, and at most in the last minute. */
  readonly event_loop_lag_ms: number;
  readonly event_loop_lag_max_ms: number;
  readonly active_sessions: number;
  readonly commands_running: number;
  /** How commands ended; `refused` ones never ran, of `failed` ones nothing is known. */
  readonly commands: Readonly<Record<CommandEnd, number>>;
  readonly verdicts: Readonly<Record<'allow' | 'ask' | 'block', number>>;
  readonly command_duration_ms: {
    /** Commands that took at most `le_ms`; they add up. */
    readonly buckets: readonly { readonly le_ms: number; readonly count: number }[];
    readonly sum: number;
    readonly count: number;
  };
  /** Of redacted output. */
  readonly output_bytes: number;
  readonly redactions: number;
  readonly approvals_pending: number;
  readonly approvals: Readonly<Record<'approved' | 'denied' | 'ended', number>>;
  /** Of the HTTP door; all 0 without one. */
  readonly http: {
    readonly connections: number;
    readonly web_sockets: number;
    readonly evicted: number;
    readonly own_readers: number;
  };
  /** Requests turned away at a door, by reason. */
  readonly refusals: Readonly<Record<string, number>>;
}

export type CommandEnd = 'zero' | 'nonzero' | 'timed_out' | 'stopped' | 'refused' | 'failed';
