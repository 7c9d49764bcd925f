// The paths of HTTP, as a client that knows only them meets them.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { findMethod, methods } from '../src/api/methods.ts';
import { routes, unrouted } from '../src/daemon/http/routes.ts';
import type { Json } from './support/daemon.ts';
import { ask, data, mainToken, startHttp } from './support/http.ts';
import type { Ask, HttpDaemon } from './support/http.ts';
import { withGrowingTimeout } from './support/processes.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');
let daemon: HttpDaemon;
let session: string;
let person: string;
before(async () => {
  daemon = await startHttp();
  session = (await data(daemon, '/v1/sessions', { body: {} })).session_id;
  person = token('approver');
});
after(() => daemon.stop());

function token(role: string, ...more: readonly string[]): string {
  const env = { ...process.env, XDG_STATE_HOME: path.join(daemon.home, 'state') };
  const config = { XDG_CONFIG_HOME: path.join(daemon.home, 'config') };
  const args = ['token', 'create', '--role', role, ...more];
  return execFileSync(trl, args, { env: { ...env, ...config }, encoding: 'utf8' }).trim();
}

const problem = async (target: string, what: Ask = {}): Promise<Json> => {
  const { status, headers, text } = await ask(daemon, target, what);
  assert.equal(headers['content-type'], 'application/problem+json', `${status} ${text}`);
  const found = JSON.parse(text);
  assert.equal(found.status, status);
  assert.equal(found.type, `https://trl.dev/errors/${found.code}`);
  return found;
};

test('every method has a path, or a reason why it has none', () => {
  const routed = new Set<string>(
    routes.flatMap(({ call, modes }) => [call, ...Object.values(modes ?? {}).map((m) => m.call)]),
  );
  const missing = Object.keys(methods).filter(
    (name) => !routed.has(name) && !unrouted.has(findMethod(name)),
  );
  assert.deepEqual(missing, []);
});

test('a command runs in a session, and is found by what it left', async () => {
  const target = `/v1/sessions/${session}/execs`;
  const answer = await ask(daemon, target, { body: { command: 'echo out; echo err >&2; exit 3' } });
  assert.equal(answer.status, 200);
  const receipt = JSON.parse(answer.text);
  assert.deepEqual(
    [receipt.exit_code, receipt.stdout, receipt.stderr, receipt.timed_out],
    [3, 'out\n', 'err\n', false],
  );
  assert.equal(answer.headers.location, `/v1/execs/${receipt.exec_id}`);
  assert.equal((await data(daemon, `/v1/execs/${receipt.exec_id}`)).state, 'exited');
  const read = await data(daemon, `/v1/execs/${receipt.exec_id}/output?grep=err`);
  assert.deepEqual(
    read.chunks.map((one: Json) => one.data),
    ['err\n'],
  );
});

test('a command that runs out of time has a receipt that says so', async () => {
  const command = 'echo early; sleep 900';
  const receipt = await withGrowingTimeout(
    300,
    (timeout_ms) =>
      data(daemon, `/v1/sessions/${session}/execs`, { body: { command, timeout_ms } }),
    ({ stdout }) => stdout !== '',
  );
  assert.deepEqual([receipt.timed_out, receipt.exit_code, receipt.stdout], [true, 124, 'early\n']);
});

test('a detached command takes input, is waited for and ended', async () => {
  const body = { command: 'cat', stdin_open: true };
  const started = await ask(daemon, `/v1/sessions/${session}/execs?mode=detached`, { body });
  assert.equal(started.status, 202);
  const at = `/v1/execs/${JSON.parse(started.text).exec_id}`;
  assert.equal(started.headers.location, at);
  await data(daemon, `${at}/input`, { body: { data: 'hello\n' } });
  const waited = await data(daemon, `${at}/output?wait_ms=60000`);
  assert.equal(waited.chunks[0].data, 'hello\n');
  assert.deepEqual((await data(daemon, `${at}/cancel`, { method: 'POST' })).stopped.length, 1);
});

