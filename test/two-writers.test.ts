// Random histories of several writers in one tree: nothing that anybody wrote is lost, and undo
// takes what a command wrote and nothing else. Two thousand of them in `npm run prove`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { provenWriters } from './support/two-writers.ts';

test('no line of two to four writers is lost, and undo takes only its own', async (t) => {
  const tally = await provenWriters({ runs: 60 });
  t.diagnostic(JSON.stringify(tally));
  const { merged, conflicts, undone } = tally;
  assert.ok(Math.min(merged, conflicts, undone) > 0, 'the histories reach what they are about');
});

test('without the decision to merge, the same histories lose lines', async () => {
  await assert.rejects(provenWriters({ runs: 60, isBlind: true }), ({ cause }: Error) =>
    /lost/.test(String(cause)),
  );
});
