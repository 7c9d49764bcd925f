// What a policy makes of real commands: what starts without a shell, what has to wait, what is
// refused, and what a policy file bounds.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { auditEvents } from './support/audit-daemon.ts';
import { whyNoBox } from './support/box.ts';
import { cornerOf, startRuntime, surroundings, type Daemon, type Json } from './support/daemon.ts';
import { eventually } from './support/processes.ts';
import { openSession, type TestSession } from './support/session.ts';

const skip = whyNoBox;
const started = new Map<string, Promise<Daemon>>();
after(() => Promise.all([...started.values()].map(async (one) => (await one).stop())));
/** What the user's policy file says when the daemons start. */
const team = [
  'name: team',
  'base: trusted',
  'commands:',
  '  - { id: no-make, decision: block, match: [make, "..."], reason: builds are not for here }',
  'files: { deny: ["secret.txt"], write: [] }',
  'network: { mode: off }',
  'environment: { withhold: [LOGNAME] }',
  'limits: { timeout: 5s, processes: 64 }',
].join('\n');
/** The file's daemon of a policy; of the user's policy file, where it is ''. */
function whole(policy: string): Promise<Daemon> {
  const prepare = (home: string): Record<string, string> => {
    policyFile({ home }, team);
    return { TRL_POLICY: policy };
  };
  const daemon = started.get(policy) ?? startRuntime({ prepare });
  started.set(policy, daemon);
  return daemon;
}
const runtime = async (policy: string): Promise<Daemon> => cornerOf(await whole(policy));
const sessionOf = (daemon: Daemon, params: object = {}): Promise<TestSession> =>
  openSession(daemon.socketPath, { working_dir: daemon.root, ...params });
const write = (daemon: Daemon, name: string, text: string): string => {
  const file = path.join(daemon.root, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
};

/** `allow`, or the code and the first rule of a refusal. */
async function outcome(session: TestSession, command: string, more: object = {}): Promise<string> {
  const answer: Json = await session.ask(command, more);
  if (answer.ok === true) return 'allow';
  const code = answer.error.code === 'POLICY_DENIED' ? 'block' : answer.error.code;
  return `${code === 'APPROVAL_REQUIRED' ? 'ask' : code} ${answer.data?.verdict.rules[0].id}`;
}

describe('an allowed command', { skip }, () => {
  test('is started without a shell and without what earlier commands exported', async () => {
    const daemon = await runtime('auto');
    await using session = await sessionOf(daemon);
    write(daemon, 'a.txt', 'one\n');
    write(daemon, 'sub/b.txt', 'two\n');
    await session.run('cd sub; export NODE_OPTIONS=--require=/nope.js; cat() { echo shadowed; }');
    await using listed = await openSession(daemon.socketPath, {
      working_dir: daemon.root,
      policy: 'guarded',
      carry: 'shell',
      env: { NODE_OPTIONS: '--require=/nope.js' },
    });
    const moved = await listed.ask('cat b.txt', { cwd: path.join(daemon.root, 'sub') });
    assert.equal(moved.data.stdout, 'two\n');
    assert.equal((await listed.run('cat b.txt')).stdout, 'two\n', 'the directory carries on');
    const version = await listed.run('node --version');
    assert.deepEqual([version.exit_code, version.stderr], [0, '']);
    assert.match(version.stdout, /^v\d/);
  });

  test('reads no file through a link, a second name or a way out', async () => {
    const daemon = await runtime('guarded');
    await using session = await sessionOf(daemon);
    write(daemon, '.env', 'KEY=1\n');
    write(daemon, 'plain.txt', 'text\n');
    symlinkSync('.env', path.join(daemon.root, 'notes.txt'));
    symlinkSync('/etc/passwd', path.join(daemon.root, 'users.txt'));
    linkSync(path.join(daemon.root, '.env'), path.join(daemon.root, 'hard.txt'));
    assert.equal(await outcome(session, 'cat plain.txt'), 'allow');
    for (const name of ['notes.txt', 'users.txt', 'hard.txt', '/etc/passwd', '../x', '.']) {
      assert.match(await outcome(session, `cat ${name}`), /^ask /, name);
    }
    assert.match(await outcome(session, 'cat .env'), /^block /);
  });

  test('is asked when the caller brings a variable that changes it', async () => {
    const daemon = await runtime('guarded');
    await using session = await sessionOf(daemon);
    for (const name of ['GIT_EXTERNAL_DIFF', 'LD_PRELOAD', 'PATH', 'npm_config_script_shell']) {
      const found = await outcome(session, 'git status', { env: { [name]: './x' } });
      assert.equal(found, 'ask env.program', name);
    }
    assert.equal(await outcome(session, 'ls', { env: { HARMLESS: '1' } }), 'allow');
  });

  test('of npm shows what it runs, and waits when it may reach further', async () => {
    const daemon = await runtime('guarded');
    const scripts = { build: 'echo built', prebuild: 'echo before' };
    write(daemon, 'package.json', JSON.stringify({ scripts }));
    await using session = await sessionOf(daemon);
    const answer = await session.ask('npm run build');
    const [rule] = answer.data.verdict.rules;
    assert.equal(rule.id, 'allow.npm.run.build');
    assert.match(rule.reason, /echo built.*sha256 [0-9a-f]{64}/);
    assert.match(answer.data.stdout, /before[^]*built/);
    // One that is missing starts nothing.
    assert.equal(await outcome(session, 'npm run ls'), 'allow');
    write(daemon, 'package.json', '{"scripts": "none"}');
    assert.match(await outcome(session, 'npm test'), /^ask facts\.package-script/);
    write(daemon, 'package.json', JSON.stringify({ scripts }));
    await using online = await sessionOf(daemon, { network: 'on' });
    assert.equal(await outcome(online, 'npm run build'), 'ask reach.network');
  });

  test('of git runs no helper of a hostile repository', async () => {
    const daemon = await runtime('guarded');
    const { root } = daemon;
    const helper = write(daemon, 'evil.sh', `#!/bin/sh\ntouch ${root}/ran\ncat\n`);
    chmodSync(helper, 0o755);
    const git = (...args: string[]): unknown =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], { cwd: root });
    git('init', '-q');
    write(daemon, 'a.txt', 'one\n');
    write(daemon, '.gitattributes', '*.txt filter=evil diff=evil\n');
    git('add', 'a.txt', '.gitattributes');
    git('commit', '-qm', 'one');
    const settings = ['core.fsmonitor', 'diff.external', 'filter.evil.clean', 'diff.evil.textconv'];
    for (const name of settings) git('config', name, helper);
    await using session = await sessionOf(daemon);
    const commands = ['git status', 'git diff', 'git log -p', 'git show', 'git branch'];
    const changed = (): string => write(daemon, 'a.txt', 'two\n');
    changed();
    execFileSync('git', ['diff', '--stat'], { cwd: root });
    assert.ok(existsSync(path.join(root, 'ran')), 'the repository is hostile');
    execFileSync('rm', [path.join(root, 'ran')]);
    for (const command of commands) {
      changed();
      const answer = await session.ask(command);
      assert.deepEqual([answer.ok, answer.data.exit_code], [true, 0], JSON.stringify(answer));
      assert.ok(!existsSync(path.join(root, 'ran')), command);
    }
    assert.match((await session.run('git diff')).stdout, /\+two/);
    execFileSync('git', ['config', 'include.path', '/elsewhere'], { cwd: root });
    assert.equal(await outcome(session, 'git status'), 'ask facts.git-config');
  });
});