test('failures are problems with the status of their code', async () => {
  const nowhere = `x-${'0'.repeat(32)}`;
  const cases: readonly (readonly [string, Ask, number, string])[] = [
    ['/v1/sessions/s-1', {}, 404, 'SESSION_NOT_FOUND'],
    [`/v1/execs/${nowhere}`, {}, 404, 'EXEC_NOT_FOUND'],
    ['/v1/secrets/NONE', { method: 'PUT', body: { value: 'v' } }, 403, 'PERMISSION_DENIED'],
    ['/v1/execs', { body: { command: 'ls' } }, 400, 'INVALID_PARAMS'],
    ['/v1/execs?mode=other', { body: {} }, 400, 'INVALID_PARAMS'],
    [`/v1/execs/${nowhere}/output?from=x`, {}, 400, 'INVALID_PARAMS'],
    [`/v1/execs/${nowhere}/output?from=1&from=2`, {}, 400, 'INVALID_PARAMS'],
    ['/v1/sessions?limit=0', {}, 400, 'INVALID_PARAMS'],
    ['/v1/sessions?cursor=%22', {}, 400, 'INVALID_PARAMS'],
    ['/v1/sessions?cursor=WzFd', {}, 400, 'INVALID_PARAMS'],
    [
      `/v1/sessions/${session}`,
      { method: 'PATCH', body: { session_id: 's-2' } },
      400,
      'INVALID_PARAMS',
    ],
    ['/v1/nothing', {}, 404, 'INVALID_PARAMS'],
    ['/v1/sessions', { body: { working_dir: '/etc' } }, 403, 'WORKSPACE_ESCAPE'],
    ['/v1/sessions', { body: { wrking_dir: '/etc' } }, 400, 'INVALID_PARAMS'],
    ['/v1/sessions', { body: { limits: { memory: 1 } } }, 400, 'INVALID_PARAMS'],
    ['/v1/sessions', { body: { files: { read: { denny: ['x'] } } } }, 400, 'INVALID_PARAMS'],
    [`/v1/execs/${nowhere}/ws`, {}, 426, 'INVALID_PARAMS'],
    ['/rpc', {}, 426, 'INVALID_PARAMS'],
  ];
  for (const [target, what, status, code] of cases) {
    const found = await problem(target, what);
    assert.deepEqual([found.status, found.code], [status, code], target);
  }
});

test('a key runs a command once, and is no key for another', async () => {
  const target = `/v1/sessions/${session}/execs`;
  const headers = { 'Idempotency-Key': '"key-1"' };
  const body = { command: 'echo $$' };
  const first = await data(daemon, target, { body, headers });
  const again = await data(daemon, target, { body, headers });
  assert.equal(again.exec_id, first.exec_id);
  const other = await problem(target, { body: { command: 'echo other' }, headers });
  assert.deepEqual([other.status, other.code], [409, 'IDEMPOTENCY_CONFLICT']);
  const wrong = { 'Idempotency-Key': 'key-2' };
  await problem(target, { body: { command: 1 }, headers: wrong });
  assert.equal((await data(daemon, target, { body, headers: wrong })).exit_code, 0);
});

test('a key makes one session, also when both come at once', async () => {
  const headers = { 'Idempotency-Key': 'make-1' };
  const asked = { body: { name: 'once' }, headers };
  const both = await Promise.all([
    ask(daemon, '/v1/sessions', asked),
    ask(daemon, '/v1/sessions', asked),
  ]);
  const later = await ask(daemon, '/v1/sessions', asked);
  const ids = [...both, later].map(({ text }) => JSON.parse(text).session_id);
  assert.equal(new Set(ids).size, 1);
  assert.deepEqual(later.headers.location, `/v1/sessions/${ids[0]}`);
  const other = await problem('/v1/sessions', { body: { name: 'two' }, headers });
  assert.equal(other.code, 'IDEMPOTENCY_CONFLICT');
});

test('lists come in pages that together are the list', async () => {
  const names = ['p1', 'p2', 'p3', 'p4', 'p5'];
  for (const name of names) await data(daemon, '/v1/sessions', { body: { name } });
  const all = (await data(daemon, '/v1/sessions')).sessions.map((one: Json) => one.session_id);
  const found: string[] = [];
  let next = '/v1/sessions?limit=2';
  for (let pages = 0; pages < 20; pages += 1) {
    const { text, headers } = await ask(daemon, next);
    const page = JSON.parse(text);
    found.push(...page.sessions.map((one: Json) => one.session_id));
    assert.equal(headers['link'] === undefined, page.next_cursor === undefined);
    if (page.next_cursor === undefined) break;
    next = `/v1/sessions?limit=2&cursor=${page.next_cursor}`;
  }
  assert.deepEqual(found, all);
});

test('the record comes in pages, each event once', async () => {
  const of = `session_id=${session}`;
  const key = (one: Json): string => `${one.log} ${one.seq}`;
  const all = (await data(daemon, `/v1/audit?${of}&limit=500`)).events.map(key);
  assert.ok(all.length > 10);
  const found: string[] = [];
  let cursor = '';
  for (let pages = 0; pages < 200; pages += 1) {
    const page = await data(daemon, `/v1/audit?${of}&limit=3${cursor}`);
    found.push(...page.events.map(key));
    if (page.next_cursor === undefined) break;
    cursor = `&cursor=${page.next_cursor}`;
  }
  // What was asked for is recorded, too: the newest of it may have come since.
  assert.deepEqual(found.slice(-all.length), all.slice(-found.length));
  assert.equal(new Set(found).size, found.length);
});

test('a trace goes on in the answer and in the command', async () => {
  const trace = '0af7651916cd43dd8448eb211c80319c';
  const headers = { traceparent: `00-${trace}-b7ad6b7169203331-01` };
  const target = `/v1/sessions/${session}/execs`;
  const asked = { body: { command: 'echo $TRACEPARENT' }, headers };
  const { text, headers: fields } = await ask(daemon, target, asked);
  const own = String(fields['traceparent']);
  assert.match(own, new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`));
  assert.ok(!own.includes('b7ad6b7169203331'));
  assert.equal(JSON.parse(text).stdout, `${own}\n`);
  for (const wrong of [
    '00-0-0-0',
    `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
    'x',
    `ff-${trace}`,
  ]) {
    const other = await ask(daemon, '/v1/ping', { headers: { traceparent: wrong } });
    assert.match(String(other.headers['traceparent']), /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
    assert.ok(!String(other.headers['traceparent']).includes(trace));
  }
});

