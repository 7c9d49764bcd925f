// What must be on the disk before the next step is taken: else a power cut between the two loses
// what somebody was told of. The cuts themselves are in audit-power and workspace-power.
import assert from 'node:assert/strict';
import { closeSync, constants, lstatSync, mkdtempSync, openSync } from 'node:fs';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { openAuditLog } from '../src/audit/open-log.ts';
import { AtomicRenames } from '../src/workspace/commit/atomic-renames.ts';
import { statKey } from '../src/workspace/stat.ts';
import { auditEvent, withAudit } from './support/audit-log.ts';
import { watchDisk } from './support/syncs.ts';

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
    const names = { name: 'a', temporary: 'a.new', fallbackName: 'a.kept', key };
    const done = await renames.run([{ kind: 'exchange', directory, staging: null, ...names }]);
    closeSync(directory);
    assert.deepEqual([done, disk.calls], [['done'], ['sync a.new', 'rename a.new']]);
    assert.equal(readFileSync(path.join(base, 'a'), 'utf8'), 'new');
  } finally {
    Object.defineProperty(process, 'arch', arch);
    rmSync(base, { recursive: true, force: true });
  }
});
