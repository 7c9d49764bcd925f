// A state directory that cannot be written any more: what is recorded runs, nothing else does.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { readPublicKey } from '../src/audit/audit-key.ts';
import { readEvents } from '../src/audit/read-events.ts';
import { verifyLogs } from '../src/audit/verify.ts';
import { endAll, noPowerCut, startOnDisk, stateOf } from './support/audit-power.ts';
import { raw, type Daemon } from './support/daemon.ts';
import { inState } from './support/parked.ts';
import { openSession, type TestSession } from './support/session.ts';

const skip = noPowerCut();
const refusals = /^(?:AUDIT|BACKEND|SANDBOX)_UNAVAILABLE$/;
const reasons = /read-only|disk I\/O error|EROFS|EIO/;

/** Runs a script where the runtime's mounts are; `$0`: its state directory. */
function inside(daemon: Daemon, script: string): void {
  const place = ['-t', String(daemon.pid), '-m'];
  const shell = ['sh', '-c', script, path.join(daemon.home, 'state')];
  const { status, stderr } = spawnSync('nsenter', [...place, ...shell], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
}

/** Tries a command; answers whether it ran, and fails where that is not what the caller is told. */
async function tried(daemon: Daemon, session: TestSession, name: string): Promise<boolean> {
  const answer = await session.ask(`touch ${name}`);
  assert.equal(existsSync(path.join(daemon.root, name)), answer.ok, JSON.stringify(answer));
  if (answer.ok === true) return true;
  assert.match(answer.error.code, refusals);
  assert.match(answer.error.message, reasons);
  return false;
}

/** The log is whole, and tells of these commands alone. */
async function holds(daemon: Daemon, names: readonly string[]): Promise<void> {
  const directory = path.join(stateOf(daemon), 'trl', 'audit');
  const publicKey = readPublicKey(path.join(directory, 'key.pub'));
  const { isGood } = await verifyLogs({ directory, publicKey });
  assert.equal(isGood, true);
  const started = new Set<string | undefined>();
  for (const { event } of readEvents(directory, { kinds: ['exec.started'] })) {
    started.add(event.exec);
  }
  const told: unknown[] = [];
  for (const { event } of readEvents(directory, { kinds: ['exec.requested'] }, 'oldest')) {
    if (started.has(event.exec)) told.push(event.data['command']);
  }
  assert.deepEqual(
    told.filter((text) => String(text).startsWith('touch')),
    names.map((name) => `touch ${name}`),
  );
}

test('a read-only state: nothing runs unrecorded, and work resumes', { skip }, async () => {
  await using daemon = await startOnDisk();
  const session = await openSession(daemon.socketPath, { working_dir: daemon.root });
  assert.equal(await tried(daemon, session, 'before'), true);
  // Files that are open stay writable: the log is among them, new ones cannot be made.
  inside(daemon, 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0"');
  const ran: string[] = [];
  for (const name of ['one', 'two', 'three']) {
    if (await tried(daemon, session, name)) ran.push(name);
  }
  assert.ok(ran.length < 3, 'it was refused at last');
  inside(daemon, 'umount "$0"');
  assert.equal(await tried(daemon, session, 'after'), true);
  await holds(daemon, ['before', ...ran, 'after']);
});

test('a disk that fails: what runs is stopped, and a new runtime goes on', { skip }, async (t) => {
  let daemon = await startOnDisk();
  t.after(() => daemon.stop());
  const session = await openSession(daemon.socketPath, { working_dir: daemon.root });
  assert.equal(await tried(daemon, session, 'before'), true);
  const id = await session.start('while :; do echo tick; sleep 0.1; done');
  // As the kernel does when the journal cannot be written; only a new mount ends it.
  inside(daemon, 'mount -o remount,abort "$0"');
  for (const name of ['one', 'two']) assert.equal(await tried(daemon, session, name), false);
  using client = await raw(daemon.socketPath);
  const refused = await client.ask('session.create', { working_dir: daemon.root });
  assert.equal(refused.error?.code, 'AUDIT_UNAVAILABLE', JSON.stringify(refused));
  assert.match(refused.error.message, reasons);
  await inState(daemon, id, 'lost', 'exited');
  await endAll(daemon);
  daemon = await startOnDisk(daemon.home);
  const next = await openSession(daemon.socketPath, { working_dir: daemon.root });
  assert.equal(await tried(daemon, next, 'after'), true);
  await holds(daemon, ['before', 'after']);
});
