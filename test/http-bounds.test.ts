// What one caller can do to the log, the rates and the room of all the others.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import * as fc from 'fast-check';
import type { Told } from '../src/daemon/auditing/auditing.ts';
import { Repeats } from '../src/daemon/auditing/repeats.ts';
import { limits } from '../src/limits.ts';
import type { Json } from './support/daemon.ts';
import { ask, auditText, startHttp, type HttpDaemon } from './support/http.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');
let daemon: HttpDaemon;
before(async () => {
  daemon = await startHttp();
});
after(() => daemon.stop());

function token(role: string, name: string): string {
  const env = { ...process.env, XDG_STATE_HOME: path.join(daemon.home, 'state') };
  const config = { XDG_CONFIG_HOME: path.join(daemon.home, 'config') };
  const args = ['token', 'create', '--role', role, '--name', name];
  return execFileSync(trl, args, { env: { ...env, ...config }, encoding: 'utf8' }).trim();
}

const refused = (name: string): Json[] =>
  auditText(daemon)
    .split('\n')
    .filter((line) => line.includes('"call.refused"') && line.includes(`token:${name}/`))
    .map((line) => JSON.parse(line).event);

test('calls that are denied over and over are told once, then by their count', async () => {
  const own = token('auditor', 'flood');
  const body = { id: 'f', method: 'session.create', params: {} };
  const times = 200;
  for (let sent = 0; sent < times; sent += 20) {
    const some = Array.from({ length: 20 }, () => ask(daemon, '/rpc', { token: own, body }));
    for (const { text } of await Promise.all(some)) {
      assert.equal(JSON.parse(text).error.code, 'PERMISSION_DENIED');
    }
  }
  const methods = ['exec.run', 'exec.start', 'tool.register', 'secrets.set', 'console.login'];
  for (const method of methods) {
    await ask(daemon, '/rpc', { token: own, body: { id: 'f', method, params: {} } });
  }
  const before = refused('flood');
  // Another method is another record, at once; what was only denied asked for nothing.
  assert.deepEqual(
    before.map(({ data }) => data.method),
    ['session.create', ...methods.filter((one) => one !== 'tool.register')],
  );
  assert.doesNotMatch(auditText(daemon), /call.requested[^\n]*token:flood/);
});

test('of what is told together nothing is lost, and few are told', async () => {
  const kinds = fc.array(fc.tuple(fc.nat(60), fc.nat(2)), { maxLength: 400 });
  const property = fc.asyncProperty(kinds, async (calls) => {
    const told: Told[] = [];
    const log = {
      note: (one: Told): void => void told.push(one),
      tell: async (all: readonly Told[]): Promise<void> => void told.push(...all),
    };
    {
      using repeats = new Repeats(log);
      for (const [kind, actor] of calls) {
        const data = { method: `m${kind}`, code: 'PERMISSION_DENIED', message: 'no' };
        await repeats.tell({ kind: 'call.refused', actor: `a${actor}`, data });
      }
    }
    for (const actor of ['a0', 'a1', 'a2']) {
      const own = told.filter((one) => one.actor === actor);
      const sum = own.reduce((all, { data }) => all + Number(data['count'] ?? 1), 0);
      assert.equal(sum, calls.filter(([, one]) => `a${one}` === actor).length);
      assert.ok(own.length <= 2 * (limits.auditRepeats.default + 1));
      for (const { data } of own) assert.equal('first' in data, 'count' in data);
    }
  });
  await fc.assert(property, { numRuns: 50 });
});

test('requests within a WebSocket count as those beside it', { timeout: 30_000 }, async () => {
  const own = token('agent', 'fast');
  const ws = webSocket('/rpc', own);
  await once(ws, 'open');
  let text = '';
  ws.on('message', (data: Buffer) => {
    text += data.toString();
  });
  const times = 8_000;
  const line = `${JSON.stringify({ id: 'p', method: 'system.ping', params: {} })}\n`;
  ws.send(line.repeat(times));
  while (text.split('\n').length <= times) await sleep(20);
  const answers = text.trimEnd().split('\n');
  const codes = new Set(answers.map((one) => JSON.parse(one).error?.code ?? 'answered'));
  assert.deepEqual(codes, new Set(['answered', 'QUOTA_EXCEEDED']));
  assert.match(text, /Cannot take the request: this caller asks too often; wait 1 s/);
  // The same bucket: a request beside it, by MCP or REST, is one too many; another caller's is not.
  for (const target of ['/v1/ping', '/mcp']) {
    for (let statuses: number[] = []; !statuses.includes(429);) {
      ws.send(line.repeat(2_000));
      const many = Array.from({ length: 50 }, () => ask(daemon, target, { token: own }));
      statuses = (await Promise.all(many)).map(({ status }) => status);
    }
  }
  assert.equal((await ask(daemon, '/v1/ping')).status, 200);
  ws.terminate();
});

function webSocket(target: string, own: string): WebSocket {
  const bearer = `bearer.${Buffer.from(own).toString('base64url')}`;
  return new WebSocket(`ws://127.0.0.1:${daemon.port}${target}`, ['trl.v2', bearer]);
}
