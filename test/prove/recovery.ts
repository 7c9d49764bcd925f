// npm run prove: the daemon is killed during an output of 1 GiB. Prints what came of it.
import assert from 'node:assert/strict';
import { outage, type Outcome } from '../support/recovery.ts';

const MiB = 2 ** 20;
const bytes = process.env['TRL_PROVE'] === 'full' ? 1024 * MiB : 128 * MiB;

function tell(name: string, { received, gaps, reattachMs, seconds }: Outcome): number {
  const missing = gaps.reduce((sum, { from, to }) => sum + to - from, 0);
  const rate = (received / MiB / seconds).toFixed(0);
  const counts = `wrote ${bytes} received ${received} missing ${missing} gaps ${gaps.length}`;
  process.stdout.write(`${name}: ${counts}; back after ${reattachMs} ms, ${rate} MiB/s in all\n`);
  return missing;
}

const whole = await outage({
  bytes,
  killAt: bytes / 8,
  journalBytes: bytes + 64 * MiB,
  journalsBytes: 2 * bytes + 128 * MiB,
});
tell('journal that holds all', whole);
assert.deepEqual([whole.sha256, whole.received, whole.gaps], [whole.wanted, bytes, []]);

const usual = await outage({
  bytes,
  killAt: bytes / 8,
  journalBytes: 64 * MiB,
  awaitEnd: true,
});
const missing = tell('usual journal', usual);
assert.equal(usual.received + missing, bytes);
assert.equal(usual.journalBytes, bytes);
process.stdout.write('nothing was lost silently\n');
