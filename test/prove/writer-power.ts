// npm run prove: commands and a person in one tree whose disk loses its power, which needs root.
import { noPowerCut } from '../support/audit-power.ts';
import { PoweredWriters } from '../support/writer-power.ts';

const cuts = process.env['TRL_PROVE'] === 'full' ? 20 : 4;
const perRuntime = 5;
const counts = { cuts: 0, receipts: 0, there: 0, gone: 0 };
const why = noPowerCut();
for (let runtime = 0; counts.cuts < (why === false ? cuts : 0); runtime += 1) {
  await using writers = await PoweredWriters.start(counts, runtime % 2 === 0 ? 'beside' : 'apart');
  for (let at = 0; at < perRuntime && counts.cuts < cuts; at += 1) {
    await writers.round(Math.random() * 7_000, at % 2 === 0);
  }
}
process.stdout.write(why === false ? `${JSON.stringify(counts)}\n` : `skipped: ${why}\n`);
