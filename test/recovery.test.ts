// What is left when a daemon or a runner is killed. The long form is test/prove/recovery.ts.
import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { isRoot, whyNoBox } from './support/box.ts';
import { raw, startRuntime } from './support/daemon.ts';
import { eventually, noneLeft, processesInNetwork } from './support/processes.ts';
import { runnerPid, runnerRecord } from './support/processes.ts';
import { outage } from './support/recovery.ts';
import { openSession } from './support/session.ts';

const MiB = 2 ** 20;
const groupRoots = ['/sys/fs/cgroup', '/sys/fs/cgroup/memory'];
const controllers = '/sys/fs/cgroup/cgroup.subtree_control';
const canBind =
  isRoot &&
  (existsSync('/sys/fs/cgroup/memory/memory.limit_in_bytes') ||
    (existsSync(controllers) && /\bmemory\b/.test(readFileSync(controllers, 'utf8'))));

/** Groups of processes whose name has `part` in it. */
const groupsOf = (part: string): string[] =>
  groupRoots
    .filter((root) => existsSync(root))
    .flatMap((root) => readdirSync(root).map((name) => path.join(root, name)))
    .filter((name) => path.basename(name).includes(part));

describe('an execution outlives its daemon', { concurrency: 2, skip: whyNoBox }, () => {
  test('output resumes where it stopped, byte for byte', async () => {
    const done = await outage({ bytes: 24 * MiB, killAt: 4 * MiB, journalBytes: 64 * MiB });
    const { received, sha256, wanted, gaps, exitCode, journalBytes } = done;
    assert.deepEqual(
      { received, sha256, gaps, exitCode, journalBytes },
      { received: 24 * MiB, sha256: wanted, gaps: [], exitCode: 0, journalBytes: 24 * MiB },
    );
  });

  test('what the journal could not hold is a gap that is counted exactly', async () => {
    const bytes = 24 * MiB;
    const plan = { bytes, killAt: 8 * MiB, journalBytes: 2 * MiB, awaitEnd: true };
    const { received, gaps, exitCode, journalBytes } = await outage(plan);
    const missing = gaps.reduce((sum, { from, to }) => sum + to - from, 0);
    assert.equal(received + missing, bytes);
    assert.ok(missing > 0 && received >= 8 * MiB, `${missing} of ${bytes} are missing`);
    assert.deepEqual([exitCode, journalBytes], [0, bytes]);
  });
});

test(
  'with the runner all it ran is lost, said so, and the next command works',
  { skip: whyNoBox },
  async () => {
    await using daemon = await startRuntime();
    const params = { working_dir: daemon.root };
    await using session = await openSession(daemon.socketPath, params);
    const network = (await session.run('export A=1; readlink /proc/self/ns/net')).stdout.trim();
    const command = 'setsid sleep 901 & sleep 902 & echo up; sleep 903; echo NO';
    // Where memory can be bound, by a group of processes.
    const bound = canBind ? { limits: { memory_bytes: 256 * MiB } } : {};
    await using streamed = await openSession(daemon.socketPath, { ...params, ...bound });
    using follower = await raw(daemon.socketPath);
    await follower.ask('exec.stream', { session_id: streamed.id, command });
    assert.equal((await follower.json()).data, 'up\n');
    const answered = session.ask(command);
    const ours = () => processesInNetwork(network);
    await eventually('the command', () => ours().some((one) => one.command === 'sleep 903'));
    const runner = runnerPid(daemon);
    assert.ok(runner !== null);
    const { dir } = runnerRecord(daemon);
    const [group] = groupsOf(path.basename(dir));
    assert.equal(group !== undefined, canBind);
    process.kill(runner, 'SIGKILL');
    const answer = await answered;
    assert.deepEqual([answer.ok, answer.error?.code], [false, 'BACKEND_UNAVAILABLE']);
    assert.ok(!JSON.stringify(answer).includes('exit_code'), JSON.stringify(answer));
    const end = await follower.json();
    assert.deepEqual([end.stream, end.lost, 'exit_code' in end], ['exit', true, false]);
    assert.equal(end.error.code, 'BACKEND_UNAVAILABLE');
    assert.deepEqual(await noneLeft(ours), []);
    await eventually('nothing of it in memory', () => !existsSync(dir));
    await eventually('no group', () => group === undefined || !existsSync(group));
    const next = await session.run('echo works; ls -d /');
    assert.deepEqual([next.stdout, next.exit_code], ['works\n/\n', 0]);
    assert.notEqual(runnerPid(daemon), runner);
    const listed = await session.client.ask('exec.list', { session_id: session.id });
    assert.ok(listed.data.execs.some(({ state }: { state: string }) => state === 'lost'));
  },
);

test(
  'a directory of runners that somebody else made first is left alone, and stops nothing',
  { skip: whyNoBox },
  async () => {
    for (const make of [
      (usual: string) => mkdirSync(usual),
      (usual: string) => symlinkSync(path.dirname(usual), usual),
    ]) {
      const shared = mkdtempSync('/dev/shm/trl-test-');
      try {
        const usual = path.join(shared, 'trl');
        make(usual);
        chmodSync(shared, 0o777);
        if (existsSync(usual) && usual === realpathSync(usual)) chmodSync(usual, 0o777);
        await using daemon = await startRuntime({ env: { XDG_RUNTIME_DIR: shared } });
        await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
        assert.equal((await session.run('echo it runs')).stdout, 'it runs\n');
        const { dir } = runnerRecord(daemon);
        assert.match(path.relative(shared, dir), /^trl-[0-9a-f]{16}\/r-[0-9a-f]{16}$/);
        assert.equal(statSync(path.dirname(dir)).mode & 0o777, 0o700);
        assert.ok(!readdirSync(shared).some((name) => name.startsWith('r-')));
      } finally {
        rmSync(shared, { recursive: true });
      }
    }
  },
);
