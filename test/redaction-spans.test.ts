// Where the secrets of a text are, as a caller counts its characters: `trl redact --spans`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KnownIndex } from '../src/redaction/known/known-index.ts';
import { findSecretSpans } from '../src/redaction/open-redactor.ts';
import { RedactionTags } from '../src/redaction/redaction-tags.ts';

const value = 'ghp_9fKq2LxWv7RbT0cYzN4mJhU6sDaE1PgVtXoQ';

/** What the spans of `text` hold. */
function found(text: string): string[] {
  const spans = findSecretSpans(
    {
      options: { profile: 'balanced', thresholds: {}, patterns: [] },
      prior: 'none',
      index: new KnownIndex([{ name: 'KEY', value, tag: '[HIDDEN:abc123]' }]),
      tags: new RedactionTags(Buffer.alloc(32, 7)),
    },
    text,
  );
  return spans.map(({ start, end }) => text.slice(start, end));
}

test('a span counts in UTF-16, whatever stands before it', () => {
  for (const before of [
    '',
    'a ',
    'é ',
    '€ ',
    '\u{1f511} ',
    '\u07ff\u0800\uffff\u{10000} ',
    '\u007f\u0080 ',
  ]) {
    assert.deepEqual(found(`${before}${value}`), [value], before);
    assert.deepEqual(found(`${before}${value}\n${before}${value} x\n`), [value, value], before);
    assert.deepEqual(found(before), [], before);
  }
});

test('known and detected values are both reported', () => {
  const other = 'Hunter22x!';
  assert.deepEqual(found(`é password=${other}\nключ ${value}\n`), [other, value]);
});
