// What was answered for survives kills; trouble with the disk refuses, and work resumes after it.
// Power cuts and more kills: test/prove/audit-kill.ts.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { openAuditLog } from '../src/audit/open-log.ts';
import { readEvents } from '../src/audit/read-events.ts';
import { isTrlError } from '../src/errors.ts';
import { killWriters } from './support/audit-crash.ts';
import { auditEvent, logAt, withAudit } from './support/audit-log.ts';

const trouble = path.join(import.meta.dirname, 'support', 'audit-trouble.ts');

test('a writer that is killed loses no event that was answered for', async () => {
  const { acknowledged } = await killWriters(5);
  assert.ok(acknowledged > 0);
});

for (const [mode, promise] of [
  ['full', 'a full disk refuses beginnings, takes ends, and work resumes when there is room'],
  ['readonly', 'a read-only file system refuses, and work resumes when it can be written'],
] as const) {
  test(promise, (t) => {
    const inside = ['-Urm', '--propagation', 'private', 'sh', '-c'];
    const mount = 'mount -t tmpfs -o size=4m none /mnt';
    const can = spawnSync('unshare', [...inside, mount], { encoding: 'utf8' });
    if (can.status !== 0) {
      t.skip(`no small file system can be mounted: ${String(can.error ?? can.stderr)}`);
      return;
    }
    const run = [`${mount} && exec "$0" "$@"`, process.execPath, trouble, mode, '/mnt'];
    const options = { encoding: 'utf8', timeout: 240_000 } as const;
    const { status, stderr } = spawnSync('unshare', [...inside, ...run], options);
    assert.equal(status, 0, stderr);
  });
}

test('where files may not grow appends are refused until they may', (t) => {
  if (spawnSync('prlimit', ['--version']).status !== 0) {
    t.skip('there is no prlimit');
    return;
  }
  const root = mkdtempSync(path.join(tmpdir(), 'trl-audit-'));
  try {
    const options = { encoding: 'utf8', timeout: 240_000 } as const;
    const { status, stderr } = spawnSync(process.execPath, [trouble, 'limit', root], options);
    assert.equal(status, 0, stderr);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

test('a directory without permission to write refuses, and work resumes', async (t) => {
  if (process.getuid?.() === 0) {
    t.skip('root may write anywhere');
    return;
  }
  await withAudit(async (directory) => {
    const log = await openAuditLog({ directory, segmentBytes: 2000 });
    await log.append([auditEvent(0)]);
    chmodSync(logAt(directory), 0o500);
    try {
      const isRefused = (error: unknown): boolean =>
        isTrlError(error, 'AUDIT_UNAVAILABLE') && /permission is missing/.test(error.message);
      // What fits into the segment that is open can be written.
      await assert.rejects(log.append([auditEvent(1, 'x'.repeat(2000))]), isRefused);
    } finally {
      chmodSync(logAt(directory), 0o700);
    }
    await log.append([auditEvent(2)]);
    await log.close();
    const kinds = [...readEvents(directory, {}, 'oldest')].map(({ event }) => event.kind);
    assert.deepEqual(kinds, ['log.opened', 'exec.started', 'log.interrupted', 'exec.started']);
  });
});
