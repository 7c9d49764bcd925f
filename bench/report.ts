/** What a part of the benchmark found, and how it is shown and kept. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Figures } from './stats.ts';

/** A figure against what it should be. */
export interface Check {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly targetMax?: number;
  readonly targetMin?: number;
}

export interface Part<Data> {
  readonly data: Data;
  readonly notes: readonly string[];
  readonly checks: readonly Check[];
}

const reached = ({ value, targetMax = Infinity, targetMin = -Infinity }: Check): boolean =>
  value <= targetMax && value >= targetMin;

const short = (value: number): string => value.toFixed(value >= 100 || value === 0 ? 0 : 2);

/** One line a check: `ok` or `MISSED`, the figure and the target. */
export function checkLines(checks: readonly Check[]): string[] {
  return checks.map((check) => {
    const { name, value, unit, targetMax, targetMin } = check;
    const target = targetMax === undefined ? `≥ ${targetMin ?? 0}` : `≤ ${targetMax}`;
    const figure = `${short(value)} ${unit}`.padStart(16);
    return `  ${reached(check) ? 'ok    ' : 'MISSED'} ${name.padEnd(44)} ${figure}   (${target})`;
  });
}

export const rowHead = `  ${' '.repeat(24)}${['min', 'p50', 'p95', 'ratio', 'n']
  .map((word) => word.padStart(9))
  .join('')}`;

/** Milliseconds and how many times the baseline. */
export function rowLine(row: Figures & { readonly name: string; readonly ratio: number }): string {
  const cells = [short(row.min), short(row.p50), short(row.p95), `${short(row.ratio)}×`, row.n];
  return `  ${row.name.padEnd(24)}${cells.map((cell) => String(cell).padStart(9)).join('')}`;
}

/** Keeps the parts that were measured now beside those of an earlier run. */
export function keep(
  dir: string,
  parts: Readonly<Record<string, object>>,
  name = 'latest.json',
): void {
  mkdirSync(dir, { recursive: true });
  const file = path.join(dir, name);
  let earlier: object = {};
  try {
    earlier = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    // There is none yet, or none that can be read.
  }
  writeFileSync(file, `${JSON.stringify({ ...earlier, ...parts }, null, 2)}\n`);
}
