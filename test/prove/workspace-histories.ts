// npm run prove: random histories of a session and a second writer, undo and restore in them.
import { provenHistories } from '../support/workspace-histories.ts';

const runs = process.env['TRL_PROVE'] === 'full' ? 500 : 40;
for (const mode of ['direct', 'staged'] as const) {
  const tally = await provenHistories(mode, { runs, most: 16 });
  process.stdout.write(`${runs} histories, ${mode}: ${JSON.stringify(tally)}\n`);
}
process.stdout.write('nothing of the second writer was lost\n');
