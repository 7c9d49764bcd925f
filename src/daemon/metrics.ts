/**
 * The runtime's own counters. Commands and approvals are counted from their audit records, so that
 * the counters and the audit log agree.
 */
import type { AuditEvent } from '../audit/event.ts';
import type { CommandEnd, MetricsView } from '../api/system.ts';

const bucketsMs = [10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000];
const lagEveryMs = 1_000;
const lagsMax = 60;

/** Current values that other parts of the runtime provide. */
export interface Gauges {
  readonly active_sessions: number;
  readonly commands_running: number;
  readonly approvals_pending: number;
  readonly uptime_s: number;
  readonly memory_rss_bytes: number;
  readonly open_fds: number | null;
}

/** Counters of a transport. */
export type HttpMetrics = Pick<MetricsView, 'http' | 'refusals'>;

const noDoor: HttpMetrics = {
  http: { connections: 0, web_sockets: 0, evicted: 0, own_readers: 0 },
  refusals: {},
};

export class RuntimeMetrics implements Disposable {
  #http: () => HttpMetrics = () => noDoor;
  readonly #ends: Record<CommandEnd, number> = {
    zero: 0,
    nonzero: 0,
    timed_out: 0,
    stopped: 0,
    refused: 0,
    failed: 0,
  };
  readonly #verdicts = { allow: 0, ask: 0, block: 0 };
  readonly #approvals = { approved: 0, denied: 0, ended: 0 };
  readonly #buckets = bucketsMs.map(() => 0);
  #sumMs = 0;
  #count = 0;
  #outputBytes = 0;
  #redactions = 0;
  /** Event-loop delays of the last minute, newest last. */
  #lags: number[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor() {
    let last = performance.now();
    this.#timer = setInterval(() => {
      const now = performance.now();
      this.#lags = [...this.#lags, Math.max(0, now - last - lagEveryMs)].slice(-lagsMax);
      last = now;
    }, lagEveryMs).unref();
  }

  /** Counts an event of the audit log. Must not throw. */
  readonly recordEvent = ({ kind, data }: Pick<AuditEvent, 'kind' | 'data'>): void => {
    if (kind === 'exec.ended') this.#countEnd(data);
    else if (kind === 'exec.refused') this.#ends.refused += 1;
    else if (kind === 'exec.failed') this.#ends.failed += 1;
    else if (kind === 'exec.decided') countIn(this.#verdicts, data['decision']);
    else if (kind === 'approval.ended') this.#approvals.ended += 1;
    else if (kind === 'approval.decided') countIn(this.#approvals, data['state']);
  };

  /** Includes the counters of an HTTP server from now on. */
  includeHttp(count: () => HttpMetrics): void {
    this.#http = count;
  }

  get http(): HttpMetrics {
    return this.#http();
  }

  view(gauges: Gauges): MetricsView {
    const { user, system } = process.cpuUsage();
    let below = 0;
    const buckets = bucketsMs.map((le, at) => {
      below += this.#buckets[at] ?? 0;
      return { le_ms: le, count: below };
    });
    return {
      ...gauges,
      heap_used_bytes: process.memoryUsage().heapUsed,
      cpu_s: (user + system) / 1_000_000,
      event_loop_lag_ms: rounded(this.#lags.at(-1) ?? 0),
      event_loop_lag_max_ms: rounded(Math.max(0, ...this.#lags)),
      commands: { ...this.#ends },
      verdicts: { ...this.#verdicts },
      command_duration_ms: { buckets, sum: this.#sumMs, count: this.#count },
      output_bytes: this.#outputBytes,
      redactions: this.#redactions,
      approvals: { ...this.#approvals },
      ...this.#http(),
    };
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #countEnd(data: AuditEvent['data']): void {
    this.#ends[endOf(data)] += 1;
    const ms = numberIn(data['duration_ms']);
    const at = bucketsMs.findIndex((le) => ms <= le);
    if (at !== -1) this.#buckets[at] = (this.#buckets[at] ?? 0) + 1;
    this.#sumMs += ms;
    this.#count += 1;
    this.#outputBytes += numberIn(data['stdout_bytes']) + numberIn(data['stderr_bytes']);
    this.#redactions += numberIn(data['redactions']);
  }
}

function endOf({ timed_out: isLate, stopped, exit_code: code }: AuditEvent['data']): CommandEnd {
  if (isLate === true) return 'timed_out';
  if (stopped !== null && stopped !== undefined) return 'stopped';
  return code === 0 ? 'zero' : 'nonzero';
}

function countIn(counts: Record<string, number>, name: unknown): void {
  if (typeof name !== 'string' || !Object.hasOwn(counts, name)) return;
  counts[name] = (counts[name] ?? 0) + 1;
}

const numberIn = (value: unknown): number => (typeof value === 'number' ? value : 0);

const rounded = (ms: number): number => Math.round(ms * 10) / 10;
