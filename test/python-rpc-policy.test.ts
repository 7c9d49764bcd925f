// Scripts before policy and people, and when the runtime ends in the middle of one.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { whyNoBox } from './support/box.ts';
import { raw, startRuntime, type Daemon, type Json, type RawClient } from './support/daemon.ts';
import { eventually } from './support/processes.ts';
import { openSession } from './support/session.ts';

const noPython = existsSync('/usr/bin/python3') ? false : 'there is no /usr/bin/python3';
const skip = whyNoBox || noPython;
const python = { language: 'python', timeout_ms: 240_000 };

const rules = `
name: tested
base: auto
commands:
  - id: tested
    decision: block
    match: [touch, blocked]
    reason: is what this test blocks
    examples:
      match: ["touch blocked"]
`;

async function decide(daemon: Daemon, id: string, more: object = {}): Promise<Json> {
  using client = await raw(daemon.socketPath);
  const { digest, asked } = (await client.ask('approval.get', { approval_id: id })).data;
  const decided = { approval_id: id, decision: 'approve', digest: digest.slice(0, 8) };
  await client.ask('approval.decide', { ...decided, ...more });
  return asked;
}

/** What an execution is when it has ended, with its output. */
async function ended(client: RawClient, id: string): Promise<Json> {
  const info = await eventually(`the end of ${id}`, async () => {
    const { data } = await client.ask('exec.info', { exec_id: id });
    return data.state !== 'waiting' && data.state !== 'running' && data;
  });
  const { chunks } = (await client.ask('exec.read', { exec_id: id })).data;
  return { ...info, text: chunks.map(({ data }: Json) => data).join('') };
}

