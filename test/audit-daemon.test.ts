// What a daemon writes down: before a command starts, and before anybody is told how it ended.
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { auditDirectory, auditEvents, auditText, kindsOf } from './support/audit-daemon.ts';
import { raw, shareRuntime, startRuntime, type Daemon } from './support/daemon.ts';
import { openSession } from './support/session.ts';

/** Of the tests that ask nothing of their own of it. */
let daemon: Daemon;
before(async () => {
  daemon = await startRuntime();
});
after(() => daemon.stop());

test('a command is told in order, and its receipt says where', async () => {
  await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
  const receipt = await session.run('echo hello; echo new > made.txt');
  const kinds = kindsOf(daemon.home, receipt.exec_id);
  assert.deepEqual(kinds, [
    'exec.requested',
    'exec.decided',
    'exec.planned',
    'exec.started',
    'exec.ended',
    'exec.changed',
    'exec.statement',
  ]);
  const events = auditEvents(daemon.home);
  assert.equal(events[receipt.audit.seq]?.kind, 'exec.statement');
  const [, size] = receipt.audit.head.split('\n');
  assert.ok(Number(size) > receipt.audit.seq, receipt.audit.head);
  assert.equal(auditText(daemon.home).includes(receipt.audit.head.split('\n')[2]), true);
  const ended = events.find(({ kind }) => kind === 'exec.ended');
  assert.equal(ended?.data['exit_code'], 0);
  assert.equal(
    ended?.data['stdout_sha256'],
    '5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03',
  );
});

