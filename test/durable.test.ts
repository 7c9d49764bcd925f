// What must be on the disk before the next step is taken: else a power cut between the two loses
// what somebody was told of. The cuts themselves are in audit-power and workspace-power.
import assert from 'node:assert/strict';
import { appendFileSync, constants, lstatSync, mkdtempSync, openSync } from 'node:fs';
import { closeSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { openAuditLog } from '../src/audit/open-log.ts';
import { AtomicRenames } from '../src/workspace/commit/atomic-renames.ts';
import { statKey } from '../src/workspace/stat.ts';
import { auditEvent, segmentFiles, withAudit, writeLog } from './support/audit-log.ts';
import { watchDisk } from './support/syncs.ts';

/** The calls up to the one that matches, and it. */
const until = (calls: readonly string[], last: RegExp): readonly string[] =>
  calls.slice(0, calls.findIndex((call) => last.test(call)) + 1);

test('a torn end of the log is kept on the disk before it is cut off', async () => {
  await withAudit(async (directory) => {
    await writeLog(directory, { events: 2 });
    const [segment = ''] = segmentFiles(directory);
    appendFileSync(segment, '{"ev');
    using disk = watchDisk();
    const open = readdirSync('/proc/self/fd').length;
    const log = await openAuditLog({ directory });
    await log.close();
    assert.equal(readdirSync('/proc/self/fd').length, open, 'no file is left open');
    const name = path.basename(segment);
    const calls = disk.calls.filter((call) => /torn|\.new| 0$|jsonl/.test(call));
    const [copied = ''] = calls;
    assert.match(copied, /^sync 0000000000000003-[0-9a-f]{64}\.new$/);
    const rest = ['sync torn', 'sync 0', `truncate ${name}`, `sync ${name}`];
    assert.deepEqual(calls.slice(0, 5), [copied, ...rest]);
  });
});

test('a segment of which nothing was answered for is kept before it goes', async () => {
  await withAudit(async (directory) => {
    await writeLog(directory, { events: 2 });
    const [segment = ''] = segmentFiles(directory);
    const next = path.join(path.dirname(segment), '0000000000000003.jsonl');
    writeFileSync(next, '{"ev');
    using disk = watchDisk();
    const log = await openAuditLog({ directory });
    await log.close();
    const calls = disk.calls.filter((call) => /torn|\.new|\.jsonl| 0$/.test(call));
    const [copied = ''] = calls;
    assert.match(copied, /^sync 0000000000000003-[0-9a-f]{64}\.new$/);
    const rest = ['sync torn', 'sync 0', `remove ${path.basename(next)}`, 'sync 0'];
    assert.deepEqual(calls.slice(0, 5), [copied, ...rest]);
  });
});

test('the log goes on behind a failed write only when its end is on the disk', async () => {
  await withAudit(async (directory) => {
    const log = await openAuditLog({ directory });
    await log.append([auditEvent(0)]);
    const [segment = ''] = segmentFiles(directory);
    const written = readFileSync(segment);
    appendFileSync(segment, 'half of a wri');
    await assert.rejects(log.append([auditEvent(1)]));
    using disk = watchDisk();
    await log.append([auditEvent(2)]);
    await log.close();
    const name = path.basename(segment);
    assert.deepEqual(until(disk.calls, /^sync .*jsonl$/), [`truncate ${name}`, `sync ${name}`]);
    const after = readFileSync(segment);
    assert.deepEqual(after.subarray(0, written.length), written);
    assert.doesNotMatch(after.toString(), /half of a wri/);
  });
});

test('room is kept for the ends of commands, on the disk before it has its name', async () => {
  await withAudit(async (directory) => {
    using disk = watchDisk();
    const log = await openAuditLog({ directory });
    await log.append([auditEvent(0)]);
    await log.close();
    const reserve = disk.calls.filter((call) => /reserve/.test(call));
    assert.deepEqual(reserve.slice(-2), ['sync reserve.new', 'rename reserve.new']);
  });
});

test('without the program that exchanges, a file is on the disk before it replaces', async () => {
  const base = mkdtempSync(path.join(tmpdir(), 'trl-durable-'));
  const arch = Object.getOwnPropertyDescriptor(process, 'arch');
  assert.ok(arch !== undefined);
  try {
    writeFileSync(path.join(base, 'a'), 'old');
    writeFileSync(path.join(base, 'a.new'), 'new');
    // One whose system calls the program does not know.
    Object.defineProperty(process, 'arch', { ...arch, value: 'riscv64' });
    using renames = new AtomicRenames();
    const key = statKey(lstatSync(path.join(base, 'a'), { bigint: true }));
    const directory = openSync(base, constants.O_RDONLY);
    using disk = watchDisk();
    const names = { name: 'a', temporary: 'a.new', kept: 'a.kept', key };
    const done = await renames.run([{ kind: 'exchange', directory, staging: null, ...names }]);
    closeSync(directory);
    assert.deepEqual([done, disk.calls], [['done'], ['sync a.new', 'rename a.new']]);
    assert.equal(readFileSync(path.join(base, 'a'), 'utf8'), 'new');
  } finally {
    Object.defineProperty(process, 'arch', arch);
    rmSync(base, { recursive: true, force: true });
  }
});
