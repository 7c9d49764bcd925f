// Proofs and exports are checked without the log; events are read newest first or oldest first.
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { exportLogLines, verifyExport } from '../src/audit/export.ts';
import { openAuditKey } from '../src/audit/audit-key.ts';
import { openAuditLog } from '../src/audit/open-log.ts';
import { checkHeadsProof, checkEventProof, proveEvent, proveHeads } from '../src/audit/prove.ts';
import {
  findLogDirectory,
  readEventAt,
  readEvents,
  type EventFilter,
} from '../src/audit/read-events.ts';
import type { EventOrder } from '../src/audit/line-reader.ts';
import { auditEvent, logAt, sameKey, segmentFiles } from './support/audit-log.ts';
import { withAudit, writeLog } from './support/audit-log.ts';

test('each event has a proof that holds without the log, and for no other event', async () => {
  await withAudit(async (directory) => {
    const heads = await writeLog(directory, { segmentBytes: 2000 });
    const { publicKey } = openAuditKey(directory);
    const stranger = openAuditKey(`${directory}.stranger`).publicKey;
    const options = { directory: logAt(directory), publicKey };
    for (const hasNodes of [true, false]) {
      if (!hasNodes) rmSync(path.join(logAt(directory), 'nodes'));
      for (let seq = 0; seq < 20; seq += 1) {
        const proof = await proveEvent(options, seq);
        assert.ok(proof !== null);
        const wire: unknown = JSON.parse(JSON.stringify(proof));
        const report = checkEventProof(wire, publicKey);
        assert.deepEqual([report.isGood, report.head?.size], [true, 20]);
        assert.equal(report.event?.data['n'] ?? 'opened', seq === 0 ? 'opened' : seq - 1);
        assert.ok(checkEventProof(wire).isGood);
        assert.ok(!checkEventProof(wire, stranger).isGood);
        for (const bad of [
          { seq: seq + 1 },
          { event: proof.event.replace('agent:', 'user:').replace('null', '"x"') },
          { event: proof.event.replace('{', '{ ') },
          { proof: proof.proof.slice(1) },
          { proof: proof.proof.toReversed() },
          { checkpoint: heads[0] },
          { log: '0'.repeat(32) },
          { public_key: 'none' },
          { version: 2 },
        ]) {
          const key = 'public_key' in bad ? undefined : publicKey;
          assert.ok(!checkEventProof({ ...proof, ...bad }, key).isGood, JSON.stringify(bad));
        }
      }
    }
    assert.equal(await proveEvent(options, 20), null);
    assert.ok(!checkEventProof(null).isGood);
    assert.ok(!checkEventProof([]).isGood);
  });
});

test('the newest head goes on from each earlier one, and from no other', async () => {
  await withAudit(async (directory) => {
    const heads = await writeLog(directory);
    const [foreign = ''] = await writeLog(`${directory}.other`);
    const { publicKey } = openAuditKey(directory);
    const options = { directory: logAt(directory), publicKey };
    for (const head of heads) {
      const proof = await proveHeads(options, head);
      assert.ok(checkHeadsProof(proof, publicKey).isGood);
      assert.ok(!checkHeadsProof({ ...proof, older: foreign }).isGood);
      const [last] = heads.slice(-1);
      if (head !== last) assert.ok(!checkHeadsProof({ ...proof, older: proof?.newer }).isGood);
    }
    assert.equal(await proveHeads(options, foreign), null);
  });
});

test('an export is checked by itself, to the byte', async () => {
  await withAudit(async (directory) => {
    const heads = await writeLog(directory, { segmentBytes: 2500 });
    const { publicKey } = openAuditKey(directory);
    const file = `${directory}.jsonl`;
    const text = [...exportLogLines(logAt(directory), publicKey)].join('');
    const elsewhere = `${directory}.elsewhere`;
    sameKey(directory, elsewhere);
    await writeLog(elsewhere, { events: 7 });
    writeFileSync(file, text + [...exportLogLines(logAt(elsewhere), publicKey)].join(''));
    const two = await verifyExport({ file, publicKey, heads });
    assert.deepEqual(
      [two.isGood, ...two.logs.map(({ events }) => events)],
      [true, 20, 8],
      JSON.stringify(two),
    );
    writeFileSync(file, text + text);
    assert.ok(!(await verifyExport({ file, publicKey, heads })).isGood);
    const good = Buffer.from(text);
    for (let at = 0; at < good.length; at += 61) {
      const bad = Buffer.from(good);
      bad[at] = (good[at] ?? 0) ^ 1;
      writeFileSync(file, bad);
      assert.ok(!(await verifyExport({ file, publicKey })).isGood, `byte ${at}`);
    }
    const lines = text.split('\n').slice(0, -1);
    for (let at = 0; at < lines.length - 1; at += 1) {
      writeFileSync(file, `${lines.toSpliced(at, 1).join('\n')}\n`);
      assert.ok(!(await verifyExport({ file, publicKey })).isGood, `line ${at}`);
    }
    writeFileSync(file, `${lines.slice(0, -3).join('\n')}\n`);
    assert.ok(!(await verifyExport({ file, publicKey, heads })).isGood);
    for (const none of ['', '\n', '{}\n']) {
      writeFileSync(file, none);
      assert.ok(!(await verifyExport({ file, publicKey })).isGood);
    }
  });
});

test('events of several logs come in the order of their time, and as asked for', async () => {
  await withAudit(async (directory) => {
    const clock = (): number => 0;
    const [one, two] = [
      await openAuditLog({ directory, clock, segmentBytes: 3000 }),
      await openAuditLog({ directory, clock }),
    ];
    for (let n = 1; n <= 40; n += 1) {
      const kind = n % 2 === 0 ? 'exec.ended' : 'policy.loaded';
      const exec = { exec: `x-${n % 4}`, kind } as const;
      await (n % 3 === 0 ? two : one).append([{ ...auditEvent(n, `text ${n}`), ...exec }]);
    }
    const found = (filter: EventFilter, order: EventOrder = 'oldest'): unknown[] =>
      [...readEvents(directory, filter, order)].map(({ event }) => event.data['n'] ?? 'opened');
    const all = Array.from({ length: 40 }, (_, n) => n + 1);
    assert.deepEqual(found({}), ['opened', 'opened', ...all]);
    assert.deepEqual(found({}, 'newest'), [...all.toReversed(), 'opened', 'opened']);
    assert.deepEqual(
      found({ exec: 'x-1' }),
      all.filter((n) => n % 4 === 1),
    );
    assert.deepEqual(
      found({ kinds: ['exec.*'] }),
      all.filter((n) => n % 2 === 0),
    );
    assert.deepEqual(found({ kinds: ['policy.loaded'], since: 5, until: 9 }), [5, 7, 9]);
    assert.deepEqual(found({ texts: ['text 17'] }), [17]);
    assert.deepEqual(found({ actor: 'user:nobody' }), []);
    // What has no head was not answered for.
    writeFileSync(segmentFiles(directory).at(-1) ?? '', '{"event":{', { flag: 'a' });
    assert.equal(found({}).length, 42);
    const at = findLogDirectory(directory, one.id) ?? '';
    assert.equal(readEventAt(at, 3)?.event.data['n'], 4);
    assert.equal(readEventAt(at, 900), null);
    const [newest] = readEvents(directory);
    const text = readFileSync(segmentFiles(directory).at(-1) ?? '', 'utf8');
    assert.ok(text.includes(`${newest?.line}\n`));
    await Promise.all([one.close(), two.close()]);
  });
});
