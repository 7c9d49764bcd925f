/** An answer counts only for what was in front of the person, whole, for a while. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Readiness, readMs } from '../src/console/approvals/readiness.ts';

function shown(item: string, at: number): Readiness {
  const readiness = new Readiness();
  readiness.show(item, at);
  readiness.sawEnd(item);
  return readiness;
}

test('a key for a question that has only just appeared does not count', () => {
  const readiness = shown('one', 1_000);
  assert.equal(readiness.waiting('one', 1_000 + readMs - 1), 'just-appeared');
  assert.equal(readiness.waiting('one', 1_000 + readMs), null);
});

test('a key that was pressed for an earlier question does not answer the one in its place', () => {
  const readiness = shown('one', 1_000);
  readiness.show('two', 5_000);
  readiness.sawEnd('two');
  assert.equal(readiness.waiting('one', 5_001), 'nothing');
  assert.equal(readiness.waiting('two', 4_999), 'just-appeared');
  assert.equal(readiness.waiting('two', 5_000 + readMs), null);
});

test('a question that was hidden has to be read anew', () => {
  const readiness = shown('one', 1_000);
  readiness.show(null, 2_000);
  assert.equal(readiness.waiting('one', 9_000), 'nothing');
  readiness.show('one', 9_000);
  assert.equal(readiness.waiting('one', 9_000 + readMs), 'unseen-end');
  readiness.sawEnd('one');
  assert.equal(readiness.waiting('one', 9_000 + readMs), null);
});

test('a command whose end nobody saw is not answered', () => {
  const readiness = new Readiness();
  readiness.show('one', 0);
  readiness.sawEnd('another');
  assert.equal(readiness.waiting('one', 60_000), 'unseen-end');
});

test('telling the same question again does not begin anew', () => {
  const readiness = shown('one', 1_000);
  readiness.show('one', 1_500);
  assert.equal(readiness.waiting('one', 1_000 + readMs), null);
});
