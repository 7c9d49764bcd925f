/** An answer counts only for what was in front of the person, whole, for a while. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AnswerReadiness, readingTimeMs } from '../src/console/approvals/readiness.ts';

function shown(item: string, at: number): AnswerReadiness {
  const readiness = new AnswerReadiness();
  readiness.show(item, at);
  readiness.sawEnd(item);
  return readiness;
}

test('a key for a question that has only just appeared does not count', () => {
  const readiness = shown('one', 1_000);
  assert.equal(readiness.unreadyReason('one', 1_000 + readingTimeMs - 1), 'just-appeared');
  assert.equal(readiness.unreadyReason('one', 1_000 + readingTimeMs), null);
});

test('a key that was pressed for an earlier question does not answer the one in its place', () => {
  const readiness = shown('one', 1_000);
  readiness.show('two', 5_000);
  readiness.sawEnd('two');
  assert.equal(readiness.unreadyReason('one', 5_001), 'nothing');
  assert.equal(readiness.unreadyReason('two', 4_999), 'just-appeared');
  assert.equal(readiness.unreadyReason('two', 5_000 + readingTimeMs), null);
});

test('a question that was hidden has to be read anew', () => {
  const readiness = shown('one', 1_000);
  readiness.show(null, 2_000);
  assert.equal(readiness.unreadyReason('one', 9_000), 'nothing');
  readiness.show('one', 9_000);
  assert.equal(readiness.unreadyReason('one', 9_000 + readingTimeMs), 'unseen-end');
  readiness.sawEnd('one');
  assert.equal(readiness.unreadyReason('one', 9_000 + readingTimeMs), null);
});

test('a command whose end nobody saw is not answered', () => {
  const readiness = new AnswerReadiness();
  readiness.show('one', 0);
  readiness.sawEnd('another');
  assert.equal(readiness.unreadyReason('one', 60_000), 'unseen-end');
});

test('telling the same question again does not begin anew', () => {
  const readiness = shown('one', 1_000);
  readiness.show('one', 1_500);
  assert.equal(readiness.unreadyReason('one', 1_000 + readingTimeMs), null);
});
