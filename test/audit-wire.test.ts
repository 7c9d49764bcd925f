// `audit.*` of a daemon: a caller sees its own session, a person all, and nobody else's by asking.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { verifyEnvelope } from '../src/provenance/dsse.ts';
import { statementSchema } from '../src/provenance/predicate.ts';
import { readPublicKey } from '../src/audit/audit-key.ts';
import { auditDirectory } from './support/audit-daemon.ts';
import { raw, startRuntime, surroundings, type Daemon } from './support/daemon.ts';
import { openSession } from './support/session.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');

let daemon: Daemon;
before(async () => {
  daemon = await startRuntime();
});
after(() => daemon.stop());

function run(...args: string[]) {
  const env = { ...process.env, ...surroundings(daemon.home) };
  const options = { env, cwd: daemon.home, encoding: 'utf8' } as const;
  const { status, stdout, stderr } = spawnSync(trl, ['audit', ...args], options);
  return { status, stdout, stderr };
}

test('an agent sees what its session did, and not what others did', async () => {
  await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
  await using other = await openSession(daemon.socketPath, { working_dir: daemon.root });
  const mine = await session.run('echo mine');
  const theirs = await other.run('echo theirs');
  using caller = await raw(daemon.socketPath);
  const ask = async (method: string, params: object) => {
    const answer = await caller.ask(method, params);
    return answer.ok === true ? answer.data : answer.error.code;
  };
  assert.equal(await ask('audit.list', {}), 'AUTH_FAILED');
  assert.equal(await ask('audit.list', { exec_id: theirs.exec_id }), 'AUTH_FAILED');
  assert.equal(await ask('audit.list', { passphrase: 'a guess' }), 'AUTH_FAILED');
  assert.equal(await ask('audit.verify', {}), 'AUTH_FAILED');

  const { session_id } = mine;
  const { events, truncated } = await ask('audit.list', { session_id });
  assert.equal(truncated, false);
  assert.ok(events.length >= 6);
  assert.equal(JSON.stringify(events).includes(theirs.exec_id), false);
  for (const event of events) assert.equal(event.session_id, session_id);
  const none = await ask('audit.list', { session_id, exec_id: theirs.exec_id });
  assert.deepEqual(none, { events: [], truncated: false });
  const ended = await ask('audit.list', { session_id, kinds: ['exec.e*'] });
  assert.equal(ended, 'INVALID_PARAMS');
  const few = await ask('audit.list', { session_id, kinds: ['exec.*'], limit: 2 });
  assert.deepEqual([few.events.length, few.truncated], [2, true]);
  assert.equal(few.events[0].kind, 'exec.statement', 'newest first');

  const { log, seq, leaf } = mine.audit;
  const own = await ask('audit.get', { log, seq, session_id });
  assert.deepEqual([own.leaf, own.exec_id], [leaf, mine.exec_id]);
  const foreign = { log: theirs.audit.log, seq: theirs.audit.seq };
  assert.equal(await ask('audit.get', { ...foreign, session_id }), 'EXEC_NOT_FOUND');
  assert.equal(await ask('audit.get', foreign), 'AUTH_FAILED');
  assert.equal(await ask('audit.get', { log, seq: 99_999, session_id }), 'EXEC_NOT_FOUND');
});

test('the statement of a real command verifies, and is what the schema says', async () => {
  await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
  const receipt = await session.run('echo new > made.txt; echo said');
  const envelope: unknown = JSON.parse(run('show', receipt.exec_id, '--statement').stdout);
  const key = readPublicKey(path.join(auditDirectory(daemon.home), 'key.pub'));
  const payload = verifyEnvelope(envelope, { keys: [key] });
  assert.ok(payload !== null);
  const made: unknown = JSON.parse(payload.toString());
  const { subject, predicate } = statementSchema.parse(made);
  assert.deepEqual(statementSchema.parse(made), made);
  assert.deepEqual(
    subject.map(({ name }) => name),
    ['made.txt'],
  );
  assert.equal(predicate.exec_id, receipt.exec_id);
  assert.equal(predicate.plan_digest, receipt.plan_digest);
  assert.deepEqual(predicate.changes?.before, receipt.snapshot.before);
  assert.equal(predicate.logs.stdout.bytes, 5);
  assert.equal(predicate.reads_complete, receipt.sandbox.level === 'full');
  const [, shell] = predicate.materials;
  assert.match(shell?.digest?.sha256 ?? '', /^[0-9a-f]{64}$/, 'the shell by its content');
});

test('a proof and an export are checked without the log', async () => {
  await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
  const receipt = await session.run('echo proved');
  const key = path.join(auditDirectory(daemon.home), 'key.pub');
  const proof = path.join(daemon.home, 'proof.json');
  assert.equal(run('prove', receipt.exec_id, '--out', proof).status, 0);
  const good = run('verify', '--proof', proof, '--key', key);
  assert.equal(good.status, 0, good.stderr);
  assert.match(good.stdout, /exec\.statement/);
  const text = readFileSync(proof, 'utf8');
  writeFileSync(
    proof,
    text.replace(/"seq":(\d+),/, (_, seq) => `"seq":${Number(seq) + 1},`),
  );
  assert.equal(run('verify', '--proof', proof, '--key', key).status, 1);
  assert.equal(run('prove', receipt.exec_id, '--out', proof).status, 125, 'it is there already');

  const file = path.join(daemon.home, 'audit.jsonl');
  assert.equal(run('export', '--out', file).status, 0);
  assert.equal(run('verify', '--export', file, '--key', key).status, 0);
  const head = path.join(daemon.home, 'receipt.json');
  writeFileSync(head, JSON.stringify(receipt));
  const lines = readFileSync(file, 'utf8');
  assert.equal(run('verify', '--export', file, '--key', key, '--head', head).status, 0);
  writeFileSync(file, lines.replace('echo proved', 'echo forged'));
  assert.equal(run('verify', '--export', file, '--key', key).status, 1);
  const cut = lines.split('\n').slice(0, 5).join('\n');
  writeFileSync(file, `${cut}\n`);
  assert.equal(run('verify', '--export', file, '--key', key, '--head', head).status, 1);
  assert.equal(run('verify').status, 0, 'the log itself is as it was');
});

test('the graph of a real command has its trees and what came after', async () => {
  await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
  const first = await session.run('echo one > shared.txt');
  const second = await session.run('echo two > shared.txt');
  const { stdout, status } = run('graph', first.exec_id);
  assert.equal(status, 0);
  assert.match(stdout, /made shared\.txt/);
  assert.ok(stdout.includes(second.exec_id));
  assert.match(stdout, /echo two > shared\.txt/);
});
