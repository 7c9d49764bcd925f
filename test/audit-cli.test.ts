// `trl audit …` on logs as the runtime writes them, and on logs that somebody was at.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { generateKeyPairSync } from 'node:crypto';
import path from 'node:path';
import { test } from 'node:test';
import { auditHome, commandEvents, type AuditHome } from './support/audit-home.ts';
import { change, execOf, record, recordedOf, sha } from './support/provenance.ts';

const one = record({ recorded: recordedOf([change('a')]), basis: { command: 'make a' } });
const later = record({
  id: execOf('later'),
  basis: { command: 'rm a' },
  recorded: recordedOf([
    change('a', {
      kind: 'deleted',
      before: { type: 'file', mode: 0o644, size: 1, mtimeMs: 0, sha256: sha('a') },
      after: null,
    }),
  ]),
});

async function homeWith(...records: readonly (typeof one)[]): Promise<AuditHome> {
  const home = auditHome();
  for (const each of records) await home.write(commandEvents(home.directory, each));
  return home;
}

const segmentsIn = ({ directory }: AuditHome): string[] => {
  const log = path.join(directory, 'logs', '0');
  const names = readdirSync(log).filter((name) => name.endsWith('.jsonl'));
  return names.toSorted().map((name) => path.join(log, name));
};
const lastSegment = (home: AuditHome): string => segmentsIn(home).at(-1) ?? '';

test('a list has a line an event, newest last, and takes filters', async () => {
  using home = await homeWith(one, later);
  const { status, stdout } = home.run('log');
  assert.equal(status, 0);
  const lines = stdout.trimEnd().split('\n');
  assert.ok(lines.some((line) => /exec\.requested {2}agent:test {2}x-\w+ {2}make a$/.test(line)));
  const made = home.run('log', '--exec', one.id, '--json').stdout.trim().split('\n');
  assert.deepEqual(
    made.map((line) => JSON.parse(line).kind),
    ['exec.requested', 'exec.decided', 'exec.ended', 'exec.changed', 'exec.statement'],
  );
  const kinds = home.run('log', '--kind', 'exec.ended', '--kind', 'exec.dec*', '--json').stdout;
  assert.equal(kinds.trim().split('\n').length, 2, 'a star stands behind a dot only');
  assert.equal(home.run('log', '--limit', '2').stdout.trim().split('\n').length, 2);
  assert.equal(home.run('log', '--until', '2020-01-01').stdout, '');
  assert.equal(home.run('log', '--since', 'soon').status, 125);
  assert.equal(home.run('log', '--actor', 'agent:else').stdout, '');
});

test('nobody is shown what somebody wrote as if it were ours', async () => {
  using home = auditHome();
  const command = 'x\n3fa91c07:9  2026-01-01 00:00:00.000  exec.ended\u001b[2J\u009b2J\u202e';
  await home.write([{ kind: 'exec.requested', at: 1, actor: 'a\u001b', data: { command } }]);
  for (const args of [['log'], ['show', '1'], ['log', '--json'], ['show', '1', '--json']]) {
    const { stdout, status } = home.run(...args);
    assert.equal(status, 0);
    // eslint-disable-next-line no-control-regex
    assert.doesNotMatch(stdout, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/, args.join(' '));
    assert.ok(!stdout.split('\n').some((line) => line.startsWith('3fa91c07:9')));
  }
});

test('a command is shown whole, and its statement alone', async () => {
  using home = await homeWith(one);
  const shown = home.run('show', one.id).stdout;
  assert.match(shown, /"predicateType": "https:\/\/trl\.dev\/provenance\/command\/v1"/);
  const envelope = JSON.parse(home.run('show', one.id, '--statement').stdout);
  assert.equal(envelope.payloadType, 'application/vnd.in-toto+json');
  assert.equal(home.run('show', 'x-0').status, 125);
  assert.equal(home.run('show', 'nothing').status, 125);
  assert.match(home.run('show', '1').stdout, /exec\.requested/);
});

test('a good log is good, and its head is remembered', async () => {
  using home = await homeWith(one);
  assert.equal(home.run('verify').status, 0);
  assert.equal(statSync(home.seenHeads).mode & 0o777, 0o600);
  const seen = JSON.parse(readFileSync(home.seenHeads, 'utf8'));
  const [head] = Object.values(seen.heads);
  await home.write(commandEvents(home.directory, later));
  const again = home.run('verify');
  assert.equal(again.status, 0, again.stdout);
  const [newer] = Object.values(JSON.parse(readFileSync(home.seenHeads, 'utf8')).heads);
  assert.notDeepEqual(newer, head);
  assert.match(again.stderr, /checked against 1 heads/);
});

