// The document against the server that tells it: a client is generated from it, and every answer
// is one that it documents.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { OpenAPIClientAxios } from 'openapi-client-axios';
import * as z from 'zod/mini';
import { methods } from '../src/api/methods.ts';
import { raw, type Json } from './support/daemon.ts';
import { DocumentedClient, operationsOf, type Asked } from './support/openapi-check.ts';
import { fuzz } from './support/openapi-fuzz.ts';
import { startOpenapi, type OpenapiServer } from './support/openapi-server.ts';

let server: OpenapiServer;
let client: DocumentedClient;
let admin: string;
const secret = ['a', 'demo', 'secret', 'value', '4711'].join('-');
before(async () => {
  server = await startOpenapi({ DEMO_TOKEN: secret });
  client = new DocumentedClient(server.origin, server.document);
  admin = server.newToken('admin');
});
after(() => server?.[Symbol.asyncDispose]());

const ask = (id: string, asked: Asked = {}) => client.ask(server.token, id, asked);

/** The data of a success. */
async function done(id: string, asked: Asked = {}): Promise<Json> {
  const { status, data } = await ask(id, asked);
  assert.ok(status < 300 && data?.code === undefined, `${id}: ${JSON.stringify([status, data])}`);
  return data;
}

async function newSession(more: object = {}): Promise<string> {
  const body = { working_dir: server.daemon.root, ...more };
  return (await done('session_create', { body })).session_id;
}

test('a client that was generated from the document runs a command', async () => {
  const api = new OpenAPIClientAxios({
    definition: `${server.origin}/openapi.json`,
    axiosConfigDefaults: {
      baseURL: server.origin,
      headers: { Authorization: `Bearer ${server.token}` },
    },
  });
  const generated: Json = await api.init();
  const session = await generated.session_create(null, { name: 'generated' });
  assert.equal(session.status, 201);
  const { session_id: id } = session.data;
  const receipt = await generated.exec_run_of_session(id, { command: 'echo out; exit 4' });
  assert.deepEqual([receipt.data.stdout, receipt.data.exit_code], ['out\n', 4]);
  const { exec_id: exec } = receipt.data;
  const read = await generated.exec_read({ exec_id: exec, from: 1 });
  assert.equal(read.data.chunks[0].data, 'ut\n');
  const named = await generated.exec_run(null, { session_id: id, command: 'pwd' });
  assert.equal(named.data.stdout, '/tmp\n');
  assert.equal((await generated.session_destroy(id)).data.state, 'terminated');
  const gone = (error: Json) => error.response.data.code === 'SESSION_NOT_FOUND';
  await assert.rejects(generated.session_info(id), gone);
});

