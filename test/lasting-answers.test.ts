// Answers for a project: a rule that fits the same command there, and nothing that only looks so.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { LastingRules } from '../src/approval/lasting-rules.ts';
import type { ApprovalView, Client, Session } from '../src/client/index.ts';
import { isTrlError } from '../src/errors.ts';
import { connectLocal } from '../src/local/index.ts';
import { startRuntime, surroundings } from './support/daemon.ts';
import type { Daemon, Json } from './support/daemon.ts';

let daemon: Daemon;
let client: Client;
before(async () => {
  const names = ['one', 'two', 'three', 'four', 'five', 'six'];
  daemon = await startRuntime({
    args: [
      'serve',
      '--socket-path',
      '{socket}',
      ...names.map((name) => `--workspace-root={root}/${name}`),
    ],
    prepare: (home) => {
      for (const name of names) mkdirSync(path.join(home, 'work', name));
      return {};
    },
  });
  client = await connectLocal({ socketPath: daemon.socketPath });
});
after(async () => {
  await client?.close();
  await daemon?.stop();
});

const fetching = 'curl -sS --max-time 5 https://localhost/nothing';
const repository = path.dirname(import.meta.dirname);

const project = (name: string): string => {
  const directory = path.join(daemon.root, name);
  mkdirSync(directory, { recursive: true });
  return directory;
};

const online = (directory: string, more: object = {}): Promise<Session> =>
  client.createSession({ working_dir: directory, policy: 'auto', network: 'on', ...more });

/** The question that a command is met with; `null`: it ran. */
async function asked(session: Session, command: string): Promise<ApprovalView | null> {
  try {
    await session.run(command);
    return null;
  } catch (error) {
    if (!isTrlError(error, 'APPROVAL_REQUIRED')) throw error;
    const found = (await client.approvals({ state: 'pending' })).at(-1);
    assert.ok(found !== undefined);
    return found;
  }
}

async function answer(view: ApprovalView | null, scope: 'once' | 'project'): Promise<void> {
  assert.ok(view !== null, 'it was asked about');
  const { approval_id, digest } = view;
  await client.decide({ approval_id, digest, decision: 'approve', scope });
  await client.attach(view.exec_id).drain();
}

const trl = (...args: string[]): Json => {
  const env = { ...process.env, ...surroundings(daemon.home) };
  const { stdout, stderr } = spawnSync(path.join(repository, 'trl'), args, { env });
  assert.equal(String(stderr), '');
  return JSON.parse(String(stdout));
};