test('the start is in the log before the command runs', async () => {
  await using session = await openSession(daemon.socketPath, { sandbox: 'none' });
  const logs = path.join(auditDirectory(daemon.home), 'logs');
  // Without a sandbox the command can read what was written of it.
  const receipt = await session.run(`tail -qn 2 ${logs}/*/*.jsonl`);
  const [started = '', head = ''] = String(receipt.stdout).trim().split('\n');
  assert.match(started, /"kind":"exec\.started"/);
  assert.match(started, new RegExp(receipt.exec_id));
  assert.match(head, /^\{"head":/);
});

test('a log that was lost is told of by the next one, and commands go on', async () => {
  await using session = await openSession(daemon.socketPath);
  await session.run('true');
  await daemon.kill();
  const count = auditEvents(daemon.home).length;
  await using again = await startRuntime({ home: daemon.home });
  await using other = await openSession(again.socketPath);
  await other.run('true');
  const events = auditEvents(daemon.home);
  assert.ok(events.length > count);
  assert.equal(events.filter(({ kind }) => kind === 'log.opened').length, 2);
  assert.ok(existsSync(path.join(auditDirectory(daemon.home), 'key.pub')));
});

test('what is blocked, asked, denied or broken is told', async () => {
  await using guarded = await startRuntime({ env: { TRL_POLICY: 'guarded' } });
  await using session = await openSession(guarded.socketPath);
  const blocked = await session.ask('rm -rf /');
  assert.equal(blocked.error.code, 'POLICY_DENIED');
  const asked = await session.ask('curl https://example.com -o x.sh');
  assert.equal(asked.error.code, 'APPROVAL_REQUIRED', JSON.stringify(asked));
  const id = asked.error.data?.approval_id ?? asked.data?.approval_id;
  using other = await raw(guarded.socketPath);
  const pending = (await other.ask('approval.get', { approval_id: id })).data;
  const no = { approval_id: id, decision: 'deny', digest: pending.digest };
  assert.equal((await other.ask('approval.decide', no)).ok, true);
  const outside = await other.ask('session.create', { working_dir: '/etc' });
  assert.equal(outside.error.code, 'WORKSPACE_ESCAPE');
  await session.destroy();
  await guarded.kill('SIGTERM');
  const events = auditEvents(guarded.home);
  const told = (kind: string) => events.filter((event) => event.kind === kind);
  const [refused] = told('exec.refused');
  assert.equal(refused?.data['code'], 'POLICY_DENIED');
  assert.ok(JSON.stringify(refused?.data['rules']).includes('fs.'), JSON.stringify(refused));
  assert.equal(told('approval.requested').length, 1);
  assert.equal(told('approval.decided')[0]?.data['decision'], 'deny');
  assert.equal(told('call.refused').at(-1)?.data['code'], 'WORKSPACE_ESCAPE');
  const kinds = new Set(events.map(({ kind }) => kind));
  const wanted = ['log.opened', 'config.loaded', 'policy.loaded', 'session.destroyed'] as const;
  for (const kind of wanted) {
    assert.ok(kinds.has(kind), kind);
  }
});

test('no value is in the log: not known, not given, not typed, not likely', async () => {
  const value = 'Zr4kQm7vXw2pTn9sLd3c';
  const token = ['ghp', 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8'].join('_');
  await using secretive = await startRuntime({
    env: { DEPLOY_TOKEN: value },
    prepare: (home) => {
      writeFileSync(path.join(home, 'config.yaml'), '');
      return {};
    },
  });
  await using session = await openSession(secretive.socketPath, {
    env: { API_KEY: `own-${value}x` },
  });
  await session.run(`echo "$DEPLOY_TOKEN" ${value} ${Buffer.from(value).toString('base64')}`, {
    env_keys: ['DEPLOY_TOKEN'],
    env: { OTHER_SECRET: `other-${value}` },
  });
  await session.run(`echo ${token} > ${value}.txt`);
  await session.run('cat *.txt', { stdin: value });
  await session.destroy();
  await secretive.kill('SIGTERM');
  const text = auditText(secretive.home);
  const payloads = auditEvents(secretive.home).map(({ data }) => {
    const envelope = data['envelope'];
    const payload =
      typeof envelope === 'object' && envelope !== null ? Reflect.get(envelope, 'payload') : '';
    return Buffer.from(String(payload), 'base64').toString();
  });
  for (const secret of [value, token, Buffer.from(value).toString('base64')]) {
    assert.equal(text.includes(secret), false);
    assert.equal(
      payloads.some((payload) => payload.includes(secret)),
      false,
    );
  }
  assert.match(text, /DEPLOY_TOKEN/);
});

/** Of the last two tests; the last ends it. */
const shared = shareRuntime();

test('a statement names what ran beside its command, of whatever session', async () => {
  const daemon = await shared();
  const where = { working_dir: daemon.root };
  await using one = await openSession(daemon.socketPath, where);
  await using other = await openSession(daemon.socketPath, where);
  const id = await one.start('echo written > note.txt; sleep 30');
  const receipt = await other.run('cat note.txt 2>/dev/null; true');
  await one.client.ask('exec.cancel', { exec_id: id });
  const found = auditEvents(daemon.home).find(
    ({ kind, exec }) => kind === 'exec.statement' && exec === receipt.exec_id,
  );
  const envelope = found?.data['envelope'];
  const payload = typeof envelope === 'object' && envelope !== null ? envelope : {};
  const statement = JSON.parse(
    Buffer.from(String(Reflect.get(payload, 'payload')), 'base64').toString(),
  );
  assert.deepEqual(statement.predicate.projection.concurrent_with, [id]);
});

test('who writes to a command that runs, and how much, is told; what is not', async () => {
  const daemon = await shared();
  await using session = await openSession(daemon.socketPath);
  const id = await session.start('cat', { stdin_open: true });
  const typed = Buffer.from('a password that is typed\n').toString('base64');
  const write = (params: object) => session.client.ask('exec.write', { exec_id: id, ...params });
  assert.equal((await write({ data: typed, encoding: 'base64' })).ok, true);
  assert.equal((await write({ data: typed, encoding: 'base64', eof: true })).ok, true);
  await session.client.ask('exec.read', { exec_id: id, wait_ms: 2_000 });
  await session.destroy();
  await daemon.kill('SIGTERM');
  const [input, ...others] = auditEvents(daemon.home).filter(({ kind }) => kind === 'exec.input');
  assert.deepEqual(others, []);
  assert.deepEqual(input?.data, { bytes: 50, eof: true });
  assert.equal(input?.exec, id);
  assert.equal(auditText(daemon.home).includes('password that'), false);
});
