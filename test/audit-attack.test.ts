// What callers and commands try, to keep things out of the log or to break what it says.
import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import type { AuditEvent } from '../src/audit/event.ts';
import { openAuditLog, type OpenLogOptions } from '../src/audit/open-log.ts';
import { readEvents } from '../src/audit/read-events.ts';
import { Auditing } from '../src/daemon/auditing/auditing.ts';
import { LazyAuditLog } from '../src/daemon/auditing/lazy-audit-log.ts';
import { isTrlError } from '../src/errors.ts';
import { limits } from '../src/limits.ts';
import { newExecId } from '../src/session/record.ts';
import { auditDirectory, auditEvents, auditText, kindsOf } from './support/audit-daemon.ts';
import { raw, startRuntime } from './support/daemon.ts';
import { openSession } from './support/session.ts';

test('a command that makes long changes is told to its end, and stops no other', async () => {
  await using daemon = await startRuntime();
  const place = { working_dir: daemon.root };
  // The first 1000 changes of these are more than an event may be.
  mkdirSync(path.join(daemon.root, 'd'));
  for (let n = 0; n < 550; n += 1) {
    symlinkSync('x'.repeat(4_090), path.join(daemon.root, 'd', `${n}`.padStart(250, 'n')));
  }
  await using session = await openSession(daemon.socketPath, place);
  await using other = await openSession(daemon.socketPath, place);
  const victim = await other.start('sleep 60');
  const receipt = await session.run('mv d e');
  assert.equal(receipt.exit_code, 0);
  assert.deepEqual(kindsOf(daemon.home, receipt.exec_id).slice(-3), [
    'exec.ended',
    'exec.changed',
    'exec.statement',
  ]);
  const changed = auditEvents(daemon.home).findLast(({ kind }) => kind === 'exec.changed');
  const { changes, omitted } = changed?.data ?? {};
  assert.ok(Array.isArray(changes) && changes.length > 0);
  assert.ok(changes.length + Number(omitted) >= 1_100);
  const info = await other.client.ask('exec.info', { exec_id: victim });
  assert.equal(info.data.exit_code ?? null, null, JSON.stringify(info));
});

test('values that callers call secret break no signature and hide no fact', async () => {
  await using daemon = await startRuntime();
  const place = { working_dir: daemon.root };
  // What each envelope begins with, and words of the runtime.
  const env = {
    A_TOKEN: Buffer.from('{"_type":"https://in-toto.io/Statement/v1"').toString('base64'),
    B_TOKEN: 'bubblewrap',
    C_TOKEN: 'foreground',
  };
  await using attacker = await openSession(daemon.socketPath, { ...place, env });
  await attacker.run('true');
  await using session = await openSession(daemon.socketPath, place);
  const { exec_id: exec } = await session.run('true');
  const statement = statementOf(daemon.home, exec);
  const planned = auditEvents(daemon.home).find(
    (event) => event.kind === 'exec.planned' && event.exec === exec,
  );
  const kind = JSON.parse(JSON.stringify(planned?.data['sandbox'])).kind;
  assert.equal(kind, statement.predicate.sandbox.kind);
  assert.match(kind, /^(?:bubblewrap|none)$/);
  assert.equal(statement.predicate.command.mode, 'foreground');
});

test('a value that becomes known while a command runs is not in its statement', async () => {
  await using daemon = await startRuntime();
  await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
  using client = await raw(daemon.socketPath);
  const value = 'Q8kLmVwXw2pTn9sLd3cZzA1';
  const exec = await session.start(`read -r line; : ${value}`, { stdin_open: true });
  const set = await client.ask('secrets.set', { name: 'LATE_ONE', value });
  assert.equal(set.ok, true, JSON.stringify(set));
  const cancelled = await client.ask('exec.cancel', { exec_id: exec });
  assert.equal(cancelled.ok, true, JSON.stringify(cancelled));
  while (!kindsOf(daemon.home, exec).includes('exec.statement')) {
    await client.ask('system.ping');
  }
  const statement = statementOf(daemon.home, exec);
  assert.equal(JSON.stringify(statement).includes(value), false);
});