test('an answer for the project holds there alone, until its rule is removed', async () => {
  const directory = project('one');
  const session = await online(directory);
  const first = await asked(session, fetching);
  assert.deepEqual(first?.scopes, ['once', 'session', 'project']);
  const text = first?.asked.rule ?? '';
  assert.match(text, /^curl '--max-time=5' -S -s https:\/\/localhost\/nothing \(\/[^]*any host/);
  assert.ok(text.includes(directory), text);
  await answer(first, 'project');

  assert.equal(await asked(session, fetching), null);
  assert.equal(await asked(session, "curl  -s -S 'https://localhost/nothing' --max-time=5"), null);
  assert.equal(await asked(await online(directory), fetching), null);
  const others = [
    'curl -sS --max-time 5 https://localhost/nothing?data=1',
    `${fetching}; true`,
    `${fetching} > page`,
    `HTTPS_PROXY=http://127.0.0.1:1 ${fetching}`,
    `./${fetching}`,
  ];
  for (const command of others) {
    const question = await asked(session, command);
    assert.ok(question !== null, command);
    await client.cancel({ exec_id: question.exec_id });
  }
  assert.notEqual(await asked(await online(project('two')), fetching), null);
  const led: readonly object[] = [
    { env: { HTTPS_PROXY: 'http://127.0.0.1:1' } },
    { carry: 'shell' },
  ];
  for (const more of led) {
    const question = await asked(await online(directory, more), fetching);
    assert.ok(question !== null, JSON.stringify(more));
    assert.equal(question.asked.rule, undefined, JSON.stringify(more));
    assert.deepEqual(question.scopes, ['once', 'session']);
  }
  // A program of the project is not found under the name, whoever names its directory.
  writeFileSync(path.join(directory, 'curl'), '#!/bin/sh\necho planted\n', { mode: 0o755 });
  const found = `${directory}:${process.env['PATH'] ?? ''}`;
  const planted = await (await online(directory, { search_path: found })).run(fetching);
  assert.equal(planted.stdout, '');
  const moving = await online(directory);
  await answer(await asked(moving, `export PATH=${found}`), 'once');
  const question = await asked(moving, fetching);
  assert.ok(question !== null);
  assert.equal(question.asked.rule, undefined);
  // What an earlier command of the session exports leads this one elsewhere.
  const exporting = await online(directory);
  await answer(await asked(exporting, 'export HTTPS_PROXY=http://127.0.0.1:1'), 'once');
  assert.equal((await asked(exporting, fetching))?.asked.rule, undefined);

  const [rule] = trl('policy', 'rules', '--json').rules;
  assert.equal(rule.text, text);
  const removed = trl('policy', 'rules', 'remove', rule.id.slice(0, 8), '--json');
  assert.equal(removed.id, rule.id);
  assert.deepEqual(trl('policy', 'rules', '--json').rules, []);
  assert.notEqual(await asked(session, fetching), null);
});

test('another directory under the name of the project is another project', async () => {
  const directory = project('three');
  await answer(await asked(await online(directory), fetching), 'project');
  renameSync(directory, `${directory}-away`);
  project('three');
  assert.notEqual(await asked(await online(directory), fetching), null);
});

test('the strict profile asks as before, and takes no answer for the project', async () => {
  const directory = project('four');
  await answer(await asked(await online(directory), fetching), 'project');
  const strict = await client.createSession({
    working_dir: directory,
    policy: 'guarded',
    network: 'on',
  });
  const question = await asked(strict, fetching);
  assert.equal(question?.asked.rule, undefined);
  const refused = answer(question, 'project');
  await assert.rejects(refused, (error) => isTrlError(error, 'POLICY_DENIED'));
});

test('a project that leads the command elsewhere takes no answer for it', async () => {
  const directory = project('five');
  writeFileSync(path.join(directory, 'package.json'), '{"dependencies": {}}');
  const session = await online(directory);
  const plain = await asked(session, 'npm install');
  assert.match(plain?.asked.rule ?? '', /^npm install /);
  await answer(plain, 'project');
  assert.equal(await asked(session, 'npm i'), null);
  const offline = await client.createSession({ working_dir: directory, policy: 'auto' });
  await offline.run('echo registry=http://127.0.0.1:1/ > .npmrc');
  assert.equal((await asked(session, 'npm i'))?.asked.rule, undefined);
  await offline.run('rm .npmrc; echo \'{"scripts":{"postinstall":"id"}}\' > package.json');
  assert.equal((await asked(session, 'npm i'))?.asked.rule, undefined);
});

test('no command sees or writes the rules; a file that others could write holds none', async () => {
  const directory = project('six');
  const session = await online(directory);
  await answer(await asked(session, fetching), 'project');
  const file = path.join(daemon.home, 'config', 'trl', 'answers.json');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const before_ = readFileSync(file, 'utf8');
  const offline = await client.createSession({ working_dir: directory, policy: 'auto' });
  const quoted = `'${file}'`;
  const { exit_code: code } = await offline.run(`test -e ${quoted}`);
  assert.equal(code, 1);
  await offline.run(`mkdir -p ${path.dirname(file)}; echo '{}' > ${quoted}; true`);
  assert.equal(readFileSync(file, 'utf8'), before_);
  const grant = { write: { allow: [path.dirname(file)] } };
  const wide = { working_dir: directory, policy: 'trusted', files: grant } as const;
  const granted = await client.createSession(wide);
  await assert.rejects(granted.run(`rm -f ${quoted}; true`), /would undo the sandbox/);
  assert.equal(readFileSync(file, 'utf8'), before_);
  spawnSync('chmod', ['644', file]);
  assert.notEqual(await asked(session, fetching), null);
  rmSync(file);
});

test('two writers lose no rule, and a file that is no list of rules holds none', () => {
  const file = path.join(daemon.home, 'rules', 'answers.json');
  const of = (requester: string) => ({
    words: ['npm', 'install'],
    program: '/usr/bin/npm',
    network: true as const,
    workspace: { path: '/a', dev: 1, ino: 2 },
    requester,
    project: '',
  });
  const [one, two] = [new LastingRules(file), new LastingRules(file)];
  one.add(of('a'), 'me');
  const { id } = two.add(of('b'), 'me');
  assert.equal(one.add(of('a'), 'me').id, one.list()[0]?.id);
  assert.equal(one.list().length, 2);
  assert.equal(one.find(of('b'))?.id, id);
  assert.equal(one.find({ ...of('b'), workspace: { path: '/a', dev: 1, ino: 3 } }), null);
  one.remove(id);
  assert.equal(two.find(of('b')), null);
  for (const text of ['{', '{}', '{"v":1,"rules":[{}]}', '{"v":2,"rules":[]}', '[]', 'null']) {
    writeFileSync(file, text);
    assert.equal(two.find(of('a')), null, text);
    assert.throws(() => two.list(), /Cannot use/, text);
  }
});
