// A log that cannot be written: nothing runs, what ran is stopped, and work resumes.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parseEventLine } from '../src/audit/line-format.ts';
import { startRuntime, type Daemon } from './support/daemon.ts';
import { eventually } from './support/processes.ts';
import { openSession } from './support/session.ts';

const MiB = 1024 * 1024;
/** In a mount namespace of its own, so that nothing stays mounted whatever becomes of the test. */
const mount =
  'mkdir -p "$0/state" && mount -t tmpfs -o size=24m,mode=700 trl-test "$0/state" && exec "$@"';
const within = ['unshare', '-m', '--propagation', 'private', 'sh', '-c', mount, '{home}'];

const noMount = (): string | false => {
  const tried = spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'trl-test', '/mnt']);
  return tried.status === 0 ? false : 'file systems cannot be mounted here';
};

/** The state directory as the daemon sees it. */
const stateOf = (daemon: Daemon): string =>
  path.join('/proc', String(daemon.pid), 'root', daemon.home, 'state');

function fill(daemon: Daemon): string {
  const file = path.join(stateOf(daemon), 'filler');
  const { bavail, bsize } = statfsSync(stateOf(daemon));
  writeFileSync(file, Buffer.alloc(Math.max(0, bavail * bsize - 8192), 1));
  // The last pages, too.
  for (let at = 0; at < 64; at += 1) {
    try {
      writeFileSync(file, Buffer.alloc(1024, 1), { flag: 'a' });
    } catch {
      break;
    }
  }
  return file;
}

const eventsOf = (daemon: Daemon) => {
  const log = path.join(stateOf(daemon), 'trl/audit/logs/0/0000000000000000.jsonl');
  return readFileSync(log, 'utf8')
    .split('\n')
    .flatMap((line) => parseEventLine(line)?.event ?? []);
};

test('a full disk: nothing runs unrecorded, and work resumes', { skip: noMount() }, async () => {
  await using daemon = await startRuntime({ within });
  await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
  assert.equal((await session.run('true')).exit_code, 0);
  // Of an empty disk a runtime takes no more than this.
  const { blocks, bfree, bsize } = statfsSync(stateOf(daemon));
  assert.ok((blocks - bfree) * bsize < 16 * MiB);
  const filler = fill(daemon);
  const refused = await session.ask('touch ran.txt');
  assert.equal(refused.ok, false);
  assert.match(refused.error.code, /^(AUDIT|BACKEND)_UNAVAILABLE$/, JSON.stringify(refused));
  assert.match(refused.error.message, /full/i);
  assert.equal(existsSync(path.join(daemon.root, 'ran.txt')), false);
  rmSync(filler);
  const receipt = await session.run('touch ran.txt');
  assert.equal(receipt.exit_code, 0, JSON.stringify(receipt));
  assert.ok(existsSync(path.join(daemon.root, 'ran.txt')));
  const events = eventsOf(daemon);
  const interrupted = events.find(({ kind }) => kind === 'log.interrupted');
  const failed = events.find(({ kind }) => kind === 'exec.failed');
  assert.match(JSON.stringify([interrupted?.data, failed?.data]), /space|full|ENOSPC/i);
  assert.equal(events.at(-1)?.kind, 'exec.statement');
});

test('a full disk stops what runs, and its end is told', { skip: noMount() }, async () => {
  await using daemon = await startRuntime({ within });
  await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
  await session.run('true');
  const id = await session.start('while :; do echo tick; sleep 0.1; done');
  const isTold = (): boolean =>
    eventsOf(daemon).some(({ kind, exec }) => kind === 'exec.output' && exec === id);
  await eventually('a record of its output', isTold);
  fill(daemon);
  await eventually('its end', async () => {
    const info = await session.client.ask('exec.info', { exec_id: id });
    return info.data.state !== 'running';
  });
  // Room was put by for the end.
  const ended = eventsOf(daemon).find((one) => one.kind === 'exec.ended' && one.exec === id);
  assert.equal(ended?.data['stopped'], 'audit-failed', JSON.stringify(ended));
  assert.ok(eventsOf(daemon).some((one) => one.kind === 'exec.output' && one.exec === id));
});