test(
  'auto asks for what reaches beyond the sandbox, and runs what stays in it',
  { skip },
  async () => {
    const daemon = await runtime('auto');
    await using session = await sessionOf(daemon);
    assert.equal(await outcome(session, 'echo x >made; for i in 1 2; do echo $i; done'), 'allow');
    assert.equal(await outcome(session, 'rm -rf made; eval "kill -9 $$"'), 'allow');
    assert.equal(await outcome(session, 'rm -rf made ~'), 'block fs.rm-rf');
    await using online = await sessionOf(daemon, { network: 'on' });
    assert.equal(await outcome(online, 'true'), 'ask reach.network');
    assert.equal(await outcome(online, 'rm -rf made'), 'ask reach.network');
    await using bare = await sessionOf(daemon, { sandbox: 'none' });
    assert.equal(await outcome(bare, 'true'), 'ask reach.sandbox');
    assert.equal(await outcome(bare, 'rm -rf made'), 'block fs.rm-rf');
    const beyond = path.join(daemon.home, 'beyond');
    mkdirSync(beyond);
    await using wide = await sessionOf(daemon, { files: { write: { allow: [beyond] } } });
    assert.equal(await outcome(wide, 'true'), 'ask reach.files');
  },
);

test('auto lets a command look for keys that its sandbox has not', { skip }, async () => {
  const daemon = await runtime('auto');
  await using session = await sessionOf(daemon);
  const looking = await session.run('cat ~/.ssh/id_rsa "$HOME/.aws/credentials"');
  assert.equal(looking.exit_code, 1);
  assert.match(looking.stderr, /No such file[^]*No such file/);
  assert.equal(await outcome(session, 'cat .ssh/id_rsa'), 'block secrets.file');
  assert.equal(await outcome(session, 'cat ~/.env'), 'block secrets.file');
  await using online = await sessionOf(daemon, { network: 'on' });
  assert.equal(await outcome(online, 'cat ~/.ssh/id_rsa'), 'block secrets.hidden');
  await using guarded = await sessionOf(daemon, { policy: 'guarded' });
  assert.equal(await outcome(guarded, 'cat ~/.ssh/id_rsa'), 'block secrets.hidden');
});

