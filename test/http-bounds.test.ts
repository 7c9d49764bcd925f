// What one caller can do to the log, the rates and the room of all the others.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import * as fc from 'fast-check';
import './support/seed.ts';
import type { AuditRecord } from '../src/daemon/auditing/auditing.ts';
import { RepeatedRecords } from '../src/daemon/auditing/repeated-records.ts';
import { limits, fairShareOf, fairShareRefusal } from '../src/limits.ts';
import { whyNoBox } from './support/box.ts';
import { raw, type Json } from './support/daemon.ts';
import { eventually } from './support/processes.ts';
import { ask, auditText, data, startHttp, type HttpDaemon } from './support/http.ts';

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
    const told: AuditRecord[] = [];
    const log = {
      note: (one: AuditRecord): void => void told.push(one),
      append: async (all: readonly AuditRecord[]): Promise<void> => void told.push(...all),
    };
    {
      using repeats = new RepeatedRecords(log);
      for (const [kind, actor] of calls) {
        const data = { method: `m${kind}`, code: 'PERMISSION_DENIED', message: 'no' };
        await repeats.record({ kind: 'call.refused', actor: `a${actor}`, data });
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

test('requests within a WebSocket count as those beside it', async (t) => {
  const own = token('agent', 'fast');
  const ws = webSocket('/rpc', own);
  t.after(() => ws.terminate());
  await once(ws, 'open');
  let text = '';
  ws.on('message', (data: Buffer) => {
    text += data.toString();
  });
  const line = `${JSON.stringify({ id: 'p', method: 'system.ping', params: {} })}\n`;
  const answered = (): number => text.split('\n').length - 1;
  const begun = performance.now();
  // A busy machine takes longer to answer more than comes back each second.
  for (let sent = 0; !text.includes('QUOTA_EXCEEDED');) {
    const seconds = (performance.now() - begun) / 1_000;
    if (seconds > 60 && answered() < 1_500 * seconds) {
      return t.skip(`this machine answers ${Math.round(answered() / seconds)} a second`);
    }
    if (sent - answered() < 8_000) {
      ws.send(line.repeat(2_000));
      sent += 2_000;
    }
    await sleep(20);
  }
  const answers = text.slice(0, text.lastIndexOf('\n')).split('\n');
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
  return undefined;
});

function webSocket(target: string, own: string): WebSocket {
  const bearer = `bearer.${Buffer.from(own).toString('base64url')}`;
  return new WebSocket(`ws://127.0.0.1:${daemon.port}${target}`, ['trl.v2', bearer]);
}

test('one token never takes all there is, nor do all of them', async () => {
  const sixteen = { token: 8, tokens: 12, caller: 12, session: 8, few: 1 };
  assert.deepEqual(fairShareOf(16), sixteen);
  assert.deepEqual(fairShareOf(1), { token: 1, tokens: 1, caller: 1, session: 1, few: 1 });
  const holders = (own: number, others: number): string[] => [
    ...Array.from({ length: own }, () => 'token:a'),
    ...Array.from({ length: others }, () => 'token:b'),
    'uid:0',
  ];
  assert.match(
    fairShareRefusal(holders(8, 0), 'token:a', 16) ?? '',
    /this token has its share of 8 of 16/,
  );
  assert.match(fairShareRefusal(holders(6, 6), 'token:a', 16) ?? '', /all tokens .* 12 of 16/);
  assert.equal(fairShareRefusal(holders(7, 3), 'token:a', 16), null);
  assert.match(
    fairShareRefusal(holders(7, 4), 'token:a', 16) ?? '',
    /the last 4 of 16 are for callers/,
  );
  assert.equal(fairShareRefusal(holders(8, 7), 'client x', 16), null);
});

test('the commands of one token leave room for others', { skip: whyNoBox }, async () => {
  const [greedy, other] = [token('agent', 'greedy'), token('agent', 'other')];
  const sessionOf = async (own: string): Promise<string> => {
    const body = { working_dir: daemon.root };
    return (await data(daemon, '/v1/sessions', { token: own, body })).session_id;
  };
  const start = async (own: string, session: string): Promise<Json> => {
    const target = `/v1/sessions/${session}/execs?mode=detached`;
    const { status, text } = await ask(daemon, target, {
      token: own,
      body: { command: 'cat', stdin_open: true },
    });
    return { status, ...JSON.parse(text) };
  };
  const [all, others] = await Promise.all([sessionOf(greedy), sessionOf(other)]);
  // At once: none is between the look and the start of another.
  const asked = await Promise.all(Array.from({ length: 20 }, () => start(greedy, all)));
  const taken = asked.filter(({ status }) => status === 429);
  assert.equal(taken.length, 4, JSON.stringify(asked));
  for (const { code, detail } of taken) {
    assert.equal(code, 'QUOTA_EXCEEDED');
    assert.match(detail, /this token has its share of 16 of 32 commands at once/);
  }
  assert.equal((await start(other, others)).status, 202);
  await ask(daemon, `/v1/sessions/${all}/cancel`, { token: greedy, body: {} });
  await ask(daemon, `/v1/sessions/${all}?force=true`, { token: greedy, method: 'DELETE' });
  while ((await start(greedy, await sessionOf(greedy))).status === 429) await sleep(20);
});

test('idle sessions of a token that was revoked end', async () => {
  const own = token('agent', 'brief');
  const body = { working_dir: daemon.root };
  const { session_id: id } = await data(daemon, '/v1/sessions', { token: own, body });
  using client = await raw(daemon.socketPath);
  const listed = async (): Promise<boolean> =>
    (await client.ask('session.list', {})).data.sessions.some((one: Json) => one.session_id === id);
  assert.ok(await listed());
  const config = { XDG_CONFIG_HOME: path.join(daemon.home, 'config') };
  const env = { ...process.env, XDG_STATE_HOME: path.join(daemon.home, 'state'), ...config };
  execFileSync(trl, ['token', 'revoke', 'brief'], { env });
  await eventually('its end', async () => !(await listed()));
});

test('a bound within which no shell starts is named', { skip: whyNoBox }, async () => {
  const made = await data(daemon, '/v1/sessions', { body: { working_dir: daemon.root } });
  const target = `/v1/sessions/${made.session_id}/execs`;
  for (const open_files of [1, 3, 8]) {
    const body = { command: 'true', limits: { open_files, processes: 64 } };
    const { status, text } = await ask(daemon, target, { body });
    const { code, detail } = JSON.parse(text);
    assert.deepEqual([status, code], [503, 'SANDBOX_UNAVAILABLE']);
    const named = `The call is bounded by processes 64, open_files ${open_files}: ask for more`;
    assert.ok(detail.endsWith(named), detail);
  }
});

test('a command that waits for a person says how to go on', { skip: whyNoBox }, async () => {
  const body = { working_dir: daemon.root, policy: 'guarded' };
  const made = await data(daemon, '/v1/sessions', { body });
  const target = `/v1/sessions/${made.session_id}/execs`;
  const asked = {
    body: { command: 'touch asked' },
    headers: { 'Idempotency-Key': 'asked-1' },
  };
  const { status, headers, text } = await ask(daemon, target, asked);
  assert.deepEqual([status, headers['content-type']], [202, 'application/problem+json']);
  const problem = JSON.parse(text);
  const { approval_id: approval, exec_id: exec } = problem.data;
  assert.equal(problem.code, 'APPROVAL_REQUIRED');
  assert.equal(headers.location, `/v1/execs/${exec}`);
  assert.match(String(headers['link']), new RegExp(`</v1/approvals/${approval}>`));
  // Each of them leads somewhere, with the token that asked.
  assert.equal((await data(daemon, `/v1/execs/${exec}`)).approval_id, approval);
  assert.equal((await data(daemon, `/v1/approvals/${approval}`)).state, 'pending');
  const again = await ask(daemon, target, { ...asked, body: { ...asked.body, wait_ms: 10 } });
  assert.deepEqual([again.status, JSON.parse(again.text).data.exec_id], [202, exec]);
  const by = token('approver', 'yes');
  const { digest } = await data(daemon, `/v1/approvals/${approval}`, { token: by });
  const answer = { decision: 'approve', digest: digest.slice(0, 8) };
  await data(daemon, `/v1/approvals/${approval}/decision`, { token: by, body: answer });
  const done = await data(daemon, target, { ...asked, body: { ...asked.body, wait_ms: 120_000 } });
  assert.deepEqual([done.exec_id, done.exit_code], [exec, 0]);
});

test('what no JSON can be made of is refused, with a key and without', async () => {
  const { session_id: id } = await data(daemon, '/v1/sessions', { body: {} });
  const bodies = ['{"name":"\\ud800"}', '{"\\udfff":1}', '{"name":1e400}', '{"command":"\\ud800"}'];
  const sent = { 'Content-Type': 'application/json' };
  for (const target of ['/v1/sessions', `/v1/sessions/${id}/execs`, '/v1/tools/none']) {
    for (const body of bodies) {
      for (const headers of [sent, { ...sent, 'Idempotency-Key': 'odd' }]) {
        const { status, text } = await ask(daemon, target, { body, headers });
        // A name that is not known is passed over; whatever else, it is the caller's mistake.
        assert.ok(status < 500, `${target} ${body} ${text}`);
      }
    }
  }
});
