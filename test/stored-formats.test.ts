// Stores of an earlier version open as they are, and what is added to them has the same format.
// `test/fixtures/stored-formats.json` has the files that commit 05f2928 wrote by these functions.
import assert from 'node:assert/strict';
import { createPrivateKey, hash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { toAuditKey } from '../src/audit/audit-key.ts';
import { openAuditLog } from '../src/audit/open-log.ts';
import { verifyLogs } from '../src/audit/verify.ts';
import { encodeBech32 } from '../src/sealing/bech32.ts';
import type { RawLogRecord } from '../src/sealing/chunk.ts';
import { parseIdentities } from '../src/sealing/keys.ts';
import { RawLogWriter, type SealFailure } from '../src/sealing/raw-log-writer.ts';
import { listRawLogs } from '../src/sealing/retention.ts';
import { digestRawLog, revealRawLog } from '../src/sealing/reveal.ts';
import { SnapshotStore } from '../src/snapshot/store.ts';

const fixture = path.join(import.meta.dirname, 'fixtures/stored-formats.json');
type Files = { readonly [name: string]: string };

/** Base64 by name below `directory`; without what is random or of a running process. */
function filesBelow(directory: string): Files {
  const names = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile() && one.name !== 'reserve' && one.name !== 'lock')
    .map((one) => path.relative(directory, path.join(one.parentPath, one.name)))
    .toSorted();
  return Object.fromEntries(
    names.map((name) => [name, readFileSync(path.join(directory, name), 'base64')]),
  );
}

function writeFiles(directory: string, files: Files): void {
  for (const [name, base64] of Object.entries(files)) {
    const file = path.join(directory, name);
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, base64, { encoding: 'base64', mode: 0o600 });
  }
}

const digestsOf = (files: Files): Files =>
  Object.fromEntries(
    Object.entries(files).map(([name, base64]) => [
      name,
      hash('sha256', Buffer.from(base64, 'base64')),
    ]),
  );

const sizesOf = (files: Files): { [name: string]: number } =>
  Object.fromEntries(
    Object.entries(files).map(([name, base64]) => [name, Buffer.from(base64, 'base64').length]),
  );

