/** Numbers of the runtime over the time that this page looks. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { client, reasonOf } from '../live/connection.ts';
import { Problem } from '../parts/act.tsx';
import { Empty } from '../parts/facts.tsx';
import { numbersIn, rateOf } from './series.ts';
import type { Sample } from './series.ts';

const everyMs = 2_000;
/** Samples that are kept: ten minutes. */
const samplesMax = 300;

export function Metrics() {
  const samples = useSignal<readonly Sample[]>([]);
  const problem = useSignal<string | null>(null);
  const asks = client.value;
  useEffect(() => {
    if (asks === null) return undefined;
    const look = async (): Promise<void> => {
      try {
        const sample = { at: Date.now(), values: numbersIn(await asks.call('system.metrics', {})) };
        samples.value = [...samples.value, sample].slice(-samplesMax);
        problem.value = null;
      } catch (error) {
        problem.value = reasonOf(error);
      }
    };
    void look();
    const timer = setInterval(() => void look(), everyMs);
    return () => clearInterval(timer);
  }, [asks]);
  const names = [...(samples.value.at(-1)?.values.keys() ?? [])];
  return (
    <>
      <header class="view-head">
        <h1>Metrics</h1>
        <p class="quiet">
          Since this page looks, every {everyMs / 1_000} s. The same numbers for Prometheus:{' '}
          <code>/metrics</code>
        </p>
      </header>
      <Problem of={problem.value} />
      {names.length === 0 && problem.value === null && <Empty title="…" />}
      <ul class="plots">
        {names.map((name) => (
          <Plot key={name} name={name} samples={samples.value} />
        ))}
      </ul>
    </>
  );
}

const size = { width: 220, height: 48 } as const;

function Plot({ name, samples }: { readonly name: string; readonly samples: readonly Sample[] }) {
  const isTotal = /_total$|_sum$|_count$/.test(name);
  const values = isTotal
    ? rateOf(samples, name)
    : samples.map(({ values: all }) => all.get(name) ?? 0);
  const last = samples.at(-1)?.values.get(name) ?? 0;
  const most = Math.max(...values, 0);
  const least = Math.min(...values, 0);
  const span = most - least || 1;
  const points = values.map((value, index) => {
    const x = values.length < 2 ? size.width : (index / (values.length - 1)) * size.width;
    const y = size.height - 2 - ((value - least) / span) * (size.height - 4);
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  });
  const words = name.replaceAll('_', ' ').replace(/^trl /, '');
  return (
    <li class="card plot">
      <p class="name">{words}</p>
      <p class="number">{shown(last)}</p>
      <svg
        viewBox={`0 0 ${size.width} ${size.height}`}
        role="img"
        aria-label={`${words}: ${shown(last)} now`}
      >
        <polyline points={points.join(' ')} />
      </svg>
      <p class="quiet">
        {isTotal ? `at most ${shown(most)} a second` : `${shown(least)} to ${shown(most)}`}
      </p>
    </li>
  );
}

function shown(value: number): string {
  if (Math.abs(value) >= 1e6) return `${(value / 1e6).toFixed(1)} M`;
  if (Math.abs(value) >= 1e4) return `${(value / 1e3).toFixed(1)} k`;
  return Number.isInteger(value) ? String(value) : value.toFixed(2);
}