test('sessions and commands', async () => {
  const id = await newSession({ name: 'one' });
  const inSession = { path: { session_id: id } };
  await done('session_list', { query: { limit: 1 } });
  await done('session_info', inSession);
  await done('session_update', { ...inSession, body: { name: 'two' } });
  await done('session_fork', { ...inSession, body: {} });
  await done('session_state', inSession);
  const ran = await done('exec_run_of_session', { ...inSession, body: { command: 'echo $DEMO' } });
  const inExec = { path: { exec_id: ran.exec_id } };
  await done('exec_list_of_session', inSession);
  await done('exec_list', { query: { session_id: id, limit: 1 } });
  await done('exec_info', inExec);
  await done('exec_read', { ...inExec, query: { from: 0, max: 10 } });
  const events = await done('exec_attach', inExec);
  assert.match(events, /event: exit\ndata: \{/);
  const body = { session_id: id, command: 'cat', stdin_open: true, pty: { columns: 9, rows: 9 } };
  const started = await ask('exec_run', { body, query: { mode: 'detached' } });
  assert.equal(started.status, 202);
  const running = { path: { exec_id: started.data.exec_id } };
  await done('exec_write', { ...running, body: { data: 'x\n' } });
  await done('exec_resize', { ...running, body: { columns: 80, rows: 24 } });
  await done('exec_cancel', { ...running, body: {} });
  await done('exec_cancel_of_session', { ...inSession, body: {} });
  const streamed = { body: { command: 'echo s' }, query: { mode: 'stream' } };
  assert.match(await done('exec_run_of_session', { ...inSession, ...streamed }), /"s\\n"/);
  const late = { session_id: id, command: 'echo part; sleep 9', timeout_ms: 200 };
  assert.equal((await done('exec_run', { body: late })).timed_out, true);
  await done('policy_explain', { body: { command: 'rm -rf /' } });
  await done('rpc', { body: { id: '1', method: 'system.ping' } });
  await done('session_destroy', { ...inSession, query: { force: true } });
});

test('what commands changed', async () => {
  const opened = await done('workspace_open', { body: { path: server.daemon.root } });
  writeFileSync(path.join(server.daemon.root, 'old.txt'), 'old\n');
  const id = await newSession({ workspace_id: opened.workspace_id, workspace_mode: 'staged' });
  const inSession = { path: { session_id: id } };
  const ran = await ask('exec_run_of_session', {
    ...inSession,
    body: { command: 'echo n>old.txt' },
  });
  if (ran.data.snapshot === null || ran.status !== 200) return;
  const inExec = { path: { exec_id: ran.data.exec_id } };
  await done('workspace_status', inSession);
  await done('workspace_diff', inSession);
  await done('workspace_diff_of_exec', { ...inExec, query: { context: 1 } });
  await done('snapshot_list', { query: { session_id: id } });
  await done('snapshot_get_of_exec', inExec);
  const tree = { path: { id: ran.data.snapshot.after } };
  await done('snapshot_get', tree);
  await done('workspace_apply', { ...inSession, body: {} });
  await done('workspace_discard', { ...inSession, body: {} });
  await done('snapshot_restore', { ...tree, body: { dry_run: true } });
  await done('snapshot_restore_of_exec', { ...inExec, body: { dry_run: true } });
  await done('exec_undo', { ...inExec, body: {} });
});

test('questions to people, secrets, what may leave, and what was recorded', async () => {
  const id = await newSession({ policy: 'guarded' });
  const body = { session_id: id, command: 'touch a; curl -s http://127.0.0.1:1/' };
  const parked = await ask('exec_run', { body });
  assert.deepEqual([parked.status, parked.data.code], [202, 'APPROVAL_REQUIRED']);
  const question = { path: { approval_id: parked.data.data.approval_id } };
  await done('approval_list', { query: { state: 'pending' } });
  const { digest } = await done('approval_get', question);
  await done('approval_status');
  const answer = { ...question, body: { decision: 'deny', digest } };
  const decided = await client.ask(admin, 'approval_decide', answer);
  assert.equal(decided.data.state, 'denied', JSON.stringify(decided.data));
  await done('secrets_list');
  await done('secrets_check', { path: { name: 'DEMO_TOKEN' } });
  await done('secrets_request', { body: { name: 'WANTED', reason: 'a test' } });
  await done('secrets_requests');
  const value = { path: { name: 'WANTED' }, body: { value: 'a value of some length 42' } };
  assert.equal((await client.ask(admin, 'secrets_set', value)).status, 200);
  const inSession = { path: { session_id: id } };
  await done('secrets_inject', { ...inSession, body: { names: ['WANTED'] } });
  await done('secrets_delete_of_session', { path: { session_id: id, name: 'WANTED' } });
  await client.ask(admin, 'secrets_delete', { path: { name: 'WANTED' } });
  const text = { kind: 'text', data: Buffer.from('fine\n').toString('base64') };
  await done('publish_check', { body: text });
  await done('publish', { body: text });
  const { events } = await done('audit_list', { query: { session_id: id } });
  const [{ log, seq }] = events;
  await done('audit_get', { path: { log, seq }, query: { session_id: id } });
  const verified = await client.ask(admin, 'audit_verify', { body: {} });
  assert.equal(verified.data.good, true, JSON.stringify(verified.data));
});

test('a login by its code, once', async () => {
  using terminal = await raw(server.daemon.socketPath);
  const answer = await terminal.ask('console.login');
  assert.equal(answer.ok, true, JSON.stringify(answer));
  const parsed = z.safeParse(methods['console.login'].answer, answer.data);
  assert.deepEqual(parsed.data, answer.data);
  const code = new URL(answer.data.url).hash.replace('#login=', '');
  const { token, roles } = await done('login', { body: { code } });
  assert.ok(roles.includes('approver'));
  assert.equal((await client.ask(token, 'approval_list')).status, 200);
  assert.equal((await ask('login', { body: { code } })).status, 401);
});

test('the runtime, and the door itself', async () => {
  for (const id of ['runtime_list', 'system_ping', 'system_stats']) await done(id);
  for (const id of ['healthz', 'readyz', 'openapi']) await done(id);
  for (const id of ['metrics', 'system_metrics']) await done(id);
  const wrong = await ask('login', { body: { code: 'none' } });
  assert.equal(wrong.status, 401);
});

test('every documented operation is there: neither 404 for its path nor 405', async () => {
  for (const { id, told, method } of operationsOf(server.document)) {
    const isEndless = id === 'approval_watch' || id === 'system_watch';
    const isStream = Object.keys(told.responses).includes('101') || isEndless;
    if (client.succeeded.has(id) || isStream) continue;
    const body = method === 'GET' || method === 'DELETE' ? {} : { body: {} };
    const { status, data } = await client.ask(admin, id, body);
    assert.notEqual(status, 405, id);
    assert.notEqual(data.detail, 'Cannot answer the request: nothing has this path', id);
  }
});

// The long form, with what they leave behind: test/prove/http-fuzz.ts.
test('malformed requests get a clear refusal each, and no answer holds a secret', async () => {
  const tokens = [server.token, admin];
  const options = { count: 300, seed: 7, connections: 4, hidden: [secret] };
  const { statuses } = await fuzz({ server, tokens, ...options });
  assert.ok((statuses.get(400) ?? 0) > 100, JSON.stringify([...statuses]));
  assert.equal((await ask('healthz')).status, 200);
});
