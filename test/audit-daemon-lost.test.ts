// A power cut takes the runtime's own records, and leaves the log: no start stays without an end.
import assert from 'node:assert/strict';
import { globSync, rmSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { auditEvents, kindsOf } from './support/audit-daemon.ts';
import { startRuntime } from './support/daemon.ts';
import { eventually, runnerPid } from './support/processes.ts';
import { openSession } from './support/session.ts';

test('a command that no record tells of any more is told of as lost, once', async (t) => {
  await using first = await startRuntime();
  const { home, socketPath, root } = first;
  const session = await openSession(socketPath, { working_dir: root });
  const done = await session.run('true');
  const lost = await session.start('sleep 1000');
  const [runner, records] = [runnerPid(first), path.join(home, 'state', 'trl')];
  await first.kill();
  if (runner !== null) process.kill(runner, 'SIGKILL');
  for (const name of globSync('state.db*', { cwd: records })) rmSync(path.join(records, name));
  session.client.drop();
  for (let starts = 0; starts < 2; starts += 1) {
    const again = await startRuntime({ home });
    t.after(() => again.kill());
    await eventually('the loss', () => kindsOf(home, lost).includes('exec.failed'));
    await again.kill('SIGTERM');
  }
  assert.deepEqual(kindsOf(home, lost).slice(-2), ['exec.started', 'exec.failed']);
  assert.equal(kindsOf(home, done.exec_id).at(-1), 'exec.statement');
  const [told] = auditEvents(home).filter(({ kind }) => kind === 'exec.failed');
  assert.deepEqual([told?.session, told?.data['code']], [session.id, 'BACKEND_UNAVAILABLE']);
});
