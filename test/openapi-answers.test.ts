// Real answers of a daemon against their schemas: none lacks a field, none has one that is not
// documented. Fields that a schema does not name would be stripped by the parse, and so differ.
import assert from 'node:assert/strict';
import path from 'node:path';
import { writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import * as z from 'zod/mini';
import { documentSchemas } from '../src/api/document-schemas.ts';
import { findMethod, methods } from '../src/api/methods.ts';
import { raw, startRuntime, type Daemon, type Json, type RawClient } from './support/daemon.ts';

let daemon: Daemon;
let client: RawClient;
before(async () => {
  daemon = await startRuntime({ env: { DEMO_TOKEN: 'is-never-shown-4242' } });
  client = await raw(daemon.socketPath);
});
after(async () => {
  client?.drop();
  await daemon?.stop();
});

const seen = new Set<string>();

/** The answer's data, which is what its schema says and nothing else. */
async function ask(name: string, params: object = {}, on: RawClient = client): Promise<Json> {
  const answer = await on.ask(name, params);
  const data = answer.data;
  assert.equal(answer.ok, true, `${name}: ${JSON.stringify(answer)}`);
  seen.add(name);
  fits(methods[findMethod(name)].answer, data, name);
  return data;
}

function fits(schema: z.ZodMiniType, value: unknown, what: string): void {
  const result = z.safeParse(schema, value);
  if (!result.success) assert.fail(`${what}: ${JSON.stringify([result.error.issues, value])}`);
  assert.deepEqual(result.data, value, `${what} has fields that are not documented`);
}

async function openSession(params: object = {}): Promise<string> {
  const made = await ask('session.create', { working_dir: daemon.root, ...params });
  return made.session_id;
}

test('sessions and the runtime', async () => {
  const id = await openSession({ name: 'one', env: { A: '1' }, shell: '/bin/fish' });
  await ask('session.list');
  await ask('session.info', { session_id: id });
  await ask('session.update', { session_id: id, name: 'two' });
  await ask('session.fork', { session_id: id });
  await ask('session.state', { session_id: id });
  for (const name of ['system.ping', 'system.stats', 'system.hello', 'runtime.list']) {
    await ask(name);
  }
  await ask('system.metrics');
  await ask('session.destroy', { session_id: id });
});

test('commands, their output and what is known of them', async () => {
  const id = await openSession();
  const run = (command: string, more: object = {}) =>
    ask('exec.run', { session_id: id, command, ...more });
  await run("printf '\\377'; echo err >&2; export B=2; cd /tmp");
  await ask('session.connections', { session_id: id });
  await ask('session.block_host', { session_id: id, host: 'a.test' });
  await ask('session.show_port', { session_id: id, port: 5173 });
  await ask('session.hide_port', { session_id: id, port: 5173 });
  await run('echo data > kept.txt; echo password=hunter2-hunter2-9', { cwd: daemon.root });
  const late = await client.ask('exec.run', {
    session_id: id,
    command: 'echo partial; sleep 60',
    timeout_ms: 300,
  });
  assert.equal(late.error.code, 'COMMAND_TIMEOUT');
  fits(methods['exec.run'].answer, late.data, 'the receipt of a time-out');
  const { exec_id: started } = await ask('exec.start', {
    session_id: id,
    command: 'read line; echo "got $line"; read more; stty size; exit 3',
    pty: { columns: 80, rows: 24 },
    stdin_open: true,
  });
  await ask('exec.resize', { exec_id: started, columns: 90, rows: 30 });
  await ask('exec.write', { exec_id: started, data: 'x\n' });
  await ask('exec.info', { exec_id: started });
  await ask('exec.write', { exec_id: started, data: 'y\n' });
  let state = 'running';
  for (let from = 0; state === 'running';) {
    const read = await ask('exec.read', { exec_id: started, from, wait_ms: 60_000 });
    ({ state, next: from } = read);
  }
  await ask('exec.info', { exec_id: started });
  await ask('exec.list', { session_id: id });
  await ask('exec.start', { session_id: id, command: 'sleep 60' });
  await ask('exec.cancel', { session_id: id });
  await ask('policy.explain', { command: 'git push --force && rm -rf /', session_id: id });
});

test('events of a stream, whole from its first byte to the receipt', async () => {
  const id = await openSession();
  using follower = await raw(daemon.socketPath);
  const command = "echo text; sleep 0.1; printf '\\377\\376'; echo err >&2; sleep 0.1";
  const { exec_id: exec } = await ask('exec.stream', { session_id: id, command }, follower);
  const kinds: string[] = [];
  while (kinds.at(-1) !== 'exit') {
    const event = await follower.json();
    fits(documentSchemas.StreamEvent, event, 'an event');
    kinds.push(event.stream);
  }
  assert.ok(kinds.includes('stdout') && kinds.includes('stderr'));
  using attached = await raw(daemon.socketPath);
  await ask('exec.attach', { exec_id: exec, from: 2 }, attached);
  fits(documentSchemas.StreamEvent, await attached.json(), 'an event');
});

test('questions to a person, and what is told of them', async () => {
  const id = await openSession({ policy: 'guarded' });
  using watcher = await raw(daemon.socketPath);
  await ask('approval.watch', {}, watcher);
  await ask('approval.status');
  for (const decision of ['approve', 'deny']) {
    const command = `touch ${decision}.txt; curl -s http://127.0.0.1:1/`;
    const parked = await client.ask('exec.run', { session_id: id, command });
    assert.equal(parked.error.code, 'APPROVAL_REQUIRED', JSON.stringify(parked));
    fits(documentSchemas.Verdict, parked.data.verdict, 'the verdict of a question');
    const approvalId = parked.data.approval_id;
    const event = await watcher.json();
    fits(documentSchemas.ApprovalEvent, event, 'an event of approvals');
    await ask('exec.info', { exec_id: parked.data.exec_id });
    const { digest } = await ask('approval.get', { approval_id: approvalId });
    await ask('approval.list', { state: 'pending' });
    await ask('approval.decide', { approval_id: approvalId, decision, digest, words: 'seen' });
    for (let state = 'waiting'; state === 'waiting' || state === 'running';) {
      ({ state } = await ask('exec.read', { exec_id: parked.data.exec_id, wait_ms: 60_000 }));
    }
    for (let state = 'pending'; state === 'pending' || state === 'approved';) {
      const told = await watcher.json();
      fits(documentSchemas.ApprovalEvent, told, 'an event of approvals');
      ({ state } = told.approval);
    }
  }
});

test('secrets by name', async () => {
  const id = await openSession();
  await ask('secrets.list');
  await ask('secrets.check', { name: 'MISSING' });
  await ask('secrets.request', { name: 'WANTED', reason: 'a test' });
  await ask('secrets.requests');
  await ask('secrets.set', { name: 'WANTED', value: 'a value of some length 91' });
  await ask('secrets.check', { name: 'WANTED' });
  await ask('secrets.inject', { session_id: id, names: ['WANTED'] });
  await ask('exec.run', { session_id: id, command: 'echo $WANTED' });
  await ask('session.info', { session_id: id });
  await ask('secrets.delete', { name: 'WANTED', session_id: id });
  await ask('secrets.delete', { name: 'WANTED' });
});

test('what commands changed, what waits, and the way back', async (t) => {
  const made = await ask('workspace.open', { path: daemon.root, mode: 'staged' });
  const id = await openSession({ workspace_id: made.workspace_id });
  writeFileSync(path.join(daemon.root, 'old.txt'), 'old\n');
  const command = 'echo new > old.txt; ln -s old.txt link; mkdir d; printf "\\0" > d/bin';
  const receipt = await client.ask('exec.run', { session_id: id, command });
  if (receipt.ok !== true) return t.skip(`no staged mode here: ${receipt.error.message}`);
  await ask('workspace.status', { session_id: id });
  await ask('workspace.diff', { session_id: id });
  await ask('workspace.discard', { session_id: id, paths: ['link'] });
  await ask('workspace.apply', { session_id: id });
  await ask('snapshot.list', { session_id: id });
  const { exec_id: exec } = receipt.data;
  const { after: tree } = await ask('snapshot.get', { exec_id: exec });
  await ask('snapshot.restore', { id: tree, dry_run: true });
  await ask('exec.undo', { exec_id: exec });
});

test('what may leave', async () => {
  const data = Buffer.from('nothing special\n').toString('base64');
  await ask('publish.check', { kind: 'text', data, name: 'note.txt' });
  await ask('publish', { kind: 'text', data, name: 'note.txt' });
  const key = Buffer.from(
    `token = "${['ghp', 'aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6'].join('_')}"\n`,
  );
  await ask('publish.check', { kind: 'text', data: key.toString('base64') });
});

test('everything that happens, told as it does', async () => {
  using watcher = await raw(daemon.socketPath);
  await ask('system.watch', {}, watcher);
  const id = await openSession({ policy: 'guarded' });
  const parked = await client.ask('exec.run', {
    session_id: id,
    command: 'curl -s http://[::1]:1/',
  });
  await client.ask('secrets.request', { name: 'FED', reason: 'a test' });
  await client.ask('exec.cancel', { exec_id: parked.error.data?.exec_id ?? parked.data.exec_id });
  await client.ask('session.destroy', { session_id: id, force: true });
  const kinds = new Set<string>();
  for (let isOver = false; !isOver;) {
    const message = await watcher.json();
    fits(documentSchemas.FeedMessage, message, 'an event of the feed');
    const { kind, session_id: ended } = message.event;
    kinds.add(kind);
    isOver = kind === 'session-ended' && ended === id;
  }
  for (const kind of ['session', 'exec', 'approval']) assert.ok(kinds.has(kind), kind);
});

test('a command that somebody takes over', async () => {
  const id = await openSession();
  const { exec_id: exec } = await ask('exec.start', { session_id: id, command: 'sleep 60' });
  const { lease_id: lease } = await ask('exec.lease', { exec_id: exec, action: 'take' });
  await ask('exec.lease', { exec_id: exec, action: 'release', lease_id: lease });
  await ask('exec.cancel', { exec_id: exec });
});

test('a tool that a connection answers', async () => {
  using provider = await raw(daemon.socketPath);
  const schema = { type: 'object', properties: { n: { type: 'integer' } } };
  const tool = { name: 'doubled', description: 'Doubles a number', input_schema: schema };
  await ask('tool.register', tool, provider);
  await ask('tool.list');
  using caller = await raw(daemon.socketPath);
  const called = ask('tool.call', { name: 'doubled', arguments: { n: 2 } }, caller);
  const { call } = await provider.json();
  await ask('tool.answer', { call_id: call.call_id, result: { n: 4 } }, provider);
  assert.deepEqual((await called).result, { n: 4 });
});

test('the audit log', async () => {
  const id = await openSession();
  await ask('exec.run', { session_id: id, command: 'true' });
  const { events } = await ask('audit.list', { session_id: id });
  const [{ log, seq }] = events;
  await ask('audit.get', { log, seq, session_id: id });
});

/** Methods that are not called here, and where their answers are held against their schemas. */
const elsewhere: ReadonlyMap<string, string> = new Map([
  ['audit.verify', 'for a person: test/openapi-live.test.ts asks as an admin'],
  ['workspace.trust', 'for the socket alone: test/projects.test.ts'],
  ['workspace.forget', 'for the socket alone: test/projects.test.ts'],
  ['workspace.list', 'for the socket alone: test/projects.test.ts'],
  ['cache.list', 'for the socket alone: test/caches.test.ts'],
  ['cache.clear', 'for the socket alone: test/caches.test.ts'],
  ['console.login', 'for a terminal, with an HTTP door: test/openapi-live.test.ts asks for it'],
]);

test('every method was asked', () => {
  const missing = Object.keys(methods).filter((name) => !seen.has(name) && !elsewhere.has(name));
  assert.deepEqual(missing, []);
});
