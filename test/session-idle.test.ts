// How long a session lives that nobody ends.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { whyNoBox } from './support/box.ts';
import { startRuntime, type Daemon, type Json } from './support/daemon.ts';
import { eventually } from './support/processes.ts';
import { openSession, type TestSession } from './support/session.ts';

const skip = whyNoBox;

const within = (bound: string): Promise<Daemon> =>
  startRuntime({
    args: ['serve', '--socket-path', '{socket}', '--workspace-root', '{root}', '--bound', bound],
  });

async function viewOf({ id, client }: TestSession): Promise<Json> {
  const { data } = await client.ask('session.list');
  return data.sessions.find(({ session_id }: Json) => session_id === id);
}

test('a session ends that had no command for longer than its bound', async () => {
  await using daemon = await within('session_idle_ms=200');
  const session = await openSession(daemon.socketPath, { working_dir: daemon.root });
  await eventually('its end', async () => (await viewOf(session)) === undefined);
  session.client.drop();
});

test('a session with a command in the background is not idle', { skip }, async () => {
  await using daemon = await within('session_idle_ms=3000');
  const params = { working_dir: daemon.root };
  await using busy = await openSession(daemon.socketPath, params);
  await busy.start('sleep 600');
  // One that is made later is over sooner.
  const idle = await openSession(daemon.socketPath, params);
  await eventually('the end of the idle one', async () => (await viewOf(idle)) === undefined);
  idle.client.drop();
  assert.equal((await viewOf(busy)).session_id, busy.id);
});

test(
  'a command in the background is activity when it begins and when it ends',
  { skip },
  async () => {
    await using daemon = await startRuntime();
    await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
    const activity = async (): Promise<string> => (await viewOf(session)).last_activity;
    const made = await activity();
    const exec = await session.start('read line', { stdin_open: true });
    const begun = await activity();
    assert.ok(begun > made, `${begun} is after ${made}`);
    await session.client.ask('exec.write', { exec_id: exec, data: '\n', eof: true });
    await eventually('its end is activity', async () => (await activity()) > begun);
  },
);