test('locked asks nobody; a session can only be stricter than its runtime', { skip }, async () => {
  const daemon = await runtime('guarded');
  await using locked = await sessionOf(daemon, { policy: 'locked' });
  assert.match(await outcome(locked, 'make'), /^block /);
  assert.equal(await outcome(locked, 'pwd'), 'allow');
  await using trusted = await sessionOf(daemon, { policy: 'trusted' });
  assert.match(await outcome(trusted, 'make'), /^ask /);
});

test('an agent that keeps being refused is slowed', { skip }, async () => {
  const daemon = await runtime('guarded');
  await using session = await sessionOf(daemon);
  const begun = performance.now();
  for (let tries = 0; tries < 4; tries += 1) await outcome(session, 'sudo id');
  const waited = performance.now() - begun;
  assert.ok(waited >= 1_000, `four refusals came after ${waited} ms`);
});

const policyFile = (daemon: Pick<Daemon, 'home'>, text: string): string => {
  const file = path.join(daemon.home, 'config', 'trl', 'policy.yaml');
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text, { mode: 0o600 });
  return file;
};

test('a policy file bounds sessions, and is read anew or not at all', { skip }, async () => {
  const daemon = await whole('');
  write(daemon, 'secret.txt', 'hidden\n');
  await using session = await sessionOf(daemon);
  const receipt = await session.run('cat secret.txt; echo "[$LOGNAME]"; ulimit -u');
  assert.match(receipt.stdout, /^\[\]\n\d+\n$/);
  assert.equal(receipt.verdict.policy.name, 'team');
  const limit = receipt.limits.find(({ name }: Json) => name === 'timeout_ms');
  assert.equal(limit.value, 5_000);
  assert.equal((await session.ask('true', { timeout_ms: 6_000 })).error.code, 'POLICY_DENIED');
  assert.equal(await outcome(session, 'sh -c "cd x; make all"'), 'block rule.no-make');
  const made = await session.client.ask('session.create', { network: 'on' });
  assert.equal(made.error.code, 'POLICY_DENIED');
  const granted = { files: { write: { allow: [daemon.home] } } };
  await using wide = await sessionOf(daemon, granted);
  assert.equal((await wide.ask('true')).error.code, 'POLICY_DENIED');
  const file = policyFile(daemon, 'name: team\nbase: nonsense\n');
  process.kill(daemon.pid, 'SIGHUP');
  await eventually('its refusal', () => daemon.log().includes('stays'));
  assert.match(daemon.log(), /the policy stays as it was: .*policy\.yaml.*2/);
  assert.equal(await outcome(session, 'make'), 'block rule.no-make');
  writeFileSync(file, 'name: other\nbase: locked\n');
  await reread(daemon);
  assert.match(await outcome(session, 'true'), /^block /);
});

/** Has the daemon read its policy file anew, and waits until it has. */
async function reread(daemon: Daemon): Promise<void> {
  const count = (): number => daemon.log().split('was read again').length;
  const before = count();
  process.kill(daemon.pid, 'SIGHUP');
  await eventually('its reading', () => count() !== before);
  assert.equal(count(), before + 1, daemon.log());
}

async function repolicy(daemon: Daemon, ...lines: string[]): Promise<void> {
  policyFile(daemon, ['name: team', 'base: trusted', ...lines].join('\n'));
  await reread(daemon);
}

const author = {
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@b.example',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@b.example',
};

test('what a policy file denies no longer grant opens again', { skip }, async () => {
  const daemon = await whole('');
  for (const name of ['kept', 'work/kept']) {
    write(daemon, `../${name}/x/key`, 'SECRET\n');
  }
  await repolicy(daemon, `files: { deny: [kept, ${daemon.home}/kept] }`);
  const below = ['kept/x', 'kept/x/key', '../kept/x', '../kept/x/key'];
  // Rules of its own by which a session has no layers: git's history would show what is denied.
  execFileSync('sh', ['-c', 'git init -q && git add kept && git commit -qm one'], {
    cwd: daemon.root,
    env: { ...process.env, ...author },
  });
  const files = { read: { deny: ['own'], allow: [path.join(daemon.root, 'own', 'x')] } };
  mkdirSync(path.join(daemon.root, 'own', 'x'), { recursive: true });
  await using unlayered = await sessionOf(daemon, { files });
  const shown = await unlayered.ask('git show HEAD:kept/x/key');
  assert.equal(shown.error?.code, 'SANDBOX_UNAVAILABLE', JSON.stringify(shown));
  for (const name of below.map((one) => path.join(daemon.root, one))) {
    for (const how of ['read', 'write']) {
      await using session = await sessionOf(daemon, { files: { [how]: { allow: [name] } } });
      const answer = await session.ask(`cat ${name} ${name}/key`);
      // In the workspace it would have no layers, which is refused before.
      const isRefused = /^(POLICY_DENIED|SANDBOX_UNAVAILABLE)$/.test(answer.error?.code);
      assert.ok(isRefused, JSON.stringify([how, name, answer]));
    }
  }
});

