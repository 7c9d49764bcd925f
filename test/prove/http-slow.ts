// 1,000 slow clients and 700 that say nothing: everybody else is answered, what they cost is
// bounded, and nothing of them is left. What they cost in time: `npm run bench:http-slow`.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask, data, mainToken, startHttp } from '../support/http.ts';
import { followEvents } from '../support/http-streams.ts';

const clients = 1_000;
const idle = 700;
const idleMax = 512;
const rssBytesMax = 700 * 1_024 * 1_024;

test('slow clients shut nobody out', async (t) => {
  await using daemon = await startHttp();
  const { port } = daemon;
  const { session_id: session } = await data(daemon, '/v1/sessions', { body: {} });
  const target = `/v1/sessions/${session}/execs`;
  const body = { command: 'head -c 20000000 /dev/zero | tr "\\0" x; sleep 90' };
  const { exec_id: execId } = await data(daemon, `${target}?mode=detached`, { body });
  const script = new URL('../../bench/http-slow-clients.ts', import.meta.url);
  const child = fork(script, {
    env: {
      ...process.env,
      PORT: String(port),
      TOKEN: mainToken,
      EXEC: execId,
      CLIENTS: String(clients),
    },
  });
  t.after(() => child.kill('SIGKILL'));
  await once(child, 'message');
  const silent: Socket[] = [];
  for (let at = 0; at < idle; at += 1) {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    silent.push(socket);
    await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
  }
  for (let round = 0; round < 40; round += 1) {
    assert.equal((await ask(daemon, '/v1/ping')).status, 200);
    const run = await data(daemon, target, { body: { command: 'echo here' } });
    assert.equal(run.stdout, 'here\n');
    await sleep(500);
  }
  const follows = `${target}?mode=detached`;
  const other = await data(daemon, follows, { body: { command: 'seq 1 100000' } });
  const followed = await followEvents({ port, execId: other.exec_id });
  assert.deepEqual([followed.exitCode, followed.missing], [0, 0]);
  const view = await data(daemon, '/v1/metrics');
  assert.ok(view.http.connections <= idleMax + clients, `${view.http.connections} connections`);
  assert.ok(view.http.evicted > 0);
  assert.ok(view.memory_rss_bytes < rssBytesMax, `${view.memory_rss_bytes} bytes`);
  t.diagnostic(JSON.stringify({ rss: view.memory_rss_bytes, ...view.http }));
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
  for (const socket of silent) socket.destroy();
  for (let tries = 0; tries < 100; tries += 1) {
    const { http } = await data(daemon, '/v1/metrics');
    if (http.own_readers === 0 && http.connections <= 2) return;
    await sleep(100);
  }
  assert.fail('slow clients that are gone are still held');
});