test('what a person must decide waits where the answer says, and runs when they do', async () => {
  const { session_id: id } = await data(daemon, '/v1/sessions', { body: { policy: 'guarded' } });
  const target = `/v1/sessions/${id}/execs`;
  const asked = { body: { command: 'curl https://example.com' } };
  const waiting = await ask(daemon, target, asked);
  assert.equal(waiting.status, 202);
  const { code, data: held } = JSON.parse(waiting.text);
  assert.equal(code, 'APPROVAL_REQUIRED');
  assert.equal(waiting.headers.location, `/v1/execs/${held.exec_id}`);
  const at = `/v1/approvals/${held.approval_id}`;
  const { digest } = await data(daemon, at);
  const own = await problem(`${at}/decision`, { body: { decision: 'approve', digest } });
  assert.deepEqual([own.status, own.code], [403, 'PERMISSION_DENIED']);
  const body = { decision: 'deny', digest, words: 'not from here' };
  const decided = await data(daemon, `${at}/decision`, { body, token: person });
  assert.equal(decided.state, 'denied');
  assert.equal((await data(daemon, `/v1/execs/${held.exec_id}`)).state, 'refused');
});

test('one envelope of the wire is answered in one', async () => {
  const right = await data(daemon, '/rpc', { body: { id: '7', method: 'system.ping' } });
  assert.deepEqual([right.id, right.ok], ['7', true]);
  const wrong = await data(daemon, '/rpc', { body: { id: '8', method: 'session.info' } });
  assert.deepEqual([wrong.id, wrong.ok, wrong.error.code], ['8', false, 'INVALID_PARAMS']);
  for (const method of ['exec.attach', 'exec.stream', 'approval.watch', 'system.hello']) {
    const { ok, error } = await data(daemon, '/rpc', { body: { id: '9', method } });
    assert.equal(ok, false);
    assert.match(error.message, /WebSocket/);
  }
  // Ignored, it would let a call that is made again run twice.
  const headers = { 'Idempotency-Key': 'once' };
  const body = { id: '9', method: 'system.ping' };
  const keyed = await ask(daemon, '/rpc', { body, headers });
  assert.deepEqual([keyed.status, JSON.parse(keyed.text).code], [400, 'INVALID_PARAMS']);
  assert.match(keyed.text, /exec_key/);
  const unread = await ask(daemon, '/rpc', { body: '{"id":1' });
  assert.equal(unread.status, 400);
  assert.equal(JSON.parse(unread.text).id, 'unknown');
});

test('counters are there for whoever has a token, in both forms', async () => {
  const { status, headers, text } = await ask(daemon, '/metrics');
  assert.equal(status, 200);
  assert.match(String(headers['content-type']), /^text\/plain; version=0\.0\.4/);
  const view = await data(daemon, '/v1/metrics');
  assert.ok(view.commands.zero >= 2 && view.commands.nonzero >= 1 && view.commands.timed_out >= 1);
  assert.equal(view.command_duration_ms.buckets.at(-1).count, view.command_duration_ms.count);
  assert.match(text, /^trl_commands_total\{outcome="timed_out"\} [1-9]/m);
  for (const line of text.trimEnd().split('\n')) {
    assert.match(line, /^(?:# (?:HELP|TYPE) trl_\w+ .+|trl_\w+(?:\{\w+="[^"]+"\})? [\d.e+-]+)$/);
  }
});

test('a secret is given by its name, and its value comes out nowhere', async () => {
  const value = 'cleverly-hidden-Value-4711';
  const target = '/v1/secrets/HTTP_SECRET_TOKEN';
  const put = await data(daemon, target, { method: 'PUT', body: { value }, token: person });
  assert.equal(put.name, 'HTTP_SECRET_TOKEN');
  const all = JSON.stringify([
    await data(daemon, '/v1/secrets'),
    await data(daemon, target),
    await data(daemon, `/v1/sessions/${session}/execs`, { body: { command: `echo ${value}` } }),
    (await ask(daemon, `/v1/sessions/s-${value}`)).text,
  ]);
  assert.ok(all.includes('HTTP_SECRET_TOKEN') && !all.includes(value), all);
});

test('an agent neither sees nor touches what another one made', async () => {
  const other = token('agent', '--name', 'other');
  assert.deepEqual((await data(daemon, '/v1/sessions', { token: other })).sessions, []);
  assert.deepEqual(
    (await data(daemon, `/v1/sessions/${session}/execs`, { token: other })).execs,
    [],
  );
  for (const rest of ['', '/state', '/diff', '/workspace']) {
    const found = await problem(`/v1/sessions/${session}${rest}`, { token: other });
    assert.equal(found.code, 'SESSION_NOT_FOUND', rest);
  }
  assert.equal((await ask(daemon, `/v1/sessions/${session}`)).status, 200);
  assert.notEqual(other, mainToken);
});
