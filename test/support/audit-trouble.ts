// A log on a disk that fills up, that is read-only, or where files may not grow. Run in a process
// of its own: `full DIRECTORY` and `readonly DIRECTORY` on a small file system that may be filled
// and mounted anew, `limit DIRECTORY` anywhere.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openAuditKey } from '../../src/audit/audit-key.ts';
import { openAuditLog } from '../../src/audit/open-log.ts';
import { readEvents } from '../../src/audit/read-events.ts';
import { verifyLogs } from '../../src/audit/verify.ts';
import { isTrlError } from '../../src/errors.ts';
import { auditEvent } from './audit-log.ts';

const [, , mode, root = ''] = process.argv;
const directory = path.join(root, 'trl', 'audit');

if (mode === 'full') await full();
else if (mode === 'readonly') await readOnly();
else await limited();

async function full(): Promise<void> {
  const log = await openAuditLog({ directory });
  await log.append([auditEvent(0)]);
  const ballast = path.join(root, 'ballast');
  for (let round = 0; round < 2; round += 1) {
    fillUp(ballast);
    // What fits into the last block is no promise.
    let refused = 0;
    for (let n = 0; n < 40; n += 1) {
      await log.append([auditEvent(1, 'x'.repeat(500))]).catch((error: unknown) => {
        mustBe(error, /no space is left on the disk/);
        refused += 1;
      });
    }
    assert.ok(refused >= 30, `${refused} refused`);
    assert.equal(log.state().kind, 'failing');
    // Ends are written, with what was put by; beginnings are not.
    for (let n = 0; n < 100; n += 1) {
      const both = await Promise.allSettled([
        log.append([auditEvent(2, 'x'.repeat(2000))], { urgent: true }),
        log.append([auditEvent(3)]),
      ]);
      assert.deepEqual(
        both.map(({ status }) => status),
        ['fulfilled', 'rejected'],
      );
    }
    assert.equal(log.state().kind, 'failing');
    rmSync(ballast);
    await log.append([auditEvent(4)]);
    assert.equal(log.state().kind, 'ok');
    assert.ok(readdirSync(path.join(directory, 'logs', '0')).includes('reserve'));
  }
  await log.close();
  const kinds = [...readEvents(directory, { kinds: ['log.interrupted'] })];
  assert.ok(kinds.length >= 2);
  const numbers = [...readEvents(directory)].map(({ event }) => event.data['n']);
  assert.equal(numbers.filter((n) => n === 2).length, 200);
  assert.equal(numbers.filter((n) => n === 3).length, 0);
  await mustBeGood(log.head() ?? '');
}

async function readOnly(): Promise<void> {
  const before = await openAuditLog({ directory });
  await before.append([auditEvent(0)]);
  const head = before.head() ?? '';
  await before.close();
  must('mount', ['-o', 'remount,bind,ro', root]);
  await assert.rejects(openAuditLog({ directory }), (error) => mustBe(error, /read-only/));
  must('mount', ['-o', 'remount,bind,rw', root]);
  const after = await openAuditLog({ directory });
  await after.append([auditEvent(1)]);
  await after.close();
  await mustBeGood(head);
}

async function limited(): Promise<void> {
  const log = await openAuditLog({ directory });
  await log.append([auditEvent(0)]);
  const limit = (bytes: string): void =>
    must('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:`]);
  limit('20000');
  let refused = 0;
  for (let n = 0; n < 40; n += 1) {
    await log.append([auditEvent(1, 'x'.repeat(1000))]).catch((error: unknown) => {
      mustBe(error, /files may not grow that large/);
      refused += 1;
    });
  }
  assert.ok(refused > 10 && refused < 40, `${refused} refused`);
  limit('unlimited');
  await log.append([auditEvent(2)]);
  await log.close();
  const told = [...readEvents(directory, { kinds: ['log.interrupted'] })];
  assert.deepEqual(
    told.map(({ event }) => event.data['refused']),
    [refused],
  );
  await mustBeGood(log.head() ?? '');
}

async function mustBeGood(head: string): Promise<void> {
  const { publicKey } = openAuditKey(directory);
  const report = await verifyLogs({ directory, publicKey, heads: [head] });
  assert.ok(report.isGood, JSON.stringify(report));
  assert.ok(!existsSync(path.join(directory, 'logs', '1')));
}

function mustBe(error: unknown, message: RegExp): true {
  assert.ok(isTrlError(error, 'AUDIT_UNAVAILABLE'), String(error));
  assert.match(error.message, message);
  assert.ok(error.message.includes(directory), error.message);
  return true;
}

function fillUp(file: string): void {
  for (let bytes = 4 * 2 ** 20; bytes > 0; bytes = Math.floor(bytes / 2)) {
    try {
      writeFileSync(file, Buffer.alloc(bytes), { flag: 'a' });
    } catch (error) {
      assert.match(String(error), /ENOSPC/);
    }
  }
}

function must(command: string, args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  assert.equal(status, 0, `${command} ${args.join(' ')}: ${String(error ?? stderr)}`);
}
