// What clients written for other implementations rely on: order, lines, and one reply each.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, watch } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { newSession, raw, startRuntime } from './support/daemon.ts';
import type { Daemon } from './support/daemon.ts';
import { withGrowingTimeout } from './support/processes.ts';

let daemon: Daemon;
before(async () => {
  daemon = await startRuntime();
});
after(() => daemon.stop());

test('everything received after one request is one compact JSON line', async () => {
  using client = await raw(daemon.socketPath);
  await client.send('{"id":"req-1","method":"system.ping","params":{}}\n');
  await client.line();
  client.finish();
  await client.ended();
  const text = client.received();
  assert.match(text, /^\{"id":"req-1","ok":true,"data":\{[^\n ]*\}\}\n$/);
  assert.match(text, /"uptime_s":\d+[,}]/);
  const answer = JSON.parse(text);
  assert.equal(typeof answer.data.version, 'string');
});

test('an empty list of sessions is the text that shell clients look for', async () => {
  await using fresh = await startRuntime();
  using client = await raw(fresh.socketPath);
  await client.send('{"id":"1","method":"session.list"}\n');
  assert.match(await client.line(), /"ok":true.*"sessions":\[\]/);
});

test('the fields of the first protocol have their names and types', async () => {
  using client = await raw(daemon.socketPath);
  const params = { shell: '/bin/zsh', env: { SECRET: 'hunter2' }, name: 'legacy', timeout_s: 30 };
  const created = (await client.ask('session.create', params)).data;
  assert.match(created.session_id, /^s-[0-9a-f]{32}$/);
  assert.equal(created.state, 'idle');
  for (const field of ['shell', 'working_dir', 'created_at']) {
    assert.equal(typeof created[field], 'string', field);
  }
  const listed = await client.ask('session.list');
  const item = listed.data.sessions.find(
    (each: { session_id: string }) => each.session_id === created.session_id,
  );
  for (const field of ['session_id', 'name', 'state', 'working_dir', 'created_at']) {
    assert.equal(typeof item[field], 'string', field);
  }
  assert.equal(typeof item.last_activity, 'string');
  assert.equal(client.received().includes('hunter2'), false, 'never the value of a variable');
  const session = { session_id: created.session_id };
  const run = (await client.ask('exec.run', { ...session, command: 'echo out; exit 3' })).data;
  assert.equal(run.stdout, 'out\n');
  assert.equal(run.stderr, '');
  assert.equal(run.exit_code, 3);
  assert.equal(run.timed_out, false);
  assert.ok(Number.isInteger(run.duration_ms));
  const stats = (await client.ask('system.stats')).data;
  for (const field of ['active_sessions', 'total_commands_run', 'uptime_s', 'memory_rss_bytes']) {
    assert.ok(Number.isInteger(stats[field]), field);
  }
  assert.ok(stats.open_fds > 3);
  const destroyed = await client.ask('session.destroy', { ...session, force: true });
  assert.deepEqual(destroyed.data, { ...session, state: 'terminated' });
  assert.equal((await client.ask('session.info', session)).error.code, 'SESSION_NOT_FOUND');
});

test('a client of the first protocol gets text, and the bytes beside it', async () => {
  using client = await raw(daemon.socketPath);
  const session_id = await newSession(client, { working_dir: daemon.root });
  const command = String.raw`printf 'a\377b'; printf 'c\376' >&2`;
  const { data } = await client.ask('exec.run', { session_id, command });
  assert.deepEqual([data.stdout, data.stderr], ['a\ufffdb', 'c\ufffd']);
  assert.deepEqual([data.stdout_base64, data.stderr_base64], ['Yf9i', 'Y/4=']);
  assert.equal(data.stdout_encoding, undefined);
  const late = { session_id, command: `${command}; sleep 60`, timeout_ms: 1_500 };
  const ended = await client.ask('exec.run', late);
  assert.equal(ended.error.code, 'COMMAND_TIMEOUT');
  assert.deepEqual([ended.data.stdout, ended.data.stdout_base64], ['a\ufffdb', 'Yf9i']);
  await client.ask('system.hello', {});
  const known = (await client.ask('exec.run', { session_id, command })).data;
  assert.deepEqual([known.stdout, known.stdout_encoding], ['Yf9i', 'base64']);
  const plain = (await client.ask('exec.run', { session_id, command: 'echo x' })).data;
  assert.deepEqual([plain.stdout, plain.stdout_base64], ['x\n', undefined]);
});

test('a runtime says how many descriptors it has open', async () => {
  using client = await raw(daemon.socketPath);
  const fds = async (method: string): Promise<number> => (await client.ask(method)).data.open_fds;
  const before = await fds('system.stats');
  const others = await Promise.all(Array.from({ length: 40 }, () => raw(daemon.socketPath)));
  for (const other of others) await other.ask('system.ping');
  for (const method of ['system.stats', 'system.metrics']) {
    const [now, listed] = [await fds(method), readdirSync(`/proc/${daemon.pid}/fd`).length];
    // Connections of earlier tests may end meanwhile, and a thread may have a file open.
    assert.ok(Math.abs(now - listed) <= 10, `${now} of ${listed}`);
    assert.ok(now >= before + 20, `${before} before, ${now} now`);
  }
  for (const other of others) other[Symbol.dispose]();
});

