// Commands that wait for a person, from the outside: a real daemon, a real sandbox.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { approvalInputView } from '../src/daemon/approvals/approval-input.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { whyNoBox } from './support/box.ts';
import { cornerOf, raw, startRuntime, type Daemon, type Json } from './support/daemon.ts';
import { eventually } from './support/processes.ts';
import { openSession, type TestSession } from './support/session.ts';

const token = 'wq8-Zk2mmVV-911-aaQQ';
const guarded = { env: { TRL_POLICY: 'guarded', DEPLOY_TOKEN: token } } as const;
const skip = whyNoBox;
let shared: Daemon;
before(async () => {
  shared = await startRuntime(guarded);
});
after(() => shared?.stop());

const guardedSession = (daemon: Daemon, params: object = {}): Promise<TestSession> =>
  openSession(daemon.socketPath, { working_dir: daemon.root, ...params });

/** The error of a command that has to wait. */
async function parked(session: TestSession, command: string, more: object = {}): Promise<Json> {
  const answer = await session.ask(command, more);
  assert.deepEqual([answer.ok, answer.error?.code], [false, 'APPROVAL_REQUIRED'], command);
  const { approval_id: approvalId, exec_id: execId } = answer.data;
  assert.match(approvalId, /^a-[0-9a-f]{32}$/);
  assert.match(execId, /^x-[0-9a-f]{32}$/);
  return answer.data;
}

async function decide(daemon: Daemon, id: string, params: object = {}): Promise<Json> {
  using client = await raw(daemon.socketPath);
  const found = await client.ask('approval.get', { approval_id: id });
  const { digest } = found.data;
  return await client.ask('approval.decide', {
    approval_id: id,
    decision: 'approve',
    digest: digest.slice(0, 8),
    ...params,
  });
}

async function ended(session: TestSession, execId: string): Promise<Json> {
  return await eventually(`the end of ${execId}`, async () => {
    const info = (await session.client.ask('exec.info', { exec_id: execId })).data;
    return info.state !== 'waiting' && info.state !== 'running' && info;
  });
}

test('what is on the list runs as it was analysed, the rest waits', { skip }, async () => {
  const daemon = cornerOf(shared);
  await using session = await guardedSession(daemon);
  writeFileSync(path.join(daemon.root, 'a.txt'), 'text\n');
  const listed = await session.run('cat a.txt');
  assert.deepEqual([listed.stdout, listed.exit_code], ['text\n', 0]);
  assert.equal(listed.verdict.decision, 'allow');
  assert.match(listed.verdict.runs[0], /^\/.*\/cat$/);
  const data = await parked(session, 'touch made');
  assert.ok(!existsSync(path.join(daemon.root, 'made')));
  const info = (await session.client.ask('exec.info', { exec_id: data.exec_id })).data;
  assert.deepEqual([info.state, info.approval_id], ['waiting', data.approval_id]);
  // Waiting makes nothing busy.
  assert.equal((await session.run('pwd')).stdout, `${daemon.root}\n`);
  assert.equal((await decide(daemon, data.approval_id)).data.same_uid, true);
  const done = await ended(session, data.exec_id);
  assert.deepEqual([done.state, done.exit_code], ['exited', 0]);
  assert.ok(existsSync(path.join(daemon.root, 'made')));
  assert.equal((await decide(daemon, data.approval_id)).ok, false, 'a yes is used once');
});

test(
  'what it gets on standard input is shown while it waits, and is on no disk',
  { skip },
  async () => {
    const daemon = cornerOf(shared);
    await using session = await guardedSession(daemon);
    using watcher = await raw(daemon.socketPath);
    await watcher.ask('approval.watch');
    const marker = `echo shown-${process.pid}-once`;
    // A value that is cut in two would be known no more.
    const padding = '.'.repeat(8 * 1024 - Buffer.byteLength(marker) - 6);
    const stdin = `${marker}\n${padding}${token}${'.'.repeat(9_000)}`;
    const { approval_id: id } = await parked(session, 'sh', { stdin });
    let told = await watcher.json();
    while (told.approval.approval_id !== id) told = await watcher.json();
    const { asked } = (await session.client.ask('approval.get', { approval_id: id })).data;
    for (const { input } of [asked, told.approval.asked]) {
      assert.ok(input.text.startsWith(`${marker}\n...`));
      assert.doesNotMatch(input.text, /wq8/);
      assert.deepEqual([input.bytes, input.is_whole], [Buffer.byteLength(stdin), false]);
      assert.ok(input.text.length <= 8 * 1024);
    }
    const found = spawnSync('grep', ['-rlF', marker, path.join(shared.home, 'state')]);
    assert.equal(found.stdout.toString(), '');
    const short = await parked(session, 'cat; touch x', {
      stdin: 'AP9uaQ==',
      stdin_encoding: 'base64',
    });
    const other = (await session.client.ask('approval.get', { approval_id: short.approval_id }))
      .data;
    assert.deepEqual(other.asked.input, { text: '\\x00\\xffni', bytes: 4, is_whole: true });
    const denied = await decide(daemon, id, { decision: 'deny' });
    assert.equal(denied.data.asked.input, undefined);
  },
);

