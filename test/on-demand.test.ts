// One runtime a user: started by whoever needs it first, shared by all, replaced by a newer one.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectLocal } from '../src/local/index.ts';
import type { Json } from './support/daemon.ts';
import { callOf } from './support/mcp.ts';
import { processesWhere } from './support/processes.ts';
import { person, whyNoTerminal } from './support/pty.ts';
import { User } from './support/user.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');
const bounded = { timeout: 240_000 };
const user = new User();
const { base, env, project, socketPath } = user;
const run: User['run'] = (args, options) => user.run(args, options);
const record = (): Json => user.record();
const directory = (name: string): string => user.directory(name);
const agentHere = (): Promise<Agent> => user.agent();
type Agent = Awaited<ReturnType<User['agent']>>;

before(() => {
  execFileSync('git', ['init', '-q'], { cwd: project });
  mkdirSync(path.join(project, 'src'));
});
after(() => user[Symbol.asyncDispose]());

const isAlive = (pid: number): boolean => processesWhere((one) => one === pid).length > 0;

const said = async (agent: Agent, name: string, args: Record<string, unknown>): Promise<string> =>
  (await callOf(agent, name, args)).text;

test('whoever needs it starts it, once, in the background', bounded, async () => {
  const cwd = path.join(project, 'src');
  const both = await Promise.all([
    run(['run', 'git rev-parse --show-toplevel; echo x >beside'], { cwd }),
    run(['run', 'git rev-parse --show-toplevel'], { cwd }),
  ]);
  for (const one of both) assert.deepEqual([one.code, one.stdout], [0, `${project}\n`], one.stderr);
  assert.ok(isAlive(record().pid));
  // The same one.
  const { pid } = record();
  assert.equal((await run(['run', 'cat src/beside'])).stdout, 'x\n');
  assert.equal(record().pid, pid);
});

test('each project that is worked in becomes one, by its top, and can be forgotten', async () => {
  const other = directory('work/other');
  assert.equal((await run(['run', 'pwd'], { cwd: other })).stdout, `${other}\n`);
  const listed = async (): Promise<string[]> => {
    const { stdout } = await run(['workspace', 'list', '--json']);
    return JSON.parse(stdout).workspaces.map(({ path: root }: Json) => root);
  };
  assert.deepEqual(await listed(), [project, other]);
  assert.equal((await run(['workspace', 'forget', other])).code, 0);
  assert.equal((await run(['workspace', 'forget', other])).code, 1);
  assert.deepEqual(await listed(), [project]);
  // A program on the socket that names none works in none.
  await using client = await connectLocal({ socketPath });
  await assert.rejects(client.createSession({ working_dir: other }), { code: 'WORKSPACE_ESCAPE' });
});

test('the home directory, and what holds the runtime’s own, is no project', async () => {
  for (const cwd of [env['HOME'] ?? '', '/', base, directory('state/trl/audit')]) {
    const { code, stderr } = await run(['run', 'true'], { cwd });
    assert.equal(code, 125, cwd);
    assert.match(stderr, /name a project directory|the runtime keeps/);
  }
});