test('an end that is cut off whole is found by a head that was seen, or a receipt', async () => {
  using home = await homeWith(one);
  const file = lastSegment(home);
  const before = statSync(file).size;
  const head = await home.write(commandEvents(home.directory, later));
  const receipt = path.join(home.home, 'receipt.json');
  writeFileSync(receipt, JSON.stringify({ exit_code: 0, audit: { log: 'x', seq: 1, head } }));
  assert.equal(home.run('verify', '--head', receipt).status, 0);

  truncateSync(file, before);
  const cut = home.run('verify');
  assert.equal(cut.status, 1, 'against what the check before saw');
  assert.match(cut.stdout, /FOUND {2}A head over \d+ events was saved elsewhere/);
  assert.equal(home.run('verify').status, 1, 'a bad check does not replace what was seen');

  rmSync(home.seenHeads);
  assert.equal(home.run('verify').status, 0, 'without any head nobody can tell');
  rmSync(home.seenHeads);
  for (const given of [receipt, head, head.trimEnd(), JSON.stringify({ audit: { head } })]) {
    assert.equal(home.run('verify', '--head', given).status, 1, given);
  }
  assert.equal(home.run('verify', '--head', 'no head').status, 125);
});

test('a changed byte, a lost log and another key are found', async () => {
  using home = await homeWith(one);
  assert.equal(home.run('verify').status, 0);
  const file = lastSegment(home);
  const good = readFileSync(file);
  const at = good.indexOf('make a');
  const bad = Buffer.from(good);
  bad.write('fake a', at);
  writeFileSync(file, bad);
  const { status, stdout } = home.run('verify');
  assert.equal(status, 1);
  assert.match(stdout, /FOUND/);
  const answer = JSON.parse(home.run('verify', '--json').stdout);
  assert.equal(answer.good, false);
  assert.ok(answer.logs[0].finding_count > 0);
  writeFileSync(file, good);
  assert.equal(home.run('verify').status, 0);

  // A log of their own, signed with a key of their own, in the place of ours.
  rmSync(home.directory, { recursive: true });
  await home.write(commandEvents(home.directory, later));
  const other = home.run('verify');
  assert.equal(other.status, 1);
  assert.match(other.stdout, /not the one of the last check/);
  rmSync(home.directory, { recursive: true });
  const lost = home.run('verify');
  assert.equal(lost.status, 1, 'not even a key is left');
  assert.match(lost.stdout, /There is no key in .* heads of its logs were kept/);
});

test('a key that was kept elsewhere decides, and a foreign one accepts nothing', async () => {
  using home = await homeWith(one);
  const kept = path.join(home.home, 'kept.pub');
  writeFileSync(kept, readFileSync(path.join(home.directory, 'key.pub')));
  assert.equal(home.run('verify', '--key', kept).status, 0);
  const { publicKey } = generateKeyPairSync('ed25519');
  writeFileSync(kept, publicKey.export({ type: 'spki', format: 'pem' }));
  rmSync(home.seenHeads);
  assert.equal(home.run('verify', '--key', kept).status, 1);
});

test('what was seen is never thrown away for a file that cannot be read', async () => {
  using home = await homeWith(one);
  assert.equal(home.run('verify').status, 0);
  for (const text of ['', '{', '{"version":2,"heads":{}}', '{"version":1,"heads":{"a":{}}}']) {
    writeFileSync(home.seenHeads, text);
    assert.equal(home.run('verify').status, 125, text);
    assert.equal(readFileSync(home.seenHeads, 'utf8'), text);
  }
});

test('a graph links commands by the files that they shared', async () => {
  using home = await homeWith(one, later);
  const { stdout, status } = home.run('graph', one.id);
  assert.equal(status, 0);
  assert.match(stdout, /^digraph provenance \{/);
  assert.match(stdout, /label="made a"/);
  assert.match(stdout, /rm a/);
  assert.equal(home.run('graph', execOf('none')).status, 125);
});

test('where nothing was recorded there is nothing, and no error', () => {
  using home = auditHome();
  assert.deepEqual(home.run('log'), { status: 0, stdout: '', stderr: '' });
  const { status, stderr } = home.run('verify');
  assert.equal(status, 0);
  assert.match(stderr, /nothing is recorded/);
});
