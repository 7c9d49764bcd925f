/** Numbers over time. */

export interface MetricSample {
  /** Unix ms. */
  readonly at: number;
  readonly values: ReadonlyMap<string, number>;
}

/** Numbers of one answer at most; further ones are omitted. */
const namesMax = 200;

/** Every number in `answer` by its path: `{a:{b:1}}` → `a_b`. Lists are omitted. */
export function flattenNumbers(answer: unknown): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  const walk = (value: unknown, path: string): void => {
    if (found.size >= namesMax) return;
    if (typeof value === 'number' && Number.isFinite(value)) found.set(path, value);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
    for (const [name, inner] of Object.entries(value)) {
      walk(inner, path === '' ? name : `${path}_${name}`);
    }
  };
  walk(answer, '');
  return found;
}

/** The numbers under `names`, added up; `commands_*` includes all with that prefix. */
export function metricLevel({ values }: MetricSample, names: readonly string[]): number {
  let sum = 0;
  for (const [path, value] of values) {
    const isIncluded = names.some((name) =>
      name.endsWith('*') ? path.startsWith(name.slice(0, -1)) : path === name,
    );
    // The number of running commands is not a total.
    if (isIncluded && (names.includes(path) || !path.endsWith('_running'))) sum += value;
  }
  return sum;
}

/** The rise per second between samples; a fall is a restart. */
export function metricRates(samples: readonly MetricSample[], names: readonly string[]): number[] {
  return samples.slice(1).flatMap((sample, index) => {
    const before = samples[index];
    if (before === undefined) return [];
    const rise = metricLevel(sample, names) - metricLevel(before, names);
    const seconds = (sample.at - before.at) / 1_000;
    return [seconds > 0 && rise > 0 ? rise / seconds : 0];
  });
}
