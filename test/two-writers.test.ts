// Random histories of several writers in one tree: nothing that anybody wrote is lost, and undo
// takes what a command wrote and nothing else. Two thousand of them in `npm run prove`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { provenWriters } from './support/two-writers.ts';

const step = (
  who: 'a' | 'b' | 'person',
  what: 'append' | 'edit' | 'hold' | 'look' | 'read' | 'remove' | 'stale' | 'end' | 'undo',
  file: 'text' | 'binary' | 'log',
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
  // The command saw what the person added at the end, and writes a line above it.
  [step('a', 'append', 'log'), step('person', 'append', 'text'), step('a', 'edit', 'text', 8)],
  // It saw what the person added first, and not what they cut off then.
  [
    step('a', 'append', 'text'),
    step('person', 'edit', 'log'),
    step('a', 'append', 'log'),
    step('person', 'remove', 'log', 7),
  ],
  // The same, and what they cut off is not at the end.
  [
    step('a', 'append', 'binary'),
    step('person', 'append', 'text'),
    step('person', 'append', 'text'),
    step('a', 'append', 'text'),
    step('person', 'remove', 'text'),
  ],
  // What both commands saw stands again when one of them is undone.
  [
    step('a', 'append', 'text'),
    step('person', 'append', 'log'),
    step('b', 'append', 'log'),
    step('a', 'append', 'log'),
    step('a', 'end', 'text'),
    step('a', 'undo', 'text'),
  ],
  // One command removes a line that the other one added at the end.
  [
    step('b', 'append', 'text'),
    step('a', 'append', 'binary'),
    step('a', 'append', 'binary'),
    step('a', 'look', 'text'),
    step('b', 'remove', 'binary', 8),
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
