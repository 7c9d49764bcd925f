// What a check says of a log that somebody changed, what a runtime does that goes on with it, and
// what is read of it: for each change a line, as it was before.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { AuditEvent } from '../src/audit/event.ts';
import { exportLogLines, verifyExport } from '../src/audit/export.ts';
import { openAuditKey } from '../src/audit/audit-key.ts';
import { openAuditLog } from '../src/audit/open-log.ts';
import { readEventAt, readEvents, type EventFilter } from '../src/audit/read-events.ts';
import { verifyLogs, type LogsReport } from '../src/audit/verify.ts';
import { auditEvent, logAt, segmentFiles } from './support/audit-log.ts';
import { assertRecorded } from './support/recorded.ts';

const clock = (): number => 1_700_000_000_000;

/** Whoever made it, whatever it was signed with. */
const plain = (text: string): string =>
  text
    .replaceAll(/[0-9a-f]{64}/g, 'HASH')
    .replaceAll(/[0-9a-f]{32}/g, 'LOG')
    .replaceAll(/\/[^"\s]*trl-recorded-[^/"]+/g, 'TMP');

/** Ends with the test that made it. */
class Audits implements Disposable {
  readonly #base = mkdtempSync(path.join(tmpdir(), 'trl-recorded-'));
  #count = 0;