test(
  'a script is judged by what it starts, asked about as a whole, and bound',
  { skip },
  async (t) => {
    await using daemon = await startRuntime({
      env: { TRL_POLICY: 'guarded' },
    });
    await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
    const { client, id } = session;
    const ask = (command: string): Promise<Json> => session.ask(command, python);

    await t.test('what policy blocks in it is refused before it runs', async () => {
      const blocked = await ask("import subprocess\nsubprocess.run(['rm', '-rf', '/'])\n");
      assert.equal(blocked.error.code, 'POLICY_DENIED');
      const { data } = await client.ask('policy.explain', {
        session_id: id,
        shell: 'python',
        command: 'import os\nos.system("x")\n',
      });
      assert.equal(data.decision, 'block');
    });

    await t.test('a person sees all of it, and a yes is for that text alone', async () => {
      const script = `print(1)\n${'# and more\n'.repeat(400)}print('end')\n`;
      const parked = await ask(script);
      assert.equal(parked.error.code, 'APPROVAL_REQUIRED');
      const rest = ended(client, parked.data.exec_id);
      const asked = await decide(daemon, parked.data.approval_id);
      assert.deepEqual([asked.command, asked.language], [script, 'python']);
      assert.ok(asked.variables.includes('TRL_WORKSPACE'));
      const interpreter = asked.contents.find(({ name }: Json) => name === 'python3');
      assert.match(interpreter.path, /^\//);
      assert.equal((await rest).text, '1\nend\n');
      const other = await ask(script.replace('print(1)', 'print(2)'));
      assert.equal(other.error.code, 'APPROVAL_REQUIRED');
      // The same text is another question where a shell would take it.
      const shell = await session.ask(script);
      assert.notEqual(shell.data.approval_id, other.data.approval_id);
    });

    await t.test('for the session it runs again without being asked', async () => {
      const { exec_id: first, approval_id: approval } = (await ask("print('again')")).data;
      await decide(daemon, approval, { scope: 'session' });
      assert.equal((await ended(client, first)).text, 'again\n');
      // Asked for again, it is answered with what ran; the next time it runs.
      const second = await session.run("print('again')", python);
      const third = await session.run("print('again')", python);
      assert.deepEqual([second.stdout, third.stdout], ['again\n', 'again\n']);
      assert.notEqual(third.exec_id, first);
    });
  },
);

test('a rule of a person holds for what a script starts', { skip }, async () => {
  await using daemon = await startRuntime({
    prepare: (home) => {
      const file = path.join(home, 'policy.yaml');
      writeFileSync(file, rules, { mode: 0o600 });
      return { TRL_POLICY: file };
    },
  });
  await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
  const script = "import subprocess\nsubprocess.run(['touch', 'blocked'])\n";
  const { error, data } = await session.ask(script, python);
  assert.equal(error.code, 'POLICY_DENIED');
  assert.match(JSON.stringify(data.verdict.rules), /is what this test blocks/);
});

test('a script whose runtime is killed meanwhile is told, and goes on', { skip }, async () => {
  const daemon = await startRuntime({ env: { TRL_RUNNER_LINGER_MS: '120000' } });
  let second: Daemon | null = null;
  try {
    const session = await openSession(daemon.socketPath, { working_dir: daemon.root });
    const script = `
import rpc, time
print('up', flush=True)
for _ in range(2):
    try:
        print(rpc.call('terminal', command='touch asked'))
    except rpc.Error as error:
        print(error.code, 'restart' in error.message, flush=True)
    time.sleep(1)
`;
    const id = await session.start(script, { language: 'python' });
    using watch = await raw(daemon.socketPath);
    while ((await watch.ask('approval.list', { state: 'pending' })).data.approvals.length === 0) {
      await sleep(20);
    }
    await daemon.kill();
    session.client.drop();
    second = await startRuntime({ home: daemon.home, env: { TRL_RUNNER_LINGER_MS: '120000' } });
    using client = await raw(second.socketPath);
    const { text, exit_code: code } = await ended(client, id);
    // The first call was under way; the second one comes to a runtime that does not know it.
    assert.equal(text, 'up\nBACKEND_UNAVAILABLE True\nBACKEND_UNAVAILABLE True\n');
    assert.equal(code, 0);
    // Nobody waits for what it had asked for.
    const { approvals } = (await client.ask('approval.list', { state: 'pending' })).data;
    assert.deepEqual(approvals, []);
  } finally {
    await (second ?? daemon).stop();
  }
});

test('where there is no interpreter, that is said, and where it was looked for', async () => {
  let place = '';
  await using daemon = await startRuntime({
    prepare: (home) => {
      place = path.join(home, 'bin');
      mkdirSync(place);
      // All that the host has, but for the interpreter.
      const names = readdirSync('/usr/bin').filter((name) => !name.startsWith('python'));
      for (const name of names) symlinkSync(`/usr/bin/${name}`, path.join(place, name));
      return { PATH: place };
    },
  });
  await using session = await openSession(daemon.socketPath, { sandbox: 'none' });
  const { exit_code: code, stdout, stderr } = await session.run('print(1)', python);
  assert.deepEqual([code, stdout], [127, '']);
  const where = `Python 3.8 or later is wanted in one of: ${place}`;
  assert.equal(stderr, `Cannot run the script: python3: not found\n${where}\n`);
});

test('without a sandbox its directory is the host’s, private, and removed', async (t) => {
  if (noPython !== false) return t.skip(noPython);
  await using daemon = await startRuntime();
  const params = { working_dir: daemon.root, sandbox: 'none' };
  await using session = await openSession(daemon.socketPath, params);
  const script = `
import os, stat
print(os.getcwd(), oct(stat.S_IMODE(os.stat('.').st_mode)))
os.makedirs('deep/er')
`;
  const { stdout } = await session.run(script, python);
  const [, cwd = '', mode] = /^(\/tmp\/trl-script-\w{16}) (\w+)\n$/.exec(stdout) ?? [];
  assert.equal(mode, '0o700');
  assert.ok(!existsSync(cwd), cwd);
  // A PATH of the session's own does not choose who runs a script.
  writeFileSync(path.join(daemon.root, 'python3'), '#!/bin/sh\necho wrong\n', { mode: 0o755 });
  await session.run(`export PATH="${daemon.root}:$PATH"; python3`);
  assert.equal((await session.run("print('right')", python)).stdout, 'right\n');
});
