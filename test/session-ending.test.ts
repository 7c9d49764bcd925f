// What starts in a session while somebody ends it: nothing runs there afterwards.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { whyNoBox } from './support/box.ts';
import { raw, startRuntime, type Json } from './support/daemon.ts';
import { openSession } from './support/session.ts';

const skip = whyNoBox;
const rounds = 24;
const endedBy = new Set(['SESSION_NOT_FOUND', 'BACKEND_UNAVAILABLE']);

for (const policy of ['trusted', 'guarded']) {
  test(`${policy}: no command starts after its session has ended`, { skip }, async () => {
    await using daemon = await startRuntime();
    const params = { working_dir: daemon.root, policy };
    // It keeps the layer that it shares with the sessions that end.
    await using other = await openSession(daemon.socketPath, params);
    await other.run('pwd');
    using second = await raw(daemon.socketPath);
    const approved = async (): Promise<void> => {
      const { data } = await second.ask('approval.list', { state: 'pending' });
      for (const { approval_id, digest } of data.approvals) {
        await second.ask('approval.decide', { approval_id, digest, decision: 'approve' });
      }
    };
    for (let round = 0; round < rounds; round += 1) {
      const session = await openSession(daemon.socketPath, params);
      if (round % 2 === 0) await session.ask('pwd');
      const method = round % 3 === 0 ? 'exec.run' : 'exec.start';
      const command = `sleep 0.2; touch late-${round}`;
      const starting = session.client.ask(method, { session_id: session.id, command });
      if (policy === 'guarded') {
        await starting;
        await approved();
      }
      await sleep(round / 4);
      const ended = await second.ask('session.destroy', { session_id: session.id, force: true });
      assert.equal(ended.ok, true, JSON.stringify(ended));
      const answer: Json = await starting;
      session.client.drop();
      if (answer.ok === true || policy === 'guarded' || method === 'exec.run') continue;
      assert.ok(endedBy.has(answer.error.code), JSON.stringify(answer));
    }
    await sleep(500);
    assert.deepEqual(readdirSync(daemon.root), []);
  });
}