test('commands of one connection run one after another and reply in order', async () => {
  using client = await raw(daemon.socketPath);
  const session = await newSession(client, { working_dir: daemon.root });
  const ids: string[] = [];
  for (let turn = 0; turn < 5; turn += 1) {
    const command = `sleep 0.${5 - turn}; echo ${turn}`;
    const params = { session_id: session, command };
    await client.send({ id: `run-${turn}`, method: 'exec.run', params });
    await client.send({ id: `ping-${turn}`, method: 'system.ping' });
    ids.push(`run-${turn}`, `ping-${turn}`);
  }
  for (const id of ids) {
    const answer = await client.json();
    assert.deepEqual([answer.id, answer.ok], [id, true]);
    if (id.startsWith('run')) assert.equal(answer.data.stdout, `${id.slice(4)}\n`);
  }
});

test('a cancel acts at once on the command before it, and replies after it', async () => {
  using client = await raw(daemon.socketPath);
  const session = await newSession(client, { working_dir: daemon.root });
  await client.send({
    id: 'run',
    method: 'exec.run',
    params: { session_id: session, command: 'touch started; sleep 300' },
  });
  await appears(path.join(daemon.root, 'started'));
  await client.send({ id: 'cancel', method: 'exec.cancel', params: { session_id: session } });
  await client.send({ id: 'ping', method: 'system.ping' });
  const answers = [await client.json(), await client.json(), await client.json()];
  assert.deepEqual(
    answers.map((answer) => answer.id),
    ['run', 'cancel', 'ping'],
  );
  assert.equal(answers[1].ok, true);
});

test('a session is destroyed at once however long its command would run', async () => {
  using client = await raw(daemon.socketPath);
  const session = await newSession(client, { working_dir: daemon.root });
  await client.send({
    id: 'run',
    method: 'exec.run',
    params: { session_id: session, command: 'touch begun; sleep 300' },
  });
  await appears(path.join(daemon.root, 'begun'));
  const params = { session_id: session, force: true };
  await client.send({ id: 'destroy', method: 'session.destroy', params });
  assert.equal((await client.json()).id, 'run');
  const destroyed = await client.json();
  assert.deepEqual([destroyed.id, destroyed.data?.state], ['destroy', 'terminated']);
});

test('a time-out answers with its error and the partial output', async () => {
  using client = await raw(daemon.socketPath);
  const session = await newSession(client, { working_dir: daemon.root });
  const params = { session_id: session, command: 'echo before; sleep 900' };
  const answer = await withGrowingTimeout(
    500,
    (timeoutMs) => client.ask('exec.run', { ...params, timeout_s: timeoutMs / 1_000 }),
    ({ data }) => data?.stdout !== '',
  );
  assert.equal(answer.ok, false);
  assert.equal(answer.error.code, 'COMMAND_TIMEOUT');
  assert.equal(answer.data.timed_out, true);
  assert.equal(answer.data.stdout, 'before\n');
  assert.ok(Number.isInteger(answer.data.exit_code));
  const next = await client.ask('exec.run', { session_id: session, command: 'echo alive' });
  assert.equal(next.data.stdout, 'alive\n');
});

test('more requests than a queue holds are all answered, in order', async () => {
  using client = await raw(daemon.socketPath);
  const count = 2_000;
  const lines = Array.from({ length: count }, (_, at) => `{"id":"${at}","method":"system.ping"}\n`);
  await client.send(lines.join(''));
  for (let at = 0; at < count; at += 1) assert.equal((await client.json()).id, String(at));
});

test('a client that leaves does not end its command', async () => {
  using other = await raw(daemon.socketPath);
  const session = await newSession(other, { working_dir: daemon.root });
  const client = await raw(daemon.socketPath);
  await client.send({
    id: '1',
    method: 'exec.run',
    params: { session_id: session, command: 'touch running; sleep 1; touch finished' },
  });
  await appears(path.join(daemon.root, 'running'));
  client.drop();
  await appears(path.join(daemon.root, 'finished'));
});

test('a connection over the bound is refused with a line, and the others work on', async () => {
  const clients = await Promise.all(Array.from({ length: 256 }, () => raw(daemon.socketPath)));
  using over = await raw(daemon.socketPath);
  const refusal = await over.json();
  assert.deepEqual([refusal.ok, refusal.error.code], [false, 'QUOTA_EXCEEDED']);
  await over.ended();
  for (const client of clients) assert.equal((await client.ask('system.ping')).ok, true);
  for (const client of clients) client.drop();
  const again = await raw(daemon.socketPath);
  again.drop();
});

async function appears(file: string): Promise<void> {
  const watcher = watch(path.dirname(file));
  try {
    while (!existsSync(file)) {
      await new Promise((resolve) => {
        watcher.once('change', resolve);
      });
    }
  } finally {
    watcher.close();
  }
}
