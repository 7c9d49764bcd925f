/** Numbers over time. */

export interface Sample {
  /** Unix ms. */
  readonly at: number;
  readonly values: ReadonlyMap<string, number>;
}

/** Names of a plot at most; what is told beyond is left out. */
const namesMax = 60;

/** Every number in `told` by its path: `{a:{b:1}}` → `a_b`. Lists are left out. */
export function numbersIn(told: unknown): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  const walk = (value: unknown, path: string): void => {
    if (found.size >= namesMax) return;
    if (typeof value === 'number' && Number.isFinite(value)) found.set(path, value);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
    for (const [name, inner] of Object.entries(value)) {
      walk(inner, path === '' ? name : `${path}_${name}`);
    }
  };
  walk(told, '');
  return found;
}

/** How much `name` rose a second between samples; a fall is a start anew. */
export function rateOf(samples: readonly Sample[], name: string): number[] {
  return samples.slice(1).map((sample, index) => {
    const before = samples[index];
    const rise = (sample.values.get(name) ?? 0) - (before?.values.get(name) ?? 0);
    const seconds = (sample.at - (before?.at ?? sample.at)) / 1_000;
    return seconds > 0 && rise > 0 ? rise / seconds : 0;
  });
}
