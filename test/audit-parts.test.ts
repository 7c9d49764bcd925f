// Small parts of the log, each by itself.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { AuditFindings, auditFindingsMax } from '../src/audit/audit-findings.ts';
import { openAuditKey } from '../src/audit/audit-key.ts';
import { parseEventLine, parseHeadLine } from '../src/audit/line-format.ts';
import { HeadSignatures } from '../src/audit/line-verifier.ts';
import {
  buildConsistencyProof,
  buildInclusionProof,
  MerkleTree,
  leafHash,
} from '../src/audit/merkle.ts';
import { noteKeyHash, parseNote, signHeadNote } from '../src/audit/signed-note.ts';
import { verifyLog } from '../src/audit/verify.ts';
import { logAt, withAudit, writeLog } from './support/audit-log.ts';

test('a line is an event where all of one is in it', () => {
  const event = { actor: 'agent:x', at: 1, data: {}, kind: 'exec.started' };
  const stored = { event, prev: 'p', seq: 3 };
  assert.deepEqual(parseEventLine(JSON.stringify(stored)), stored);
  for (const other of [
    { ...stored, seq: '3' },
    { ...stored, prev: 3 },
    { event },
    { ...stored, event: { ...event, kind: 1 } },
    { ...stored, event: { ...event, at: '1' } },
    { ...stored, event: { ...event, data: null } },
    { ...stored, event: { ...event, data: 'x' } },
    { event: null, prev: 'p', seq: 3 },
    { event: 'x', prev: 'p', seq: 3 },
  ]) {
    assert.equal(parseEventLine(JSON.stringify(other)), null, JSON.stringify(other));
  }
  for (const line of ['', 'null', '{"head":"x"}', `${JSON.stringify(stored)}x`, ' {"event":{}}']) {
    assert.equal(parseEventLine(line), null, line);
  }
  assert.equal(parseHeadLine('{"head":"a\\n"}'), 'a\n');
  for (const line of ['', '{"head":1}', '{"head":"a"', '{"other":"a"}', JSON.stringify(stored)]) {
    assert.equal(parseHeadLine(line), null, line);
  }
});

test('there is a proof for what is in the tree, and for nothing else', async () => {
  const tree = new MerkleTree();
  const hashes = Array.from({ length: 7 }, (_, at) => tree.append(leafHash(`${at}`))).flat();
  const read = (index: number): Buffer => hashes[index] ?? assert.fail(`reads ${index}`);
  for (const [seq, size] of [
    [-1, 7],
    [7, 7],
    [0, 0],
    [NaN, 7],
  ] as const) {
    await assert.rejects(buildInclusionProof(seq, size, read), RangeError);
  }
  const lengths = await Promise.all(
    Array.from({ length: 7 }, async (_, seq) => (await buildInclusionProof(seq, 7, read)).length),
  );
  assert.deepEqual(lengths, [3, 3, 3, 3, 3, 3, 2]);
  assert.equal((await buildConsistencyProof(7, 7, read)).length, 0);
  await assert.rejects(buildConsistencyProof(8, 7, read), RangeError);
});

test('findings are in the order of the log, those of no place last, and bounded', () => {
  const findings = new AuditFindings();
  findings.add('file.foreign', {}, 'nowhere');
  findings.add('head.signature', { segment: 'b', offset: 1 }, 'b1');
  findings.add('head.signature', { segment: 'a', offset: 9 }, 'a9');
  findings.add('head.signature', { segment: 'b' }, 'b');
  findings.add('head.signature', { segment: 'a', offset: 2, seq: 4 }, 'a2');
  findings.add('file.foreign', {}, 'nowhere else');
  assert.deepEqual(
    findings.sorted().map(({ text }) => text),
    ['a2', 'a9', 'b', 'b1', 'nowhere', 'nowhere else'],
  );
  assert.deepEqual(findings.sorted()[0], {
    kind: 'head.signature',
    segment: 'a',
    offset: 2,
    seq: 4,
    text: 'a2',
  });
  for (let at = 0; at < auditFindingsMax; at += 1) findings.add('file.foreign', {}, `${at}`);
  assert.deepEqual(
    [findings.sorted().length, findings.count],
    [auditFindingsMax, auditFindingsMax + 6],
  );
});

