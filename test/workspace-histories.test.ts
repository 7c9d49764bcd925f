// Random histories of a session and a second writer, undo and restore in them: a few of them here,
// a thousand in `npm run prove`.
import { test } from 'node:test';
import { noOverlay } from './support/changes.ts';
import { provenHistories } from './support/workspace-histories.ts';

const skip = noOverlay();

for (const mode of ['direct', 'staged'] as const) {
  test(`nothing of a second writer is lost in a ${mode} session`, { skip }, async (t) => {
    t.diagnostic(
      JSON.stringify(await provenHistories(mode, { runs: 6, most: 10, endOnFailure: true })),
    );
  });
}
