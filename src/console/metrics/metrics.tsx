/** The runtime's metrics while this page is open. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { currentClient, describeError } from '../live/connection.ts';
import { ActionError } from '../components/action.tsx';
import { DetailSection } from '../components/detail-list.tsx';
import { formatByteCount } from '../components/time.tsx';
import { metricLevel, flattenNumbers, metricRates } from './series.ts';
import type { MetricSample } from './series.ts';

const everyMs = 2_000;
/** Number of samples: ten minutes. */
const samplesMax = 300;

interface Plotted {
  readonly title: string;
  /** Paths whose numbers are added up; one that ends in `*` includes all with that prefix. */
  readonly of: readonly string[];
  /** A total is drawn as its rise per second. */
  readonly total?: true;
  readonly show: (value: number) => string;
}

const count = (value: number): string =>
  Number.isInteger(value) ? value.toLocaleString('en') : value.toFixed(2);
const aSecond = (value: number): string => `${count(value)} / s`;

const plots: readonly Plotted[] = [
  { title: 'Commands running', of: ['commands_running'], show: count },
  { title: 'Waiting for a person', of: ['approvals_pending'], show: count },
  { title: 'Sessions', of: ['active_sessions'], show: count },
  { title: 'Commands ended', of: ['commands_*'], total: true, show: aSecond },
  { title: 'Printed', of: ['output_bytes'], total: true, show: (n) => `${formatByteCount(n)} / s` },
  { title: 'Secrets hidden', of: ['redactions'], total: true, show: aSecond },
  { title: 'Calls refused', of: ['refusals*'], total: true, show: aSecond },
  { title: 'Connections', of: ['http_connections', 'http_web_sockets'], show: count },
  { title: 'Event loop delay', of: ['event_loop_lag_ms'], show: (n) => `${n.toFixed(1)} ms` },
  { title: 'Memory', of: ['memory_rss_bytes'], show: formatByteCount },
  { title: 'Open descriptors', of: ['open_fds'], show: count },
  {
    title: 'Processor',
    of: ['cpu_s'],
    total: true,
    show: (n) => `${(n * 100).toFixed(0)} %`,
  },
];

export function MetricsPage() {
  const samples = useSignal<readonly MetricSample[]>([]);
  const problem = useSignal<string | null>(null);
  const asks = currentClient.value;
  useEffect(() => {
    if (asks === null) return undefined;
    const look = async (): Promise<void> => {
      try {
        const sample = {
          at: Date.now(),
          values: flattenNumbers(await asks.call('system.metrics', {})),
        };
        samples.value = [...samples.value, sample].slice(-samplesMax);
        problem.value = null;
      } catch (error) {
        problem.value = describeError(error);
      }
    };
    void look();
    const timer = setInterval(() => void look(), everyMs);
    return () => clearInterval(timer);
  }, [asks]);
  const last = samples.value.at(-1)?.values;
  return (
    <>
      <header class="view-head">
        <h1>Metrics</h1>
        <p class="quiet">
          Since this page was opened, every {everyMs / 1_000} s. The same for Prometheus:{' '}
          <code>/metrics</code>
        </p>
      </header>
      <ActionError of={problem.value} />
      <ul class="plots">
        {plots.map((plot) => (
          <Plot key={plot.title} plot={plot} samples={samples.value} />
        ))}
      </ul>
      {last !== undefined && (
        <DetailSection title="Every number">
          <dl class="numbers">
            {[...last].map(([name, value]) => (
              <div key={name}>
                <dt class="mono">{name}</dt>
                <dd>{count(value)}</dd>
              </div>
            ))}
          </dl>
        </DetailSection>
      )}
    </>
  );
}

const size = { width: 240, height: 56 } as const;

interface PlotProps {
  readonly plot: Plotted;
  readonly samples: readonly MetricSample[];
}

function Plot({ plot: { title, of, total, show }, samples }: PlotProps) {
  const values =
    total === true ? metricRates(samples, of) : samples.map((one) => metricLevel(one, of));
  const last = values.at(-1) ?? 0;
  const most = Math.max(...values, 0);
  const scale = most === 0 ? 1 : most;
  const points = values.map((value, index) => {
    const x = values.length < 2 ? size.width : (index / (values.length - 1)) * size.width;
    const y = size.height - 2 - (value / scale) * (size.height - 6);
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  });
  return (
    <li class="card plot">
      <p class="name">{title}</p>
      <p class="number">{show(last)}</p>
      <svg
        viewBox={`0 0 ${size.width} ${size.height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title}: ${show(last)} now, ${show(most)} at most`}
      >
        {points.length > 1 && (
          <polygon points={`0,${size.height} ${points.join(' ')} ${size.width},${size.height}`} />
        )}
        <polyline points={points.join(' ')} />
      </svg>
      <p class="quiet">at most {show(most)}</p>
    </li>
  );
}