  next(): string {
    this.#count += 1;
    return path.join(this.#base, String(this.#count), 'audit');
  }
  copy(from: string): string {
    const to = this.next();
    cpSync(from, to, { recursive: true, preserveTimestamps: true });
    return to;
  }
  [Symbol.dispose](): void {
    rmSync(this.#base, { recursive: true, force: true });
  }
}

/** A log of several segments, which ends in the middle of one. */
async function write(directory: string, events = 8): Promise<string[]> {
  const log = await openAuditLog({ directory, segmentBytes: 1_600, clock });
  const heads: string[] = [];
  for (let n = 0; n < events; n += 2) {
    const second: AuditEvent = { ...auditEvent(n + 1), session: 's-1', exec: `x-${n}` };
    await log.append([auditEvent(n), second]);
    heads.push(log.head() ?? '');
  }
  await log.close();
  return heads;
}

type Lines = readonly string[];

/** Changes of the lines of a segment at `at`. */
const changes: Readonly<Record<string, (lines: Lines, at: number) => Lines>> = {
  'taken out': (lines, at) => lines.toSpliced(at, 1),
  'written twice': (lines, at) => lines.toSpliced(at, 0, lines[at] ?? ''),
  'swapped with the next': (lines, at) =>
    lines.toSpliced(at, 2, lines[at + 1] ?? '', lines[at] ?? ''),
  'cut in its middle': (lines, at) => [...lines.slice(0, at), (lines[at] ?? '').slice(0, 40)],
  'the last': (lines, at) => [...lines.slice(0, at + 1), ''],
  empty: (lines, at) => lines.toSpliced(at, 1, ''),
  'one letter other': (lines, at) =>
    lines.toSpliced(at, 1, (lines[at] ?? '').replace('"n":', '"m":')),
  'a number higher': (lines, at) =>
    lines.toSpliced(
      at,
      1,
      (lines[at] ?? '').replace(/"seq":(\d+)/, (_, n) => `"seq":${+n + 1}`),
    ),
  'of nothing before': (lines, at) =>
    lines.toSpliced(at, 1, (lines[at] ?? '').replace(/"prev":"\w+"/, `"prev":"${'0'.repeat(64)}"`)),
  'another head': (lines, at) =>
    lines.toSpliced(at, 1, (lines[at] ?? '').replace('\\n8\\n', '\\n7\\n')),
  'with a blank': (lines, at) => lines.toSpliced(at, 1, `${lines[at] ?? ''} `),
};

interface Attack {
  readonly name: string;
  readonly isAtEnd: boolean;
  readonly on: (directory: string) => void;
}

function lineAttacks(directory: string): Attack[] {
  const files = segmentFiles(directory);
  return files.flatMap((file, segment) => {
    const count = readFileSync(file, 'utf8').split('\n').length - 1;
    return Array.from({ length: count }, (_, at) => at).flatMap((at) =>
      Object.entries(changes).map(([how, change]): Attack => ({
        name: `segment ${segment} line ${at} ${how}`,
        isAtEnd: segment === files.length - 1,
        on: (target) => {
          const own = segmentFiles(target)[segment] ?? '';
          writeFileSync(own, change(readFileSync(own, 'utf8').split('\n'), at).join('\n'));
        },
      })),
    );
  });
}

const below = (directory: string, name: string): string => path.join(logAt(directory), name);

function fileAttacks(directory: string): Attack[] {
  const file = (name: string, on: (directory: string) => void): Attack => ({
    name,
    isAtEnd: true,
    on,
  });
  const nodes = readFileSync(below(directory, 'nodes'));
  const segments = segmentFiles(directory).map((one) => path.basename(one));
  return [
    file('nothing', () => {}),
    file('no nodes', (at) => rmSync(below(at, 'nodes'))),
    file('nodes cut', (at) => writeFileSync(below(at, 'nodes'), nodes.subarray(0, 40))),
    file('nodes of zeros', (at) => writeFileSync(below(at, 'nodes'), Buffer.alloc(nodes.length))),
    file('nodes and more', (at) => writeFileSync(below(at, 'nodes'), [nodes, nodes].join(''))),
    ...[0, 33, 64, 97, 130, 200, nodes.length - 1].map((byte) =>
      file(`nodes with another byte ${byte}`, (at) => {
        const changed = Buffer.from(nodes);
        changed[byte] = (changed[byte] ?? 0) ^ 1;
        writeFileSync(below(at, 'nodes'), changed);
      }),
    ),
    file('a file of somebody', (at) => writeFileSync(below(at, 'notes.txt'), 'x')),
    file('a segment of nothing', (at) => writeFileSync(below(at, '0000000000000099.jsonl'), '')),
    file('an unfinished segment', (at) =>
      writeFileSync(below(at, '0000000000000009.jsonl'), '{"he'),
    ),
    file('one unfinished write', (at) => {
      const last = below(at, segments.at(-1) ?? '');
      writeFileSync(last, '{"event":{"actor"', { flag: 'a' });
    }),
    file('many unfinished writes', (at) => {
      const last = below(at, segments.at(-1) ?? '');
      writeFileSync(last, `${'x'.repeat(100)}\n`.repeat(200_000), { flag: 'a' });
    }),
    ...segments.flatMap((name, number) => [
      file(`no segment ${number}`, (at) => rmSync(below(at, name))),
      file(`segment ${number} under another name`, (at) => {
        renameSync(below(at, name), below(at, name.replace(/\d\./, '7.')));
      }),
      file(`segment ${number} of nothing`, (at) => writeFileSync(below(at, name), '')),
    ]),
  ];
}

const told = ({ isGood, logs, findings }: LogsReport): string =>
  plain(
    JSON.stringify([
      isGood,
      logs.map((one) => [one.events, one.heads, one.repaired.length, one.findingCount]),
      [...logs.flatMap((one) => one.findings), ...findings].map((one) =>
        Object.values(one).filter(
          (value) => typeof value !== 'string' || !value.includes('trl-recorded-'),
        ),
      ),
    ]),
  );

async function check(directory: string, publicKeyOf: string, heads: Lines = []): Promise<string> {
  const { publicKey } = openAuditKey(publicKeyOf);
  try {
    return told(await verifyLogs({ directory, publicKey, heads, headWaitMs: 0 }));
  } catch (error) {
    return plain(String(error));
  }
}

test('every change of a log is found, and named as before', async () => {
  using audits = new Audits();
  const original = audits.next();
  const heads = await write(original);
  const lines: string[] = [];
  for (const { name, on } of [...fileAttacks(original), ...lineAttacks(original)]) {
    const directory = audits.copy(original);
    on(directory);
    lines.push(`${name}\t${await check(directory, original, [heads[1] ?? ''])}`);
  }
  const other = audits.next();
  const [foreign = ''] = await write(other, 2);
  lines.push(`another key\t${await check(original, other)}`);
  lines.push(`a head of another log\t${await check(original, original, [foreign])}`);
  lines.push(`a head that is none\t${await check(original, original, ['head'])}`);
  lines.push(`every head\t${await check(original, original, heads)}`);
  assertRecorded('audit/checked.tsv', lines);
});

test('a runtime goes on with what it can, and tells of what it cannot', async () => {
  using audits = new Audits();
  const original = audits.next();
  await write(original);
  const lines: string[] = [];
  const attacks = [...fileAttacks(original), ...lineAttacks(original)];
  for (const { name, on } of attacks.filter(({ isAtEnd }) => isAtEnd)) {
    const directory = audits.copy(original);
    on(directory);
    let what: string;
    try {
      const log = await openAuditLog({ directory, segmentBytes: 1_600, clock });
      await log.append([auditEvent(100)]);
      await log.close();
      what = [...readEvents(directory, {}, 'oldest')]
        .slice(-4)
        .map(({ seq, event: { kind, data } }) => plain(JSON.stringify([seq, kind, data])))
        .join(' ');
    } catch (error) {
      what = plain(String(error));
    }
    lines.push(`${name}\t${what}\t${await check(directory, original)}`);
  }
  assertRecorded('audit/continued.tsv', lines);
});

const filters: readonly EventFilter[] = [
  {},
  { kinds: ['exec.started'] },
  { kinds: ['exec.*'] },
  { kinds: ['log.*', 'exec.ended'] },
  { kinds: ['log.opened', 'exec.started'], session: 's-1' },
  { kinds: [] },
  { session: 's-1' },
  { session: 's-2' },
  { exec: 'x-4' },
  { exec: 'x' },
  { actor: 'agent:x' },
  { actor: 'agent:y' },
  { since: 3 },
  { until: 3 },
  { since: 2, until: 5 },
  { since: 5, until: 2 },
  { texts: ['"n":3'] },
  { texts: ['"n":3', '"n":5'] },
  { texts: [] },
  { texts: ['none'] },
  { session: 's-1', exec: 'x-2', actor: 'agent:x', since: 3, until: 3, kinds: ['exec.*'] },
];

test('what is asked of the logs is answered as before, in both orders', async () => {
  using audits = new Audits();
  const directory = audits.next();
  await write(directory);
  const first = await openAuditLog({ directory, clock });
  // Taken: the next one opens a second log.
  const second = await openAuditLog({ directory, clock });
  // What is asked about is in its data alone.
  const data = { session: 's-1', exec: 'x-4', actor: 'agent:y', kind: 'exec.ended', at: 3 };
  const misleading: AuditEvent = { ...auditEvent(60), data };
  await second.append([auditEvent(3, 'second'), auditEvent(50), misleading]);
  await first.close();
  await second.close();
  const lines = filters.flatMap((filter) =>
    (['newest', 'oldest'] as const).map((order) => {
      const found = [...readEvents(directory, filter, order)].map(
        ({ seq, event }) => `${seq}:${event.kind}@${event.at}`,
      );
      return `${JSON.stringify(filter)}\t${order}\t${found.join(' ')}`;
    }),
  );
  for (let seq = -1; seq < 12; seq += 1) {
    const found = readEventAt(logAt(directory), seq);
    lines.push(`event ${seq}\t${found === null ? 'none' : plain(found.line)}`);
  }
  assertRecorded('audit/read.tsv', lines);
});

test('every change of an export is found, and named as before', async () => {
  using audits = new Audits();
  const directory = audits.next();
  const heads = await write(directory);
  const { publicKey } = openAuditKey(directory);
  const good = [...exportLogLines(logAt(directory), publicKey)];
  assert.equal(good.filter((line) => line.startsWith('{"head"')).length, heads.length + 1);
  const file = path.join(path.dirname(directory), 'export');
  assert.deepEqual([...exportLogLines(path.dirname(directory), publicKey)], []);
  const lines: string[] = [];
  const checked = async (name: string, text: Lines): Promise<void> => {
    writeFileSync(file, text.join(''));
    for (const key of [publicKey, undefined]) {
      let what: string;
      try {
        what = told(await verifyExport({ file, publicKey: key, heads: heads.slice(0, 1) }));
      } catch (error) {
        what = plain(String(error));
      }
      lines.push(`${name} ${key === undefined ? 'by its own key' : ''}\t${what}`);
    }
  };
  await checked('whole', good);
  await checked('nothing', []);
  await checked('twice', [...good, ...good]);
  for (const at of good.keys()) {
    await checked(`without line ${at}`, good.toSpliced(at, 1));
    await checked(`up to line ${at}`, good.slice(0, at));
  }
  await checked('of a later version', [
    good[0]?.replace('"version":1', '"version":2') ?? '',
    ...good.slice(1),
  ]);
  await checked('of another log', [
    good[0]?.replace(/[0-9a-f]{32}/, '0'.repeat(32)) ?? '',
    ...good.slice(1),
  ]);
  assertRecorded('audit/exported.tsv', lines);
});