test('a block is refused with a sentence that helps, and never asked', { skip }, async () => {
  const daemon = cornerOf(shared);
  await using session = await guardedSession(daemon);
  const answer = await session.ask('ls; rm -rf build');
  assert.deepEqual([answer.ok, answer.error.code], [false, 'POLICY_DENIED']);
  assert.match(answer.error.message, /"rm -rf build" .*\(fs\./);
  assert.equal(answer.data.verdict.decision, 'block');
  const list = await session.client.ask('approval.list', { session_id: session.id });
  assert.deepEqual(list.data.approvals, []);
});

test('asking again attaches, also after the yes, and runs nothing twice', { skip }, async () => {
  const daemon = cornerOf(shared);
  await using session = await guardedSession(daemon);
  const command = 'echo once >>log';
  const first = await parked(session, command);
  const second = await parked(session, command);
  assert.deepEqual([second.approval_id, second.exec_id], [first.approval_id, first.exec_id]);
  await decide(daemon, first.approval_id);
  await ended(session, first.exec_id);
  const answer = await session.run(command);
  assert.deepEqual([answer.exec_id, answer.exit_code], [first.exec_id, 0]);
  assert.equal(readFileSync(path.join(daemon.root, 'log'), 'utf8'), 'once\n');
  const third = await parked(session, command);
  assert.notEqual(third.exec_id, first.exec_id, 'a result that was taken is done with');
});

test('a call can wait for the person, and hears what they said', { skip }, async () => {
  const daemon = cornerOf(shared);
  await using session = await guardedSession(daemon);
  const asked = session.ask('echo hello', { wait_ms: 120_000 });
  const [first] = await pending(daemon, 1);
  await decide(daemon, first.approval_id);
  assert.equal((await asked).data.stdout, 'hello\n');
  const refused = session.ask('touch no', { wait_ms: 120_000 });
  const [second] = await pending(daemon, 1);
  await decide(daemon, second.approval_id, { decision: 'deny', words: 'use the other one' });
  const answer = await refused;
  assert.equal(answer.error.code, 'APPROVAL_DENIED');
  assert.match(answer.error.message, /use the other one/);
});

test('for this session: an equal plan runs, another one asks', { skip }, async () => {
  const daemon = cornerOf(shared);
  await using session = await guardedSession(daemon);
  const data = await parked(session, 'echo a >>log');
  await decide(daemon, data.approval_id, { scope: 'session' });
  await ended(session, data.exec_id);
  await session.ask('echo a >>log');
  assert.equal((await session.run('echo a >>log')).exit_code, 0);
  await parked(session, 'echo b >>log');
  await using other = await guardedSession(daemon);
  await parked(other, 'echo a >>log');
});

const changes: readonly {
  readonly what: string;
  readonly command: string;
  readonly more?: object;
  readonly change: (daemon: Daemon, session: TestSession) => void | Promise<void>;
  readonly runs: boolean;
}[] = [
  {
    what: 'the script that it names',
    command: 'bash tool.sh',
    change: ({ root }) => writeFileSync(path.join(root, 'tool.sh'), 'echo evil >>log\n'),
    runs: false,
  },
  {
    what: 'a variable of the session',
    command: 'bash tool.sh',
    change: async (_, { client, id }) => {
      await client.ask('session.update', { session_id: id, env: { MODE: 'other' } });
    },
    runs: false,
  },
  {
    what: 'the executable that it names',
    command: './tool.sh',
    change: ({ root }) => writeFileSync(path.join(root, 'tool.sh'), '#!/bin/sh\necho no >>log\n'),
    runs: false,
  },
  {
    what: 'a file that it does not name',
    command: 'bash tool.sh',
    change: ({ root }) => writeFileSync(path.join(root, 'unrelated.txt'), 'saved\n'),
    runs: true,
  },
];

for (const { what, command, change, runs, more } of changes) {
  const verb = runs ? 'does not void' : 'voids';
  test(`a change of ${what} between yes and run ${verb} the yes`, { skip }, async () => {
    const daemon = cornerOf(shared);
    const script = path.join(daemon.root, 'tool.sh');
    writeFileSync(script, '#!/bin/sh\necho run >>log\n', { mode: 0o755 });
    await using session = await guardedSession(daemon);
    // The session is busy when the yes comes, so the start waits for its turn.
    const slow = await parked(session, 'while ! test -e go; do sleep 0.05; done');
    const data = await parked(session, command, more);
    await decide(daemon, slow.approval_id);
    for (;;) {
      const info = (await session.client.ask('exec.info', { exec_id: slow.exec_id })).data;
      if (info.state === 'running') break;
      await sleep(10);
    }
    await decide(daemon, data.approval_id);
    await change(daemon, session);
    writeFileSync(path.join(daemon.root, 'go'), '');
    await ended(session, slow.exec_id);
    const log = path.join(daemon.root, 'log');
    if (runs) {
      assert.equal((await ended(session, data.exec_id)).exit_code, 0);
      assert.equal(readFileSync(log, 'utf8'), 'run\n');
      return;
    }
    const [next] = await pending(daemon, 1);
    assert.notEqual(next.approval_id, data.approval_id);
    assert.ok(next.changes.length > 0, 'the new question says what changed');
    assert.ok(!existsSync(log));
    const before = await session.client.ask('approval.get', { approval_id: data.approval_id });
    assert.equal(before.data.state, 'superseded');
  });
}

async function pending(daemon: Daemon, count: number): Promise<Json[]> {
  using client = await raw(daemon.socketPath);
  return await eventually(`${count} questions`, async () => {
    const { data } = await client.ask('approval.list', { state: 'pending' });
    return data.approvals.length >= count && data.approvals;
  });
}

test('questions outlive the daemon; one yes starts one process', { skip }, async () => {
  await using daemon = await startRuntime(guarded);
  const session = await guardedSession(daemon);
  const commands = ['echo 1 >>log', 'echo 2 >>log', 'echo 3 >>log'];
  const waiting: Json[] = [];
  for (const command of commands) waiting.push(await parked(session, command));
  await daemon.kill();
  await using again = await startRuntime({ ...guarded, home: daemon.home });
  const found = await pending(again, 3);
  assert.deepEqual(
    found.map((one) => one.approval_id),
    waiting.map((one) => one.approval_id),
  );
  await decide(again, waiting[1].approval_id);
  using client = await raw(again.socketPath);
  const log = path.join(again.root, 'log');
  await eventually('its end', async () => {
    const { data } = await client.ask('exec.info', { exec_id: waiting[1].exec_id });
    return data.state === 'exited';
  });
  assert.equal(readFileSync(log, 'utf8'), '2\n');
  const { data } = await client.ask('exec.info', { exec_id: waiting[1].exec_id });
  assert.deepEqual([data.state, data.exit_code], ['exited', 0]);
  session.client.drop();
});

test('values are not kept: after a restart the caller brings them again', { skip }, async () => {
  // The last test to use it.
  const daemon = cornerOf(shared);
  const session = await guardedSession(daemon);
  const command = 'echo "$WORD" >>log';
  const more = { env: { WORD: 'open-sesame' } };
  const data = await parked(session, command, more);
  const { id } = session;
  await daemon.kill();
  for (const name of ['state.db', 'state.db-wal']) {
    const kept = readFileSync(path.join(daemon.home, 'state', 'trl', name), 'latin1');
    assert.ok(!kept.includes('open-sesame'), `${name} holds a value`);
  }
  await using again = await startRuntime({ ...guarded, home: shared.home });
  await decide(again, data.approval_id);
  using client = await raw(again.socketPath);
  await sleep(200);
  assert.ok(!existsSync(path.join(daemon.root, 'log')));
  const answer = await client.ask('exec.run', {
    session_id: id,
    command,
    ...more,
    wait_ms: 120_000,
  });
  assert.deepEqual([answer.data.exec_id, answer.data.exit_code], [data.exec_id, 0]);
  assert.equal(readFileSync(path.join(daemon.root, 'log'), 'utf8'), 'open-sesame\n');
  session.client.drop();
});

test('a secret is found in input that is no text, letters beyond ASCII and all', () => {
  const bytes = Buffer.concat([Buffer.from('echo Gänseblümchen-9\n'), Buffer.from([0xff, 0xc3])]);
  const stdin = { kind: 'bytes', base64: bytes.toString('base64') } as const;
  const shown = approvalInputView(stdin, (text) => text.replaceAll('Gänseblümchen-9', '[HIDDEN]'));
  assert.equal(shown?.text, 'echo [HIDDEN]\n\\xff\\xc3');
});