test('without a sandbox answers tell what holds, and no bound of policy is void', async () => {
  const daemon = await whole('');
  await repolicy(daemon);
  await using bare = await sessionOf(daemon, { sandbox: 'none' });
  const { data: info } = await bare.client.ask('session.info', { session_id: bare.id });
  assert.equal(info.network, 'host');
  const receipt = await bare.run('true');
  assert.equal(receipt.sandbox.network, 'host');
  const told = auditEvents(daemon.home);
  const { envelope }: Json = told.findLast(({ kind }) => kind === 'exec.statement')?.data ?? {};
  const { predicate } = JSON.parse(Buffer.from(envelope.payload, 'base64').toString());
  const { sandbox, projection, grants, reads_complete: isComplete } = predicate;
  assert.deepEqual([sandbox.network, projection.network, isComplete], ['host', 'host', false]);
  assert.deepEqual(grants.read, { allow: ['/'], deny: [] });
  assert.deepEqual(grants.write, { allow: ['/'], deny: [] });
  if (process.getuid?.() === 0) {
    const named = receipt.limits.filter(({ by }: Json) => by === 'setrlimit' || by === 'cgroup-v1');
    assert.deepEqual(named, [], 'root lifts what the kernel bounds it by');
  }
  const refusal = async (params: object): Promise<string> => {
    const asked = { working_dir: daemon.root, sandbox: 'none', ...params };
    return (await bare.client.ask('session.create', asked)).error?.code ?? 'made';
  };
  assert.equal(await refusal({ network: 'off' }), 'INVALID_PARAMS');
  assert.equal(await refusal({ files: { read: { deny: ['x'] } } }), 'INVALID_PARAMS');
  assert.equal(await refusal({ files: { write: { deny: ['x'] } } }), 'INVALID_PARAMS');
  const rules = { path: daemon.root, policy: { write: { deny: ['x'] } } };
  const { data: opened } = await bare.client.ask('workspace.open', rules);
  assert.equal(await refusal({ workspace_id: opened.workspace_id }), 'INVALID_PARAMS');
  await repolicy(daemon, 'files: { deny: [secret.txt] }');
  assert.equal(await refusal({}), 'POLICY_DENIED');
  assert.equal((await bare.ask('cat secret.txt')).error?.code, 'POLICY_DENIED');
  await repolicy(daemon, 'files: { write: [~/out] }');
  assert.equal(await refusal({}), 'POLICY_DENIED');
  assert.equal((await bare.ask('true')).error?.code, 'POLICY_DENIED');
  await repolicy(daemon, 'network: { mode: off }');
  assert.equal(await refusal({}), 'POLICY_DENIED');
  assert.equal(await outcome(bare, 'curl -s http://127.0.0.1:9'), 'block reach.network');
  await repolicy(daemon, 'network: { mode: ask }');
  assert.equal(await outcome(bare, 'true'), 'ask reach.network');
  const [asked] = (await bare.client.ask('approval.list', { state: 'pending' })).data.approvals;
  assert.equal(asked.asked.network, 'host');
  assert.deepEqual(asked.asked.files.read, { allow: ['/'], deny: [] });
  await repolicy(daemon, 'limits: { processes: 64 }');
  assert.equal(await outcome(bare, 'true'), 'ask reach.limits');
});

test('a policy that cannot be used stops the start', async () => {
  const { home, root } = await whole('');
  for (const [text, wanted] of [
    ['', /empty/],
    ['base: guarded\nbase: auto\n', /:2:1: /],
    ['base: guarded\nnetwerk: { mode: off }\n', /network/],
  ] as const) {
    const own = path.join(home, 'other');
    mkdirSync(own, { recursive: true });
    const file = policyFile({ home: own }, text);
    const trl = path.join(path.dirname(import.meta.dirname), 'trl');
    const args = ['serve', '--socket-path', path.join(own, 's'), '--workspace-root', root];
    const env = { ...process.env, ...surroundings(own), TRL_POLICY: file };
    const ended = spawnSync(trl, args, { env, encoding: 'utf8', timeout: 240_000 });
    assert.equal(ended.status, 125, ended.stderr);
    assert.match(ended.stderr, wanted);
    assert.match(ended.stderr, /policy\.yaml/);
  }
});
