// npm run prove: the disk of a busy runtime loses its power at random moments, which needs root.
import { noPowerCut, PoweredAudit } from '../support/audit-power.ts';
import { noCrashes } from '../support/audit-told.ts';

const cuts = process.env['TRL_PROVE'] === 'full' ? 24 : 4;
const perRuntime = 6;
const counts = noCrashes();
const why = noPowerCut();
if (why === false) {
  while (counts.crashes < cuts) {
    await using runtime = await PoweredAudit.start(counts);
    for (let at = 0; at < perRuntime && counts.crashes < cuts; at += 1) await runtime.round(1_500);
    await runtime.end();
  }
}
process.stdout.write(why === false ? `${JSON.stringify(counts)}\n` : `skipped: ${why}\n`);
