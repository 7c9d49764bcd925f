// A command that makes names of 50 MB: what one capture tells is bounded, and nothing stays untold.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startRuntime, type Json } from '../support/daemon.ts';
import { openSession } from '../support/session.ts';

test('names of many bytes are bounded, and told in parts', async () => {
  await using runtime = await startRuntime();
  const params = { working_dir: runtime.root };
  await using session = await openSession(runtime.socketPath, params);
  const many = `import os
for i in range(15): os.mkdir('d' * 250); os.chdir('d' * 250)
for i in range(12000): os.close(os.open('%s%d' % ('f' * 200, i), os.O_CREAT))`;
  const long = { timeout_ms: 60_000 };
  const receipt = await session.run(`python3 -c "${many}"`, long);
  assert.match(receipt.hints.join(), /not all changes are listed/);
  const rest = await session.run('true', long);
  assert.doesNotMatch(rest.hints.join(), /not all changes are listed/);
  const count = ({ changes, changes_omitted: omitted }: Json): number => changes.length + omitted;
  assert.equal(count(receipt) + count(rest), 12_015);
});