test('what looks like a secret is not in the words of a refusal', async () => {
  const token = ['ghp', 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8'].join('_');
  await using daemon = await startRuntime({ env: { TRL_POLICY: 'guarded' } });
  await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
  for (const refused of [`rm -rf / ${token}`, `git push https://u:${token}@x.example/y.git`]) {
    assert.equal((await session.ask(refused)).error.code, 'POLICY_DENIED');
  }
  assert.equal(auditText(daemon.home).includes(token), false);
  assert.match(auditText(daemon.home), /publishes commits to a remote repository/);
});

test('what gathered while the log was away is told when it is back', async (t) => {
  const { directory, auditing, logs, close } = await auditingIn(t);
  await auditing.record({ kind: 'call.requested', data: { n: 0 } });
  renameSync(logs, `${logs}.away`);
  const text = 'x'.repeat(64 * 1024);
  const count = Math.ceil((1.5 * limits.auditGroupBytes.max) / text.length);
  for (let n = 1; n <= count; n += 1) auditing.note({ kind: 'call.refused', data: { n, text } });
  await assert.rejects(auditing.record({ kind: 'call.requested', data: { n: -1 } }), isAway);
  await assert.rejects(auditing.recordEnd({ kind: 'exec.ended', data: { n: count + 1 } }), isAway);
  renameSync(`${logs}.away`, logs);
  await auditing.record({ kind: 'call.requested', data: { n: count + 2 } });
  await close();
  const told = [...readEvents(directory, { kinds: ['call.*', 'exec.*'] }, 'oldest')];
  const numbers = told.map(({ event }) => event.data['n']);
  // What was not permitted is not told; what had happened is.
  const wanted = Array.from({ length: count + 3 }, (_, n) => n);
  assert.deepEqual(numbers, wanted);
});

test('an event that is too large or no text is told by its digest', async (t) => {
  const { directory, auditing, close } = await auditingIn(t);
  const large = Array.from({ length: 1_100 }, () => 'é'.repeat(2_000));
  await auditing.record({ kind: 'call.requested', data: { method: 'one', large } });
  await auditing.record({ kind: 'call.requested', data: { method: 'two', odd: 'a\ud800' } });
  await close();
  const told = [...readEvents(directory, { kinds: ['call.*'] }, 'oldest')];
  const [one, two] = told.map(({ event }) => JSON.parse(JSON.stringify(event.data)));
  assert.deepEqual([one.method, one.left_out.fields], ['one', ['large']]);
  assert.deepEqual([two.method, two.left_out.fields], ['two', ['odd']]);
  assert.match(one.left_out.sha256, /^[0-9a-f]{64}$/);
});

const isAway = (error: unknown): boolean => isTrlError(error, 'AUDIT_UNAVAILABLE');

async function auditingIn(t: TestContext) {
  const directory = mkdtempSync(path.join(tmpdir(), 'trl-audit-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const options: OpenLogOptions = { directory };
  const sink = await openAuditLog(options);
  const masking = { deep: <Value>(value: Value): Value => value };
  const auditing = new Auditing({ sink, required: true, masking, maskText: String, log: () => {} });
  const close = async (): Promise<void> => {
    await auditing.close();
    await sink.close();
  };
  return { directory, auditing, logs: path.join(directory, 'logs'), close };
}

/** What the statement of a command says, once its signature was checked. */
function statementOf(home: string, exec: string) {
  const told = auditEvents(home).find((one) => one.kind === 'exec.statement' && one.exec === exec);
  const { payload, payloadType, signatures } = JSON.parse(
    JSON.stringify(told?.data['envelope'] ?? null),
  );
  const body = Buffer.from(payload, 'base64');
  const head = `DSSEv1 ${Buffer.byteLength(payloadType)} ${payloadType} ${body.length} `;
  const key = createPublicKey(readFileSync(path.join(auditDirectory(home), 'key.pub')));
  const signature = Buffer.from(signatures[0].sig, 'base64');
  assert.ok(verify(null, Buffer.concat([Buffer.from(head), body]), key, signature));
  assert.ok(auditText(home).includes(payload));
  return JSON.parse(body.toString());
}

test('a command that another runtime took over is not told as lost', async (t) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'trl-audit-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const started = (): AuditEvent => {
    return { kind: 'exec.started', at: 1, actor: null, exec: newExecId(), data: {} };
  };
  const [over, lost] = [started(), started()];
  const first = await openAuditLog({ directory });
  await first.append([over, lost]);
  const second = await openAuditLog({ directory });
  await first.close();
  await second.append([{ ...over, kind: 'exec.ended' }]);
  await second.close();
  const third = new LazyAuditLog(directory);
  const found = await third.unended();
  await third.close();
  assert.deepEqual(
    found.map(({ exec }) => exec),
    [lost.exec],
  );
});

test('nothing is written where others could put another log in its place', async (t) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'trl-audit-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  await (await openAuditLog({ directory })).close();
  chmodSync(directory, 0o770);
  await assert.rejects(openAuditLog({ directory }), isAway);
  chmodSync(directory, 0o750);
  await (await openAuditLog({ directory })).close();
});
