// A look at what runs long: one that failed must not be the last.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PeriodicTask, restAfterWorkMs } from '../src/host/scheduling.ts';
import { eventually } from './support/processes.ts';

test('work that failed once is done again, until there is no more', async () => {
  const errors: string[] = [];
  let done = 0;
  const work = new PeriodicTask(
    async () => {
      done += 1;
      if (done === 2) throw new Error('the disk is full');
      return done < 4 ? 0 : null;
    },
    (error) => errors.push(String(error)),
    1,
  );
  work.start();
  await eventually('it was done four times', () => done === 4);
  assert.deepEqual(errors, ['Error: the disk is full']);
});

test('work that has more to do than usual goes on at once, whatever it took', async () => {
  let done = 0;
  const work = new PeriodicTask(
    async () => {
      done += 1;
      if (done === 3) return null;
      work.hurry();
      return 60_000;
    },
    () => {},
    1,
  );
  work.start();
  await eventually('it was done three times', () => done === 3);
});

test('work that was stopped while it went on is not done again', async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  let done = 0;
  const work = new PeriodicTask(
    () => {
      done += 1;
      return promise;
    },
    () => {},
    1,
  );
  work.start();
  await eventually('it is under way', () => done === 1);
  work.stop();
  resolve(0);
  work.start();
  await new Promise((settle) => {
    setTimeout(settle, 50);
  });
  assert.equal(done, 1);
});

test('it rests for most of the time, and no longer than somebody waits', () => {
  const rests = [0, 10, 100, 1_000, 30_000].map((tookMs) => restAfterWorkMs(tookMs, 1_000));
  assert.deepEqual(rests, [1_000, 1_000, 2_000, 5_000, 30_000]);
});
