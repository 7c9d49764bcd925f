// Random histories of several writers in one tree: nothing that anybody wrote is lost, and undo
// takes what a command wrote and nothing else. Two thousand of them in `npm run prove`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { provenWriters } from './support/two-writers.ts';

const step = (
  who: 'a' | 'person',
  what: 'append' | 'hold' | 'look' | 'read' | 'remove' | 'stale' | 'end',
  file: 'text' | 'binary',
  place = 0,
) => ({ who, what, file, place });

const first = [
  // The person saves as soon as the command has begun, within a tick of the file system's clock.
  ...Array.from({ length: 12 }, () => [
    step('a', 'read', 'binary'),
    step('person', 'append', 'binary'),
    step('a', 'look', 'text'),
    step('a', 'stale', 'binary'),
  ]),
  // What the person cut off at the end is in what the command began with.
  [step('a', 'append', 'text'), step('person', 'remove', 'text', 6), step('a', 'end', 'text')],
  // A file that is open and one under its old name, neither of which can be merged.
  [
    step('a', 'hold', 'binary'),
    step('person', 'append', 'binary'),
    step('a', 'look', 'text'),
    step('a', 'hold', 'binary'),
    step('a', 'append', 'binary'),
    step('person', 'stale', 'binary'),
    step('a', 'append', 'text'),
  ],
];

test('no line of two to four writers is lost, and undo takes only its own', async (t) => {
  const tally = await provenWriters({ runs: 60 + first.length, first });
  t.diagnostic(JSON.stringify(tally));
  const { merged, conflicts, undone } = tally;
  assert.ok(Math.min(merged, conflicts, undone) > 0, 'the histories reach what they are about');
});

test('without the decision to merge, the same histories lose lines', async () => {
  await assert.rejects(provenWriters({ runs: 60, isBlind: true }), ({ cause }: Error) =>
    /lost/.test(String(cause)),
  );
});