test('a text is a head where all of one is in it, and nothing else', () => {
  const log = '0123456789abcdef'.repeat(2);
  const [root, blob] = [Buffer.alloc(32, 1), Buffer.alloc(68, 2)].map((one) =>
    one.toString('base64'),
  );
  const text = (origin: string, size: string, previous: string): string =>
    `trl.dev/audit/${origin}\n${size}\n${root}\n${previous}\n\n— name ${blob}\n`;
  const parsed = parseNote(text(log, '42', 'previous 40'));
  assert.deepEqual(parsed?.checkpoint, { log, size: 42, root: Buffer.alloc(32, 1), previous: 40 });
  for (const other of [
    text(`${log}0`, '42', 'previous 40'),
    text(`x${log}`, '42', 'previous 40'),
    text(log.slice(1), '42', 'previous 40'),
    text(log, '42x', 'previous 40'),
    text(log, '042', 'previous 40'),
    text(log, '-42', 'previous 40'),
    text(log, '', 'previous 40'),
    text(log, '1'.repeat(16), 'previous 40'),
    text(log, '42', 'previous 40x'),
    text(log, '42', 'previous 040'),
    text(log, '42', '40'),
    text(log, '42', 'previous 40\n'),
    `${text(log, '42', 'previous 40')}x`,
  ]) {
    assert.equal(parseNote(other), null, other);
  }
});

test('a bounded number of signatures is checked at once, and ended checks make room', async () => {
  await withAudit(async (directory) => {
    const { privateKey, publicKey, rawPublicKey } = openAuditKey(directory);
    const log = '0'.repeat(32);
    const checkpoint = { log, size: 1, root: Buffer.alloc(32), previous: 0 };
    const note = signHeadNote(checkpoint, privateKey, noteKeyHash(log, rawPublicKey));
    const parsed = parseNote(note) ?? assert.fail(note);
    const signatures = new HeadSignatures(publicKey);
    let added = 0;
    for (; !signatures.isFull && added < 200; added += 1) {
      signatures.add(parsed, { note, segment: '0', offset: added, size: added });
    }
    assert.ok(added < 200);
    await signatures.waitForRoom();
    assert.ok(!signatures.isFull);
    await signatures.waitForAll();
    assert.deepEqual([signatures.bad, signatures.newest?.size], [[], added - 1]);
  });
});

test('a log that ends with a head is not waited for', { timeout: 60_000 }, async () => {
  await withAudit(async (directory) => {
    await writeLog(directory);
    const { publicKey } = openAuditKey(directory);
    const patienceMs = 600_000;
    assert.ok(
      (await verifyLog({ directory: logAt(directory), publicKey, headWaitMs: patienceMs })).isGood,
    );
  });
});

test('a key is taken from a file of the size of one', async () => {
  await withAudit(async (directory) => {
    const { id } = openAuditKey(directory);
    const file = path.join(directory, 'key');
    const pem = readFileSync(file, 'utf8');
    writeFileSync(file, pem.padEnd(4_096, '\n'));
    assert.equal(openAuditKey(directory).id, id);
    writeFileSync(file, pem.padEnd(4_097, '\n'));
    assert.throws(() => openAuditKey(directory), { code: 'AUDIT_UNAVAILABLE' });
  });
});

test('a key file without a key in it is refused as AUDIT_UNAVAILABLE', async () => {
  await withAudit(async (directory) => {
    openAuditKey(directory);
    writeFileSync(path.join(directory, 'key'), 'not a key');
    assert.throws(() => openAuditKey(directory), { code: 'AUDIT_UNAVAILABLE' });
  });
});

test('a key that is made leaves no file open and no draft', async () => {
  await withAudit(async (directory) => {
    const open = readdirSync('/proc/self/fd').length;
    const { id } = openAuditKey(directory);
    assert.equal(openAuditKey(directory).id, id);
    assert.equal(readdirSync('/proc/self/fd').length, open);
    assert.deepEqual(readdirSync(directory).toSorted(), ['key', 'key.pub']);
  });
});
