/** Metrics in the text format of Prometheus (exposition format 0.0.4). */
import type { MetricsView } from '../../api/system.ts';

type Kind = 'counter' | 'gauge' | 'histogram';

export function metricsText(view: MetricsView): string {
  const { commands, verdicts, approvals, refusals, http, command_duration_ms: took } = view;
  return [
    one('uptime_seconds', 'gauge', 'Since the runtime started.', view.uptime_s),
    one('memory_rss_bytes', 'gauge', 'Resident memory of the daemon.', view.memory_rss_bytes),
    ...(view.open_fds === null
      ? []
      : [one('open_fds', 'gauge', 'Open descriptors of the daemon.', view.open_fds)]),
    one('heap_used_bytes', 'gauge', 'Used heap of the daemon.', view.heap_used_bytes),
    one('cpu_seconds_total', 'counter', 'Processor time of the daemon.', view.cpu_s),
    one('event_loop_lag_seconds', 'gauge', 'How late a timer was.', view.event_loop_lag_ms / 1_000),
    one(
      'event_loop_lag_max_seconds',
      'gauge',
      'The most of it in the last minute.',
      view.event_loop_lag_max_ms / 1_000,
    ),
    one('sessions_active', 'gauge', 'Sessions.', view.active_sessions),
    one('commands_running', 'gauge', 'Commands that run.', view.commands_running),
    many('commands_total', 'How commands ended.', 'outcome', commands),
    many('verdicts_total', 'What policy said of commands.', 'decision', verdicts),
    many('approvals_total', 'How questions to people ended.', 'outcome', approvals),
    one('approvals_pending', 'gauge', 'Questions that wait.', view.approvals_pending),
    histogram('command_duration_seconds', 'How long commands ran.', took),
    one('output_bytes_total', 'counter', 'Redacted output of commands.', view.output_bytes),
    one('redactions_total', 'counter', 'Secrets hidden in output.', view.redactions),
    one('http_connections', 'gauge', 'Open HTTP connections.', http.connections),
    one('http_websockets', 'gauge', 'WebSockets.', http.web_sockets),
    one('http_evicted_total', 'counter', 'Connections that made room.', http.evicted),
    one('http_own_readers', 'gauge', 'Followers that fell behind.', http.own_readers),
    many('refusals_total', 'Requests that a transport refused.', 'reason', refusals),
  ].join('');
}

function head(name: string, kind: Kind, about: string): string {
  return `# HELP trl_${name} ${about}\n# TYPE trl_${name} ${kind}\n`;
}

function one(name: string, kind: Kind, about: string, value: number): string {
  return `${head(name, kind, about)}trl_${name} ${value}\n`;
}

function many(
  name: string,
  about: string,
  label: string,
  counts: Readonly<Record<string, number>>,
): string {
  const lines = Object.entries(counts).map(
    ([value, count]) => `trl_${name}{${label}="${value}"} ${count}\n`,
  );
  return head(name, 'counter', about) + lines.join('');
}

function histogram(
  name: string,
  about: string,
  { buckets, sum, count }: MetricsView['command_duration_ms'],
): string {
  const lines = buckets.map(
    ({ le_ms: le, count: below }) => `trl_${name}_bucket{le="${le / 1_000}"} ${below}\n`,
  );
  return [
    head(name, 'histogram', about),
    ...lines,
    `trl_${name}_bucket{le="+Inf"} ${count}\n`,
    `trl_${name}_sum ${sum / 1_000}\n`,
    `trl_${name}_count ${count}\n`,
  ].join('');
}
