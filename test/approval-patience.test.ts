// An agent that keeps being refused is slowed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RefusalBackoff } from '../src/approval/refusal-backoff.ts';

/** Waits in seconds of refusals that come at once after the answer before. */
function waits(count: number, patience: RefusalBackoff, clock: { ms: number }): number[] {
  return Array.from({ length: count }, () => {
    const waitMs = patience.recordRefusal('s-1');
    clock.ms += waitMs;
    return waitMs / 1_000;
  });
}

function made(): { patience: RefusalBackoff; clock: { ms: number } } {
  const clock = { ms: 1_000_000 };
  return { patience: new RefusalBackoff(() => clock.ms), clock };
}

test('after three refusals within a minute answers take 1, 2, 4 … 15 seconds', () => {
  const { patience, clock } = made();
  assert.deepEqual(waits(10, patience, clock), [0, 0, 0, 1, 2, 4, 8, 15, 15, 15]);
});

test('a command that was allowed makes it quick again', () => {
  const { patience, clock } = made();
  waits(6, patience, clock);
  patience.reset('s-1');
  assert.deepEqual(waits(4, patience, clock), [0, 0, 0, 1]);
});

test('so does a minute without a refusal, counted from the last answer', () => {
  const { patience, clock } = made();
  waits(6, patience, clock);
  clock.ms += 59_999;
  assert.deepEqual(waits(1, patience, clock), [8]);
  clock.ms += 60_000;
  assert.deepEqual(waits(4, patience, clock), [0, 0, 0, 1]);
});

test('a refusal now and then is answered at once', () => {
  const { patience, clock } = made();
  for (let count = 0; count < 20; count += 1) {
    assert.equal(patience.recordRefusal('s-1'), 0);
    clock.ms += 25_000;
  }
});

test('sessions do not wait for each other, and no number of them grows without end', () => {
  const { patience, clock } = made();
  waits(5, patience, clock);
  assert.equal(patience.recordRefusal('s-2'), 0);
  for (let at = 0; at < 10_000; at += 1) patience.recordRefusal(`s-other-${at}`);
  assert.equal(patience.recordRefusal('s-1'), 0);
});
