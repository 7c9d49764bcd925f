// npm run prove: daemon, runner or redactor is killed at random moments while clients are busy.
import { KilledAudit, victims } from '../support/audit-kills.ts';
import { noCrashes } from '../support/audit-told.ts';

const kills = process.env['TRL_PROVE'] === 'full' ? 200 : 20;
const perRuntime = 20;
const counts = noCrashes();
while (counts.crashes < kills) {
  await using runtime = await KilledAudit.start(counts);
  for (let at = 0; at < perRuntime && counts.crashes < kills; at += 1) {
    const victim = victims[at % victims.length] ?? 'daemon';
    await runtime.round(victim, 1_500);
  }
  await runtime.end();
}
process.stdout.write(`${JSON.stringify(counts)}\n`);
process.stdout.write(
  'each receipt is in the log, it verifies against every head, no end is open\n',
);
