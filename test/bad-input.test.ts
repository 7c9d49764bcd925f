// Bad directories, shells and variables get an answer with its code; commands that misbehave get
// a truthful one. Neither another session nor the daemon notices.
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { whyNoBox } from './support/box.ts';
import { raw, startRuntime, type Daemon, type Json } from './support/daemon.ts';
import {
  meanwhile,
  noneLeft,
  processesInNetwork,
  withGrowingTimeout,
} from './support/processes.ts';
import { openSession, type TestSession } from './support/session.ts';

const MiB = 2 ** 20;
let daemon: Daemon;
before(async () => {
  daemon = await startRuntime();
  mkdirSync(path.join(daemon.root, 'inside/deep'), { recursive: true });
  mkdirSync(path.join(daemon.home, 'outside'));
  writeFileSync(path.join(daemon.root, 'file'), '');
  symlinkSync(path.join(daemon.home, 'outside'), path.join(daemon.root, 'leads-out'));
  symlinkSync('/nonexistent', path.join(daemon.root, 'dangling'));
  symlinkSync('circle', path.join(daemon.root, 'circle'));
});
after(() => daemon.stop());

const open = (params: object = {}): Promise<TestSession> =>
  openSession(daemon.socketPath, { working_dir: daemon.root, ...params });

const badDirectories: readonly (readonly [string, string, string, RegExp])[] = [
  ['missing', '{root}/nothing', 'INVALID_PARAMS', /does not exist/],
  ['a file', '{root}/file', 'INVALID_PARAMS', /not a directory/],
  ['below a file', '{root}/file/x', 'INVALID_PARAMS', /not a directory/],
  ['relative', 'inside', 'INVALID_PARAMS', /not an absolute path/],
  ['empty', '', 'INVALID_PARAMS', /not an absolute path|path/],
  ['a dangling link', '{root}/dangling', 'INVALID_PARAMS', /does not exist/],
  ['a link in a circle', '{root}/circle', 'INVALID_PARAMS', /circle/],
  ['outside', '{home}/outside', 'WORKSPACE_ESCAPE', /outside|leaves/],
  ['outside by ..', '{root}/inside/../../outside', 'WORKSPACE_ESCAPE', /outside|leaves/],
  ['outside by a link', '{root}/leads-out', 'WORKSPACE_ESCAPE', /outside|leaves/],
  ['the root of all', '/', 'WORKSPACE_ESCAPE', /outside|leaves/],
  ['a system directory', '/etc', 'WORKSPACE_ESCAPE', /outside|leaves/],
];

test(
  'a bad directory is refused, for a session and for one command',
  { skip: whyNoBox },
  async () => {
    await using session = await open();
    for (const [name, given, code, says] of badDirectories) {
      const cwd = given.replace('{root}', daemon.root).replace('{home}', daemon.home);
      using client = await raw(daemon.socketPath);
      const made = await client.ask('session.create', { working_dir: cwd });
      assert.deepEqual([made.ok, made.error?.code], [false, code], `session, ${name}`);
      assert.match(made.error.message, says, name);
      const run = await session.ask('echo NO', { cwd });
      // What lies below /tmp is the sandbox's own /tmp, where it does not exist.
      const isOwn =
        !cwd.startsWith(`${daemon.root}/leads`) && path.resolve(cwd).startsWith('/tmp/');
      const wanted = code === 'WORKSPACE_ESCAPE' && isOwn ? 'INVALID_PARAMS' : code;
      assert.deepEqual([run.ok, run.error?.code, run.data], [false, wanted, undefined], name);
      const said = wanted === code ? says : /does not exist inside the sandbox/;
      assert.match(run.error.message, said, name);
    }
    const fine = await session.run('pwd', { cwd: `${daemon.root}/inside/../inside/deep` });
    assert.equal(fine.stdout, `${daemon.root}/inside/deep\n`);
    const within = await session.ask('echo NO', { cwd: '/tmp/nothing-here' });
    assert.equal(within.error?.code, 'INVALID_PARAMS');
    assert.match(within.error.message, /does not exist inside the sandbox/);
    assert.equal((await session.run('echo works')).stdout, 'works\n');
  },
);