test('it has no secret of whoever started it, and finds the programs of whoever asks', async () => {
  const tools = directory('tools/bin');
  const program = path.join(tools, 'own-program');
  writeFileSync(program, '#!/bin/sh\necho found\n');
  chmodSync(program, 0o755);
  const more = { PATH: `${tools}:${process.env['PATH']}`, SOME_API_KEY: 'sk-4f9a81c2d7e6b350' };
  await run(['daemon', 'stop']);
  const first = await run(['run', '--env-key', 'SOME_API_KEY', 'true'], { more });
  assert.match(first.stderr, /no source of secrets.* trl secrets set SOME_API_KEY .*--private/);
  const prints = ['--private', '--env-key', 'SOME_API_KEY', 'echo "$SOME_API_KEY"'];
  assert.match((await run(['run', ...prints], { more })).stdout, /^\[HIDDEN:/);
  const { pid } = record();
  const own = readFileSync(`/proc/${pid}/environ`, 'utf8');
  assert.ok(own.includes('HOME=') && !own.includes('SOME_API_KEY'));
  // What lies in /tmp is private to each sandbox, so this one is not shown: it is not found.
  const command = 'echo "$PATH"';
  const asked = await run(['run', command], { more: { PATH: `/usr/bin:${process.env['PATH']}` } });
  const usual = await run(['run', command]);
  assert.ok(asked.stdout.startsWith('/usr/bin:'), asked.stdout);
  assert.notEqual(asked.stdout, usual.stdout);
  assert.equal(record().pid, pid);
});

test(
  'a question that an agent’s command raises is answered in another terminal',
  { ...bounded, skip: whyNoTerminal },
  async () => {
    const agent = await agentHere();
    try {
      const asked = await callOf(agent, 'terminal_exec', { command: 'cat <(echo yes)' });
      const id = /a-[0-9a-f]{32}/.exec(asked.text)?.[0] ?? '';
      const listed = JSON.parse((await run(['approvals', 'list', '--json'])).stdout);
      const exec: string = listed.approvals[0].exec_id;
      using answers = person(['approvals', 'approve', id], env);
      await answers.sees('Type yes');
      answers.types('yes\r');
      assert.equal(await answers.left(), 0);
      const output = await run(['exec', 'attach', exec]);
      assert.equal(output.stdout, 'yes\n', output.stderr);
    } finally {
      await agent.close();
    }
  },
);

test(
  'an agent goes on when the runtime is killed, or replaced by a newer build',
  bounded,
  async () => {
    const agent = await agentHere();
    try {
      assert.match(await said(agent, 'terminal', { command: 'echo one' }), /one/);
      const { pid } = record();
      process.kill(pid, 'SIGKILL');
      assert.match(await said(agent, 'terminal', { command: 'echo two' }), /two/);
      const second: number = record().pid;
      assert.notEqual(second, pid);
      // What runs in the background goes on in the new one.
      const command = 'until [ -e go ]; do sleep 0.1; done; echo done >ended';
      await said(agent, 'terminal', { command, background: true });
      const file = path.join(base, 'state/trl/daemon.json');
      const before = record();
      writeFileSync(file, JSON.stringify({ ...before, program: { ...before.program, at: 0 } }));
      assert.equal((await run(['run', 'touch go'])).code, 0);
      assert.notEqual(record().pid, second);
      assert.ok(!isAlive(second));
      assert.match(await said(agent, 'terminal', { command: 'echo three' }), /three/);
      const wait = 'until [ -e ended ]; do sleep 0.1; done; cat ended';
      assert.match(await said(agent, 'terminal', { command: wait }), /done/);
    } finally {
      await agent.close();
    }
  },
);

const python = spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))']);
const skip = python.status === 0 ? false : 'there is no python3';
test('programs start it as well: the clients in TypeScript and Python', { skip }, async () => {
  await run(['daemon', 'stop']);
  const lines = [
    'import trl, os',
    'with trl.connect() as client, client.create_session(working_dir=os.getcwd()) as session:',
    '    print(session.run("git rev-parse --show-toplevel").stdout, end="")',
  ];
  const here = path.dirname(trl);
  const found = spawnSync('python3', ['-c', lines.join('\n')], {
    cwd: path.join(project, 'src'),
    env: {
      ...process.env,
      ...env,
      PATH: `${here}:${process.env['PATH']}`,
      PYTHONPATH: path.join(here, 'clients/python'),
      PYTHONDONTWRITEBYTECODE: '1',
    },
    encoding: 'utf8',
  });
  assert.equal(found.stdout, `${project}\n`, found.stderr);
  const { pid } = record();
  const source = `
    const { connect } = await import(${JSON.stringify(path.join(here, 'src/local/index.ts'))});
    await using client = await connect();
    await using session = await client.createSession({ working_dir: process.cwd() });
    process.stdout.write((await session.run('pwd')).stdout);`;
  const options = { cwd: project, env: { ...process.env, ...env }, encoding: 'utf8' } as const;
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', source];
  const ran = spawnSync(process.execPath, flags, options);
  assert.equal(ran.stdout, `${project}\n`, ran.stderr);
  assert.equal(record().pid, pid);
});

test('a runtime of its own where that is meant, or where it obeys something else', async () => {
  const { pid } = record();
  const guarded = { TRL_POLICY: 'guarded' };
  const asked = await run(['run', 'cat <(echo x)'], { more: guarded });
  assert.match(asked.stderr, /this runtime ends with its command/);
  assert.equal((await run(['run', '--private', 'echo own'])).stdout, 'own\n');
  assert.equal((await run(['run', '--policy', 'trusted', 'echo own'])).stdout, 'own\n');
  assert.equal(record().pid, pid);
});

test('one that a person starts takes its place, and is left as it is', bounded, async () => {
  assert.equal((await run(['run', 'true'])).code, 0);
  const { pid } = record();
  const agent = await agentHere();
  try {
    const command = 'until [ -e over ]; do sleep 0.1; done; echo done >carried';
    await said(agent, 'terminal', { command, background: true });
    const started = await run(['daemon', 'start', '--workspace-root', project]);
    assert.equal(started.code, 0, started.stderr);
    assert.match(started.stdout + started.stderr, /sessions may work under/);
    assert.ok(!isAlive(pid));
    const second: number = record().pid;
    assert.equal(record().program, undefined);
    const wait = 'touch over; until [ -e carried ]; do sleep 0.1; done; cat carried';
    assert.match(await said(agent, 'terminal', { command: wait }), /done/);
    assert.equal((await run(['run', 'true'])).code, 0);
    assert.equal(record().pid, second);
  } finally {
    await agent.close();
    await run(['daemon', 'stop']);
  }
});

test('who starts it hears which variables of an older runtime do not hold', bounded, async () => {
  await run(['daemon', 'stop']);
  const more = { TRL_MAX_SESSIONS: '3', TRL_ENV_FILE: '/home/x/.env' };
  const first = await run(['run', 'echo runs'], { more });
  assert.deepEqual([first.code, first.stdout], [0, 'runs\n']);
  for (const name of Object.keys(more)) {
    const wanted = new RegExp(`^trl: ${name} is .* all programs share does not read it; set `, 'm');
    assert.match(first.stderr, wanted);
  }
  const second = await run(['run', 'echo runs'], { more });
  assert.doesNotMatch(second.stderr, /older runtime/);
});

test('it ends when nobody used it for a while', bounded, async () => {
  await run(['daemon', 'stop']);
  await run(['run', 'true'], { more: { TRL_IDLE_EXIT_MS: '500' } });
  const { pid } = record();
  for (const since = Date.now(); isAlive(pid) && Date.now() - since < 60_000;) await sleep(50);
  assert.ok(!isAlive(pid));
});
