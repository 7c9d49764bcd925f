/** Numbers over time, as the console plots them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { metricLevel, flattenNumbers, metricRates } from '../src/console/metrics/series.ts';

test('every number is told by its path, and nothing else', () => {
  const told = { a: 1, b: { c: 2, d: { e: 3 } }, f: 'x', g: [4], h: null, i: Number.NaN };
  assert.deepEqual(
    [...flattenNumbers(told)],
    [
      ['a', 1],
      ['b_c', 2],
      ['b_d_e', 3],
    ],
  );
});

test('totals are plotted as what they rise a second, a start anew as nothing', () => {
  const at = (seconds: number, zero: number, failed: number) => ({
    at: seconds * 1_000,
    values: new Map([
      ['commands_zero', zero],
      ['commands_failed', failed],
      ['commands_running', 99],
    ]),
  });
  const samples = [at(0, 1, 1), at(2, 5, 1), at(4, 0, 0)];
  assert.equal(metricLevel(samples[1] ?? at(0, 0, 0), ['commands_*']), 6);
  assert.equal(metricLevel(samples[1] ?? at(0, 0, 0), ['commands_running']), 99);
  assert.deepEqual(metricRates(samples, ['commands_*']), [2, 0]);
});
