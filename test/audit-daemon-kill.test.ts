// kill -9 of daemon, runner or redactor while clients are busy: a few here, two hundred in
// `npm run prove`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KilledAudit, victims } from './support/audit-kills.ts';
import { noCrashes } from './support/audit-told.ts';

test('a kill loses no event that was answered for, and no end', async (t) => {
  const counts = noCrashes();
  await using runtime = await KilledAudit.start(counts);
  for (const victim of victims) await runtime.round(victim, 900);
  await runtime.end();
  t.diagnostic(JSON.stringify(counts));
  assert.ok(counts.receipts > 0 && counts.marks > 0, 'it was busy');
});
