// The power of the disk is cut under a busy runtime: once here, often in `npm run prove`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noPowerCut, PoweredAudit } from './support/audit-power.ts';
import { noCrashes } from './support/audit-told.ts';

const skip = noPowerCut();

test('a power cut loses no event that was answered for, and no end', { skip }, async (t) => {
  const counts = noCrashes();
  await using runtime = await PoweredAudit.start(counts);
  await runtime.round(1_500);
  await runtime.end();
  t.diagnostic(JSON.stringify(counts));
  assert.ok(counts.events > 0, 'there is a log');
});
