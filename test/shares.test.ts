// What one caller of the socket, and one session, leaves for the others.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { fairShareOf, fairShareRefusal } from '../src/limits.ts';
import { callTool } from '../src/tools/index.ts';
import { connectLocal } from '../src/local/index.ts';
import { whyNoBox } from './support/box.ts';
import { raw, startRuntime, surroundings } from './support/daemon.ts';
import type { Daemon, Json, RawClient } from './support/daemon.ts';
import { eventually } from './support/processes.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');
const max = 8;
let daemon: Daemon;
before(async () => {
  const bounds = ['--bound', `sessions_active=${max}`, '--bound', 'session_gone_ms=1'];
  const args = ['serve', '--socket-path', '{socket}', '--workspace-root', '{root}', ...bounds];
  daemon = await startRuntime({ args, env: { TRL_COMMANDS_CONCURRENT: String(max) } });
});
after(() => daemon.stop());

async function sessionOf(client: RawClient, params: object = {}): Promise<string> {
  const made = await client.ask('session.create', { working_dir: daemon.root, ...params });
  return made.data.session_id;
}

const start = (client: RawClient, session: string): Promise<Json> =>
  client.ask('exec.start', { session_id: session, command: 'sleep 600' });

const run = (client: RawClient, session: string): Promise<Json> =>
  client.ask('exec.run', { session_id: session, command: 'true' });

const endAll = async (client: RawClient, sessions: readonly string[]): Promise<void> => {
  for (const one of sessions) await client.ask('session.destroy', { session_id: one, force: true });
  client.drop();
};

test('of each bound a caller that holds none finds a place, whatever one other does', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 128 }), (bound) => {
      const holders: string[] = [];
      while (fairShareRefusal(holders, 'client a', bound) === null && holders.length <= bound) {
        holders.push('client a');
      }
      assert.equal(holders.length, fairShareOf(bound).caller);
      if (bound < 4) return;
      assert.ok(holders.length < bound);
      assert.equal(fairShareRefusal(holders, 'client b', bound), null);
      // Those with many leave the last places to those with few.
      holders.fill('client b', 0, Math.ceil(holders.length / 2));
      assert.notEqual(fairShareRefusal(holders, 'client b', bound), null);
      assert.equal(fairShareRefusal(holders, 'client c', bound), null);
    }),
  );
});

describe('on the socket', { skip: whyNoBox }, () => {
  test('the commands of one session and one client leave room for others', async () => {
    const [greedy, other] = [await raw(daemon.socketPath), await raw(daemon.socketPath)];
    const [one, two] = [await sessionOf(greedy, { name: 'mine' }), await sessionOf(greedy)];
    const share = fairShareOf(max);
    for (let held = 0; held < share.session; held += 1) assert.ok((await start(greedy, one)).ok);
    const { error } = await start(greedy, one);
    assert.equal(error.code, 'QUOTA_EXCEEDED');
    assert.match(error.message, /this session has its share of 4 of 8 commands at once/);
    assert.ok(error.message.includes(one), error.message);
    assert.match(error.message, /"mine".*session\.destroy.*terminal_close/);
    assert.ok((await start(greedy, two)).ok);
    assert.ok((await start(greedy, two)).ok);
    const refused = await start(greedy, two);
    assert.match(refused.error.message, /this caller has its share of 6 of 8 commands/);
    const free = await sessionOf(other);
    assert.equal((await run(other, free)).data.exit_code, 0);
    await endAll(greedy, [one, two]);
    await endAll(other, [free]);
  });

  test('the sessions of one client leave room, and the refusal says which to end', async () => {
    const [greedy, other] = [await raw(daemon.socketPath), await raw(daemon.socketPath)];
    const made: string[] = [];
    for (let held = 0; held < fairShareOf(max).caller; held += 1) {
      const session = await sessionOf(greedy);
      made.push(session);
      assert.equal((await run(greedy, session)).data.exit_code, 0);
    }
    const last = await sessionOf(greedy);
    const { error } = await run(greedy, last);
    assert.equal(error.code, 'MAX_SESSIONS_REACHED');
    const [oldest = ''] = made;
    assert.match(error.message, /this caller has its share of 6 of 8 sessions/);
    assert.ok(error.message.includes(`"trl session destroy ${oldest}"`), error.message);
    assert.match(error.message, /\(idle since 20\d\d-/);
    const free = await sessionOf(other);
    assert.equal((await run(other, free)).data.exit_code, 0);
    await endAll(other, [free]);
    await using runtime = await connectLocal({ socketPath: daemon.socketPath });
    const context = { client: runtime, signal: AbortSignal.timeout(240_000), progress: () => {} };
    const sessions = {
      session: never,
      cachedSession: never,
      newSession: never,
      networkSession: never,
      hostsSession: never,
      queuedExecutions: new Map(),
    };
    const full = { ...context, sessions, workspace: { root: daemon.root } };
    const closed = await callTool(full, 'terminal_close', { session_id: oldest });
    assert.deepEqual(closed.data, { session_id: oldest, state: 'terminated' });
    assert.equal((await run(greedy, last)).data.exit_code, 0);
    await endAll(greedy, [...made, last]);
  });

  test('sessions of one who connects anew for each call count together', async () => {
    const sessions: string[] = [];
    for (let held = 0; held <= fairShareOf(max).session; held += 1) {
      const once = await raw(daemon.socketPath);
      sessions.push(await sessionOf(once));
      once.drop();
    }
    const caller = await raw(daemon.socketPath);
    const codes: string[] = [];
    for (const session of [...sessions, ...sessions]) {
      const started = await start(caller, session);
      codes.push(started.ok === true ? 'ok' : started.error.code);
    }
    assert.equal(codes.filter((code) => code === 'ok').length, fairShareOf(max).caller);
    await endAll(caller, sessions);
  });

  test('a killed MCP server takes its sessions along, and no first client does', async () => {
    const first = await raw(daemon.socketPath);
    const kept = await sessionOf(first);
    first.drop();
    const env = { ...process.env, ...surroundings(daemon.home) };
    const child = spawn(trl, ['mcp', '--socket-path', daemon.socketPath], {
      cwd: daemon.root,
      env,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const watcher = await raw(daemon.socketPath);
    const listed = async (): Promise<string[]> =>
      (await watcher.ask('session.list', {})).data.sessions.map((one: Json) => one.session_id);
    child.stdin.write(
      [
        {
          id: 0,
          method: 'initialize',
          params: {
            protocolVersion: '2025-06-18',
            capabilities: {},
            clientInfo: { name: 't', version: '1' },
          },
        },
        { method: 'notifications/initialized' },
        {
          id: 1,
          method: 'tools/call',
          params: { name: 'terminal', arguments: { command: 'ls' } },
        },
      ]
        .map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
        .join(''),
    );
    await eventually('its session', async () => (await listed()).length === 2);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await eventually('its end', async () => (await listed()).length === 1);
    assert.deepEqual(await listed(), [kept]);
    assert.equal((await run(watcher, kept)).data.exit_code, 0);
    await endAll(watcher, [kept]);
  });
});

const never = (): Promise<never> => Promise.reject(new Error('the call names its session'));
