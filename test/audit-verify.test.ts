// Each attack is done to the files of a log by one who has no key.
import assert from 'node:assert/strict';
import type { KeyObject } from 'node:crypto';
import { copyFileSync, cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { closeSync, mkdirSync, openSync, readdirSync, truncateSync, writeSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { setImmediate, setTimeout as wait } from 'node:timers/promises';
import { openAuditKey } from '../src/audit/audit-key.ts';
import { serializeHeadLine } from '../src/audit/line-format.ts';
import { openAuditLog } from '../src/audit/open-log.ts';
import type { LogReport } from '../src/audit/log-check.ts';
import { verifyLog, verifyLogs } from '../src/audit/verify.ts';
import {
  auditEvent,
  logAt,
  sameKey,
  segmentFiles,
  withAudit,
  writeLog,
} from './support/audit-log.ts';

const publicKeys = new Map<string, KeyObject>();

async function check(directory: string, heads: readonly string[] = []): Promise<LogReport> {
  const publicKey = publicKeys.get(directory) ?? openAuditKey(directory).publicKey;
  publicKeys.set(directory, publicKey);
  return await verifyLog({ directory: logAt(directory), publicKey, heads, headWaitMs: 0 });
}

const kindsOf = ({ findings }: LogReport): string[] => findings.map(({ kind }) => kind);

test('a log as it was written has no finding, against each of its heads', async () => {
  await withAudit(async (directory) => {
    const heads = await writeLog(directory, { events: 60, segmentBytes: 2500 });
    heads.push(...(await writeLog(directory)));
    const { isGood, findings, events, log, head } = await check(directory, heads);
    assert.deepEqual({ isGood, findings, events }, { isGood: true, findings: [], events: 81 });
    assert.equal(head, heads.at(-1));
    assert.match(log ?? '', /^[0-9a-f]{32}$/);
    assert.ok(segmentFiles(directory).length > 3);
  });
});

test('every byte of a log counts: each change of one is found', async () => {
  await withAudit(async (directory) => {
    // Each check takes its time with the events and the signatures that there are.
    const isFull = process.env['TRL_PROVE'] === 'full';
    await writeLog(directory, isFull ? { segmentBytes: 4000 } : { events: 5, group: 5 });
    for (const file of segmentFiles(directory)) {
      const good = readFileSync(file);
      const fd = openSync(file, 'r+');
      try {
        for (const [at, old] of good.entries()) {
          // One bit, another letter, a blank, a newline: by turns.
          const bad = [old ^ (1 << (at % 8)), old ^ 0x20, 0x20, 0x0a][at % 4] ?? 0;
          writeSync(fd, Buffer.from([bad === old ? old ^ 1 : bad]), 0, 1, at);
          assert.ok(!(await check(directory)).isGood, `byte ${at} of ${path.basename(file)}`);
          writeSync(fd, Buffer.from([old]), 0, 1, at);
        }
      } finally {
        closeSync(fd);
      }
    }
    assert.ok((await check(directory)).isGood);
  });
});

/** What one can do to lines without a key. */
const attacks: readonly {
  readonly name: string;
  readonly change: (lines: readonly string[], at: number) => readonly string[];
}[] = [
  { name: 'taken out', change: (lines, at) => lines.toSpliced(at, 1) },
  { name: 'written twice', change: (lines, at) => lines.toSpliced(at, 0, lines[at] ?? '') },
  {
    name: 'swapped with the next',
    change: (lines, at) => lines.toSpliced(at, 2, lines[at + 1] ?? '', lines[at] ?? ''),
  },
  {
    name: 'moved to the end',
    change: (lines, at) => [...lines.toSpliced(at, 1), lines[at] ?? ''],
  },
  { name: 'followed by an empty line', change: (lines, at) => lines.toSpliced(at + 1, 0, '') },
  {
    name: 'joined with the next',
    change: (lines, at) => lines.toSpliced(at, 2, `${lines[at]}${lines[at + 1]}`),
  },
  {
    name: 'written with a blank',
    change: (lines, at) => lines.toSpliced(at, 1, (lines[at] ?? '').replace(':', ': ')),
  },
  {
    name: 'given a key twice',
    change: (lines, at) => lines.toSpliced(at, 1, (lines[at] ?? '').replace('{', '{"seq":0,')),
  },
  {
    name: 'ended by a carriage return',
    change: (lines, at) => lines.toSpliced(at, 1, `${lines[at]}\r`),
  },
  {
    name: 'followed by an event of another',
    change: (lines, at) => lines.toSpliced(at + 1, 0, (lines[1] ?? '').replace('agent:', 'user:')),
  },
];

test('no line can be taken out, added, moved or written in another way', async () => {
  await withAudit(async (directory) => {
    await writeLog(directory, { events: 9 });
    const [file = ''] = segmentFiles(directory);
    const good = readFileSync(file, 'utf8');
    const lines = good.split('\n').slice(0, -1);
    for (const { name, change } of attacks) {
      for (let at = 0; at < lines.length - 1; at += 1) {
        const changed = `${change(lines, at).join('\n')}\n`;
        if (changed === good) continue;
        writeFileSync(file, changed);
        assert.ok(!(await check(directory)).isGood, `line ${at} ${name}`);
      }
    }
  });
});

test('a finding says where: event, segment, byte', async () => {
  await withAudit(async (directory) => {
    await writeLog(directory);
    const [file = ''] = segmentFiles(directory);
    const good = readFileSync(file, 'utf8');
    const segment = path.basename(file);
    writeFileSync(file, good.replace('"n":8}', '"n":9}'));
    const { findings } = await check(directory);
    const next = Buffer.from(good).indexOf('{"event":{"actor":"agent:x","at":9,');
    const told = findings.map(({ kind, offset, seq, text }) => ({ kind, offset, seq, text }));
    assert.deepEqual(told, [
      {
        kind: 'head.mismatch',
        offset: Buffer.from(good).lastIndexOf('{"head"', next),
        seq: 10,
        text: 'It does not cover the 10 events that are here.',
      },
      {
        kind: 'event.changed',
        offset: next,
        seq: 10,
        text: 'Event 9 is not what it was when event 10 was written after it.',
      },
    ]);
    assert.deepEqual(new Set(findings.map((one) => one.segment)), new Set([segment]));
    // The last event of a log has no event after it: its head tells.
    writeFileSync(file, good.replace('"n":18}', '"n":19}'));
    assert.deepEqual(kindsOf(await check(directory)), ['head.mismatch']);
  });
});

test('what is cut off the end is found by any head that was kept elsewhere', async () => {
  await withAudit(async (directory) => {
    const heads = await writeLog(directory, { segmentBytes: 3000 });
    const { publicKey } = openAuditKey(directory);
    const options = { directory, publicKey, headWaitMs: 0 };
    let unseen = 0;
    for (const file of segmentFiles(directory).toReversed()) {
      const good = readFileSync(file);
      const ends = new Set([...good.entries()].map(([at, byte]) => (byte === 10 ? at + 1 : 0)));
      for (let length = good.length - 1; length >= 0; length -= 1) {
        // Inside of a line each byte is as good as another.
        if (!ends.has(length) && length % 61 > 0) continue;
        truncateSync(file, length);
        if ((await verifyLogs(options)).isGood) unseen += 1;
        const kept = await verifyLogs({ ...options, heads: [heads.at(-1) ?? ''] });
        assert.ok(!kept.isGood, `cut to ${length} bytes`);
      }
      rmSync(file);
      assert.ok(!(await verifyLogs({ ...options, heads })).isGood);
    }
    // Without a head from elsewhere this attack works: the log of a week ago is a good log, too.
    assert.ok(unseen > 0);
  });
});

test('a log that goes another way after a head is found by that head', async () => {
  await withAudit(async (directory) => {
    await writeLog(directory);
    const copy = `${directory}.copy`;
    cpSync(directory, copy, { recursive: true });
    const [kept = ''] = await writeLog(directory, { events: 1 });
    const log = await openAuditLog({ directory: copy });
    await log.append([auditEvent(1), auditEvent(2)]);
    await log.close();
    const { publicKey } = openAuditKey(directory);
    const options = { directory: logAt(copy), publicKey, heads: [kept] };
    assert.deepEqual(kindsOf(await verifyLog(options)), ['log.forked']);
  });
});

test('a head that is old, by another key or of another log is found at the end', async () => {
  await withAudit(async (directory) => {
    const other = `${directory}.other`;
    sameKey(directory, other);
    const heads = [
      ...(await writeLog(directory)),
      ...(await writeLog(other)),
      ...(await writeLog(`${directory}.stranger`)),
    ];
    const [file = ''] = segmentFiles(directory);
    const good = readFileSync(file, 'utf8');
    const lines = good.split('\n').slice(0, -2);
    for (const head of heads.filter((one) => !good.endsWith(`${serializeHeadLine(one)}\n`))) {
      writeFileSync(file, `${[...lines, serializeHeadLine(head)].join('\n')}\n`);
      assert.ok(!(await check(directory)).isGood);
      writeFileSync(file, `${good}${serializeHeadLine(head)}\n`);
      assert.ok(!(await check(directory)).isGood);
    }
    const { publicKey } = openAuditKey(`${directory}.stranger`);
    writeFileSync(file, good);
    const report = await verifyLog({ directory: logAt(directory), publicKey });
    assert.deepEqual([...new Set(kindsOf(report))], ['head.signature']);
    assert.equal(report.head, null);
  });
});

test("segments that are swapped, lacking, another log's or nobody's are found", async () => {
  const swaps: ((files: readonly string[], others: readonly string[]) => void)[] = [
    ([, a = '', b = '']) => {
      renameSync(a, `${a}.x`);
      renameSync(b, a);
      renameSync(`${a}.x`, b);
    },
    ([, a = '']) => rmSync(a),
    ([a = '']) => rmSync(a),
    ([, a = '', b = '']) => copyFileSync(a, b),
    ([, a = ''], [, b = '']) => copyFileSync(b, a),
    ([a = '']) => writeFileSync(`${a}.bak`, ''),
    ([a = '']) => writeFileSync(path.join(path.dirname(a), `${'9'.repeat(16)}.jsonl`), ''),
    ([, a = '']) => writeFileSync(a, ''),
    ([, a = '']) => writeFileSync(a, '\n'),
  ];
  await withAudit(async (directory) => {
    const other = `${directory}.other`;
    sameKey(directory, other);
    await writeLog(directory, { segmentBytes: 1500 });
    await writeLog(other, { segmentBytes: 1500 });
    cpSync(directory, `${directory}.good`, { recursive: true });
    for (const [at, swap] of swaps.entries()) {
      swap(segmentFiles(directory), segmentFiles(other));
      assert.ok(!(await check(directory)).isGood, `swap ${at}`);
      rmSync(directory, { recursive: true });
      cpSync(`${directory}.good`, directory, { recursive: true });
      assert.ok((await check(directory)).isGood);
    }
  });
});

test('a log that was deleted, and another key, are found by heads that were kept', async () => {
  await withAudit(async (directory) => {
    const heads = await writeLog(directory);
    const { publicKey } = openAuditKey(directory);
    const options = { directory, publicKey, heads };
    assert.ok((await verifyLogs(options)).isGood);
    rmSync(logAt(directory), { recursive: true });
    mkdirSync(path.join(directory, 'logs', '7'));
    const gone = await verifyLogs(options);
    assert.deepEqual(new Set(gone.findings.map(({ kind }) => kind)), new Set(['log.missing']));
    assert.deepEqual(gone.logs.map(kindsOf), [['log.empty']]);
    rmSync(directory, { recursive: true });
    await writeLog(directory);
    const forged = await verifyLogs({ ...options, publicKey: openAuditKey(directory).publicKey });
    assert.deepEqual(new Set(forged.findings.map(({ kind }) => kind)), new Set(['key.changed']));
  });
});

test('a log that is there twice is found; one that nothing was written to is none', async () => {
  await withAudit(async (directory) => {
    await writeLog(directory);
    const options = { directory, publicKey: openAuditKey(directory).publicKey };
    cpSync(logAt(directory), logAt(directory, 1), { recursive: true });
    // Both go on, each in its own way, under one id and one key.
    await writeLog(directory, { events: 1 });
    const twice = await verifyLogs(options);
    assert.deepEqual(twice.logs.map(kindsOf), [[], []]);
    assert.deepEqual(
      twice.findings.map(({ kind }) => kind),
      ['log.forked'],
    );
    rmSync(logAt(directory, 1), { recursive: true });
    mkdirSync(logAt(directory, 1));
    for (const name of ['lock', 'nodes']) writeFileSync(path.join(logAt(directory, 1), name), '');
    assert.ok((await verifyLogs(options)).isGood);
    writeFileSync(path.join(logAt(directory, 1), 'nodes'), Buffer.alloc(32));
    assert.ok(!(await verifyLogs(options)).isGood);
  });
});

test('an end that was set aside is told, and must be what was set aside', async () => {
  await withAudit(async (directory) => {
    await writeLog(directory);
    writeFileSync(segmentFiles(directory)[0] ?? '', 'half an ev', { flag: 'a' });
    assert.deepEqual(kindsOf(await check(directory)), ['end.unfinished']);
    await writeLog(directory, { events: 1 });
    const report = await check(directory);
    assert.deepEqual([report.isGood, report.repaired.length], [true, 1]);
    const folder = path.join(logAt(directory), 'torn');
    const file = path.join(folder, readdirSync(folder)[0] ?? '');
    writeFileSync(file, 'something else');
    assert.deepEqual(kindsOf(await check(directory)), ['torn.changed']);
    rmSync(file);
    assert.deepEqual(kindsOf(await check(directory)), ['torn.missing']);
  });
});

test('a check waits for the first line of a segment that is just begun', async () => {
  await withAudit(async (directory) => {
    await writeLog(directory, { events: 20, segmentBytes: 2_000 });
    const last = segmentFiles(directory).at(-1) ?? '';
    const lines = readFileSync(last);
    truncateSync(last);
    const { publicKey } = openAuditKey(directory);
    const checking = verifyLog({ directory: logAt(directory), publicKey });
    await wait(30);
    writeFileSync(last, lines);
    assert.deepEqual(kindsOf(await checking), []);
    truncateSync(last);
    assert.deepEqual(kindsOf(await check(directory)), ['end.unfinished']);
  });
});

test('a log that is written while it is checked is good', async () => {
  await withAudit(async (directory) => {
    const log = await openAuditLog({ directory, segmentBytes: 10_000 });
    await log.append([auditEvent(0)]);
    const writer = new AbortController();
    const writing = (async () => {
      for (let n = 1; n < 100; n += 1) await log.append([auditEvent(n, 'x'.repeat(n))]);
      writer.abort();
    })();
    const { publicKey } = openAuditKey(directory);
    while (!writer.signal.aborted) {
      const { findings } = await verifyLog({ directory: logAt(directory), publicKey });
      assert.deepEqual(findings, []);
      // A check of a small log waits for nothing.
      await setImmediate();
    }
    await writing;
    await log.close();
  });
});