test('a program that is no shell is refused, a missing shell replaced', async () => {
  using client = await raw(daemon.socketPath);
  for (const shell of ['/bin/true', '/nonexistent/evil', '/usr/bin/python3', '']) {
    const made = await client.ask('session.create', { shell });
    assert.deepEqual([made.ok, made.error?.code], [false, 'INVALID_PARAMS'], shell);
  }
  const made = await client.ask('session.create', { shell: '/opt/none/fish' });
  assert.deepEqual([made.ok, made.data.shell], [true, '/opt/none/fish']);
  assert.match(made.data.shell_resolved, /^\/(usr\/)?bin\//);
});

test('variables with bad names or values are refused and not quoted', async () => {
  await using session = await open({ sandbox: 'none' });
  for (const env of [
    { 'A=B': 'SECRET' },
    { '': 'SECRET' },
    { A: 'SECRET\0' },
    { 'A B': 'SECRET' },
  ]) {
    const ways = [
      await session.ask('echo NO', { env }),
      await session.client.ask('session.create', { env }),
      await session.client.ask('session.update', { session_id: session.id, env }),
    ];
    for (const answer of ways) {
      assert.deepEqual([answer.ok, answer.error?.code], [false, 'INVALID_PARAMS']);
      assert.doesNotMatch(JSON.stringify(answer), /SECRET/);
    }
  }
  const odd = { A: '$(touch x)`id`\'"\\\n;', É: 'x' };
  const answer = await session.ask('printf %s "$A"', { env: { A: odd.A } });
  assert.equal(answer.data.stdout, odd.A);
});

const side = { concurrency: 3, skip: whyNoBox };
describe('a command that misbehaves harms nobody else', side, () => {
  test('endless output ends with its time, and stops nobody', async () => {
    await using other = await open();
    await using session = await open();
    await session.run('true');
    const running = withGrowingTimeout(
      1_000,
      (timeout_ms) => session.ask('yes endless', { timeout_ms, limits: { journal_bytes: MiB } }),
      ({ data }) => data?.stdout_bytes > 8 * MiB,
    );
    await meanwhile(running, async () => {
      const beside = await other.run('echo beside');
      assert.equal(beside.stdout, 'beside\n');
    });
    const answer = await running;
    assert.deepEqual([answer.ok, answer.error.code], [false, 'COMMAND_TIMEOUT']);
    const { data } = answer;
    assert.deepEqual([data.exit_code, data.timed_out, data.truncated], [124, true, true]);
    assert.equal(data.stdout_bytes, data.stdout_omitted_bytes + data.stdout.length);
    // What the processes hold meanwhile: test/prove/memory.ts.
    assert.ok(data.stdout_bytes > 8 * MiB, `${data.stdout_bytes} bytes`);
  });

  test('no output is an answer', async () => {
    await using session = await open();
    const receipt = await session.run('true');
    const { stdout, stderr, stdout_bytes: bytes, exit_code: code } = receipt;
    assert.deepEqual(
      { stdout, stderr, bytes, code },
      { stdout: '', stderr: '', bytes: 0, code: 0 },
    );
  });

  test('closing every stream is its own affair', async () => {
    await using session = await open();
    const receipt = await session.run('exec 0<&- 1>&- 2>&-; sleep 0.2; exit 9');
    assert.deepEqual([receipt.exit_code, receipt.stdout], [9, '']);
    assert.equal((await session.run('echo on')).stdout, 'on\n');
  });

  test('a fork bomb is bounded, ends, and its session works on', async () => {
    await using other = await open();
    await using session = await open();
    const network = (await session.run('readlink /proc/self/ns/net')).stdout.trim();
    const command = 'bomb() { bomb | bomb & }; bomb; while :; do sleep 0.05; done 2>/dev/null';
    const running = session.ask(command, { timeout_ms: 1_500 });
    let most = 0;
    await meanwhile(running, async () => {
      assert.equal((await other.run('echo responsive')).stdout, 'responsive\n');
      most = Math.max(most, processesInNetwork(network).length);
    });
    const answer = await running;
    assert.ok(answer.data !== undefined, JSON.stringify(answer));
    assert.notEqual(answer.data.exit_code, 0);
    assert.ok(most <= 520, `${most} processes`);
    const isWarm = ({ command: text }: Json): boolean => /bwrap|ulimit|__a|cat$/.test(text);
    const left = () => processesInNetwork(network).filter((one) => !isWarm(one));
    assert.deepEqual(await noneLeft(left), []);
    assert.equal((await session.run('echo on; ls -d /')).stdout, 'on\n/\n');
  });

  test('output that nobody reads keeps nobody else waiting', async () => {
    await using other = await open();
    using lazy = await raw(daemon.socketPath);
    const made = await lazy.ask('session.create', { shell: '/bin/bash', working_dir: daemon.root });
    const params = { session_id: made.data.session_id, command: 'yes unread', timeout_ms: 4_000 };
    await lazy.ask('exec.stream', params);
    lazy.pause();
    for (let times = 0; times < 10; times += 1) {
      assert.equal((await other.run('seq 1000 | tail -1')).stdout, '1000\n');
    }
    lazy.drop();
    const cancelled = await other.client.ask('exec.cancel', { session_id: params.session_id });
    assert.equal(cancelled.ok, true);
  });
});