async function withDirectory<T>(use: (directory: string) => Promise<T>): Promise<T> {
  const root = mkdtempSync(path.join(tmpdir(), 'trl-formats-'));
  try {
    return await use(root);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

// PKCS #8 of RFC 8410 with 32 bytes at its end.
const pkcs8 = Buffer.from(`302e020100300506032b657004220420${'05'.repeat(32)}`, 'hex');
const auditKey = toAuditKey(createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' }));

/** Three groups, over several segments. */
async function writeAudit(directory: string, first: number): Promise<void> {
  const clock = (): number => 1_700_000_000_000 + first;
  const log = await openAuditLog({ directory, key: auditKey, clock, segmentBytes: 2500 });
  for (let n = first; n < first + 9; n += 3) {
    const at = (one: number): number => 1_700_000_000_000 + one;
    await log.append(
      [n, n + 1, n + 2].map((one) => ({
        kind: 'exec.started',
        at: at(one),
        actor: 'agent:x',
        data: { n: one, text: 'é'.repeat(one) },
      })),
    );
  }
  await log.close();
}

const snapshotKey = Buffer.alloc(32, 9);
const bytesOf = (n: number): Buffer =>
  Buffer.concat(Array.from({ length: 25 }, (_, at) => hash('sha256', `${n} ${at}`, 'buffer')));

async function openSnapshots(directory: string): Promise<SnapshotStore> {
  const bounds = { storeBytesMax: 2 ** 26, fileBytesMax: 2 ** 22, keepMs: 86_400_000 };
  const now = (): number => 1_700_000_000_000;
  return await SnapshotStore.open(directory, {
    key: snapshotKey,
    log: () => {},
    ...bounds,
    now,
    segmentBytes: 2500,
  });
}

/** Contents and a record of them; each group is a batch. */
async function writeSnapshots(store: SnapshotStore, first: number): Promise<void> {
  for (let n = first; n < first + 9; n += 3) {
    const contents = [n, n + 1, n + 2].map((one) => store.put(bytesOf(one)));
    store.append('changes', `x-${n}`, { n }, { contents });
    await store.sync();
  }
  store.drop('changes', `x-${first}`);
  await store.sync();
}

const identity = encodeBech32('age-secret-key-', Buffer.alloc(32, 7)).toUpperCase();
const identities = parseIdentities(identity);

async function writeRaw(base: string): Promise<void> {
  const recipients = identities.map(({ recipient }) => recipient.text);
  const onFailure = ({ why }: SealFailure): void => assert.fail(why);
  const events = { onFailure, onRoom: () => {} };
  const writer = new RawLogWriter({ base, recipients, bytesMax: 2 ** 20 }, events);
  writer.append('stdout', bytesOf(1));
  writer.append('stderr', Buffer.from('err\n'));
  await writer.end();
}

async function recordsOf(base: string): Promise<RawLogRecord[]> {
  const records: RawLogRecord[] = [];
  for await (const record of revealRawLog(base, identities)) records.push(record);
  return records;
}

interface Fixture {
  /** The last segment ends with a torn write. */
  readonly audit: Files;
  /** SHA-256 (hex) by name, after {@link writeAudit} continued it. */
  readonly auditDigestsAfter: Files;
  /** No index of the last segment, which ends with a torn batch. */
  readonly snapshots: Files;
  /** After {@link writeSnapshots} continued it. */
  readonly snapshotSizesAfter: { readonly [name: string]: number };
  /** `x-1` is complete, `x-2` was cut. */
  readonly raw: Files;
}

const cut = (base64: string, bytes: number): string =>
  Buffer.from(base64, 'base64').subarray(0, -bytes).toString('base64');

async function makeFixture(): Promise<Fixture> {
  const audit = await withDirectory(async (directory) => {
    await writeAudit(directory, 0);
    const files = filesBelow(directory);
    const [last = ''] = Object.keys(files)
      .filter((name) => name.endsWith('.jsonl'))
      .slice(-1);
    const torn = Buffer.concat([
      Buffer.from(files[last] ?? '', 'base64'),
      Buffer.from('{"event":{"actor":null,"at":1,"da'),
    ]);
    return { ...files, [last]: torn.toString('base64') };
  });
  const auditDigestsAfter = await withDirectory(async (directory) => {
    writeFiles(directory, audit);
    await writeAudit(directory, 100);
    return digestsOf(filesBelow(directory));
  });
  const snapshots = await withDirectory(async (directory) => {
    const store = await openSnapshots(directory);
    await writeSnapshots(store, 0);
    store.put(bytesOf(1000));
    await store.sync();
    store.put(bytesOf(1001));
    await store.sync();
    const files = filesBelow(directory);
    await store.close();
    const [last = ''] = Object.keys(files)
      .filter((name) => name.endsWith('.segment'))
      .slice(-1);
    return { ...files, [last]: cut(files[last] ?? '', 10) };
  });
  const snapshotSizesAfter = await withDirectory(async (directory) => {
    writeFiles(directory, snapshots);
    const store = await openSnapshots(directory);
    await writeSnapshots(store, 100);
    await store.close();
    return sizesOf(filesBelow(directory));
  });
  const raw = await withDirectory(async (directory) => {
    await writeRaw(path.join(directory, 'x-1'));
    await writeRaw(path.join(directory, 'x-2'));
    const files = filesBelow(directory);
    return { ...files, 'x-2.log': cut(files['x-2.log'] ?? '', 3) };
  });
  return { audit, auditDigestsAfter, snapshots, snapshotSizesAfter, raw };
}

if (process.env['TRL_MAKE_FIXTURE'] !== undefined) {
  writeFileSync(
    process.env['TRL_MAKE_FIXTURE'],
    `${JSON.stringify(await makeFixture(), null, 1)}\n`,
  );
}

const { audit, auditDigestsAfter, snapshots, snapshotSizesAfter, raw }: Fixture = JSON.parse(
  readFileSync(fixture, 'utf8'),
);

test('an audit log of an earlier version is continued with the same bytes', async () => {
  await withDirectory(async (directory) => {
    writeFiles(directory, audit);
    await writeAudit(directory, 100);
    assert.deepEqual(digestsOf(filesBelow(directory)), auditDigestsAfter);
    const report = await verifyLogs({ directory, publicKey: auditKey.publicKey, headWaitMs: 0 });
    assert.deepEqual([report.isGood, report.logs[0]?.events], [true, 21]);
  });
});

test('snapshots of an earlier version open, without the batch that was cut', async () => {
  await withDirectory(async (directory) => {
    writeFiles(directory, snapshots);
    let store = await openSnapshots(directory);
    const { contents, records, damagedBytes, tornBytes } = store.stats();
    assert.deepEqual([contents, records, damagedBytes, tornBytes > 800], [10, 2, 0, true]);
    assert.equal(store.has(hash('sha256', bytesOf(1001))), false);
    await writeSnapshots(store, 100);
    await store.close();
    assert.deepEqual(sizesOf(filesBelow(directory)), snapshotSizesAfter);
    store = await openSnapshots(directory);
    for (const n of [3, 4, 5, 6, 7, 8, 1000, 103, 108]) {
      assert.deepEqual(await store.read(hash('sha256', bytesOf(n))), bytesOf(n));
    }
    assert.deepEqual(store.ids('changes'), ['x-3', 'x-6', 'x-103', 'x-106']);
    assert.deepEqual(store.get('changes', 'x-3'), { n: 3 });
    await store.close();
  });
});

test('raw logs of an earlier version can be read', async () => {
  await withDirectory(async (directory) => {
    writeFiles(directory, raw);
    const [complete, incomplete] = [path.join(directory, 'x-1'), path.join(directory, 'x-2')];
    const records = await recordsOf(complete);
    assert.deepEqual(
      records.map(({ stream, offset, bytes }) => [stream, offset, Buffer.from(bytes)]),
      [
        ['stdout', 0, bytesOf(1)],
        ['stderr', 0, Buffer.from('err\n')],
      ],
    );
    await assert.rejects(recordsOf(incomplete), {
      reason: 'truncated',
    });
    const logs = await listRawLogs(directory);
    assert.deepEqual(logs.map(({ exec }) => exec).toSorted(), ['x-1', 'x-2']);
    const again = path.join(directory, 'x-3');
    await writeRaw(again);
    assert.equal((await digestRawLog(again)).bytes, (await digestRawLog(complete)).bytes);
  });
});
