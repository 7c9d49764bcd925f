// npm run prove: 100,000 renames of files to which others append as fast as they can.
import assert from 'node:assert/strict';
import { race } from '../support/commit-race.ts';

const attempts = process.env['TRL_PROVE'] === 'full' ? 50_000 : 2_000;
for (const kind of ['exchange', 'away'] as const) {
  const { answers, writes, lost, late, left } = await race({
    kind,
    files: 8,
    writers: 2,
    attempts,
  });
  process.stdout.write(`${kind} ${JSON.stringify({ answers, writes, lost: lost.length, late })}\n`);
  assert.deepEqual({ lost, left }, { lost: [], left: [] });
}
process.stdout.write('nothing that the writers wrote is lost\n');
