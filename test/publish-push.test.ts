// A push of a real repository to a real remote, with the hook that `trl publish hook` installs.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { readFileSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { startRuntime, surroundings, type Daemon } from './support/daemon.ts';
import { passage, plan, write, writePolicy } from './support/publication.ts';

const checkout = path.dirname(import.meta.dirname);
let daemon: Daemon;
let home: string;
let work: string;
let remote: string;
let env: Record<string, string>;

const git = (...args: readonly string[]) =>
  spawnSync('git', args, { cwd: work, encoding: 'utf8', env: { ...process.env, ...env } });
const gitOk = (...args: readonly string[]): string => {
  const { status, stdout, stderr } = git(...args);
  assert.equal(status, 0, `git ${args.join(' ')}: ${stderr}`);
  return stdout.trim();
};
const trl = (...args: readonly string[]) =>
  spawnSync(path.join(checkout, 'trl'), args, {
    cwd: work,
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
const commit = (message: string): string => {
  gitOk('add', '-A');
  gitOk('commit', '-q', '-m', message);
  return gitOk('rev-parse', 'HEAD');
};
const remoteHas = (ref: string): string | null => {
  const found = spawnSync('git', ['rev-parse', '--verify', '-q', ref], {
    cwd: remote,
    encoding: 'utf8',
  });
  return found.status === 0 ? found.stdout.trim() : null;
};

before(async () => {
  home = realpathSync(mkdtempSync(path.join(tmpdir(), 'trl-push-')));
  work = path.join(home, 'work');
  remote = path.join(home, 'remote.git');
  env = {
    ...surroundings(home),
    TRL_POLICY: '',
    PATH: `${checkout}:${process.env['PATH'] ?? ''}`,
    HOME: home,
    GIT_CONFIG_GLOBAL: path.join(home, 'gitconfig'),
    GIT_CONFIG_NOSYSTEM: '1',
  };
  writePolicy(home);
  // A runtime that runs answers faster; the last test is without one.
  daemon = await startRuntime({ home, env, socketPath: path.join(home, 'run/trl.sock') });
  writeFileSync(
    path.join(home, 'gitconfig'),
    '[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n',
  );
  execFileSync('git', ['init', '-q', '--bare', remote], { env: { ...process.env, ...env } });
  gitOk('init', '-q');
  gitOk('remote', 'add', 'origin', remote);
  write(work, { 'private/plan.md': plan, '.gitignore': 'private\n', 'app.txt': 'one\n' });
});
after(async () => {
  await daemon?.stop();
  rmSync(home, { recursive: true, force: true });
});

test('without the hook a leak is pushed: this is what it is for', () => {
  const other = path.join(home, 'other.git');
  execFileSync('git', ['init', '-q', '--bare', other], { env: { ...process.env, ...env } });
  write(work, { 'leak.txt': passage });
  commit('leak');
  gitOk('push', '-q', other, 'HEAD:refs/heads/main');
  gitOk('update-ref', '-d', 'HEAD');
  gitOk('rm', '-q', '--cached', '-r', '.');
  unlinkSync(path.join(work, 'leak.txt'));
});

test('the hook is printed, and installed where git looks for it', () => {
  const printed = trl('publish', 'hook', '--audience', 'public');
  assert.match(printed.stdout, /^#!\/bin\/sh\n/);
  assert.match(printed.stdout, /publish check --git - --remote "\$1" --audience public\n$/);
  const file = path.join(work, '.git/hooks/pre-push');
  writeFileSync(file, '#!/bin/sh\nexit 0\n', { mode: 0o755 });
  const refused = trl('publish', 'hook', '--install');
  assert.equal(refused.status, 125);
  assert.match(refused.stderr, /is there already/);
  unlinkSync(file);
  assert.equal(trl('publish', 'hook', '--install').status, 0);
  assert.equal(trl('publish', 'hook', '--install').status, 0);
  assert.equal(statSync(file).mode & 0o777, 0o755);
  assert.ok(readFileSync(file, 'utf8').includes('trl publish check'));
  assert.equal(trl('publish', 'hook', '--audience', 'a; rm -rf .').status, 125);
});

test('clean commits are pushed; a leak is not, nor one that a later commit takes back', () => {
  const first = commit('first');
  gitOk('push', '-q', '-u', 'origin', 'main');
  assert.equal(remoteHas('main'), first);

  write(work, { 'app.txt': `one\n${passage}\n` });
  commit('leak');
  const blocked = git('push', 'origin', 'main');
  assert.equal(blocked.status, 1, blocked.stderr);
  assert.match(
    blocked.stdout + blocked.stderr,
    /denied\.content {2}app\.txt in commit [0-9a-f]{12}/,
  );
  assert.ok(!(blocked.stdout + blocked.stderr).includes('private/plan'));
  assert.equal(remoteHas('main'), first);

  write(work, { 'app.txt': 'two\n' });
  commit('take it back');
  assert.equal(git('push', 'origin', 'main').status, 1);
  assert.equal(git('push', 'origin', 'HEAD:refs/heads/new').status, 1);
  assert.deepEqual([remoteHas('main'), remoteHas('new')], [first, null]);
  const ci = trl('publish', 'check', '--git', 'origin/main..HEAD', '--json');
  assert.deepEqual([ci.status, JSON.parse(ci.stdout).decision], [1, 'block']);

  gitOk('reset', '-q', '--soft', first);
  const mended = commit('two in one');
  gitOk('push', '-q', 'origin', 'main');
  assert.equal(remoteHas('main'), mended);
  const passed = trl('publish', 'check', '--git', `${first}..HEAD`, '--json');
  assert.deepEqual([passed.status, JSON.parse(passed.stdout).decision], [0, 'pass']);
});

test('a message, a name, a secret and a denied file are no less told by a commit', () => {
  const base = gitOk('rev-parse', 'HEAD');
  const isBlocked = (what: string, rule: RegExp): void => {
    const { status, stdout, stderr } = git('push', 'origin', 'HEAD:refs/heads/attempt');
    assert.equal(status, 1, `${what}: ${stderr}`);
    assert.match(stdout + stderr, rule, what);
    assert.equal(remoteHas('attempt'), null);
    gitOk('reset', '-q', '--hard', base);
  };
  gitOk('commit', '-q', '--allow-empty', '-m', `about\n\n${passage}`);
  isBlocked('a message', /denied\.content {2}commit [0-9a-f]{12}/);
  gitOk('commit', '-q', '--allow-empty', '-m', 'x', '--author', 'Project Nightingale <a@b.c>');
  isBlocked('an author', /denied\.name/);
  const token = [
    'ghp',
    Buffer.from(plan)
      .toString('hex')
      .replaceAll(/[^a-z0-9]/g, '')
      .slice(7, 43),
  ].join('_');
  write(work, { 'conf.txt': `token: ${token}\n` });
  commit('oops');
  gitOk('rm', '-q', 'conf.txt');
  commit('gone');
  isBlocked('a secret in between', /secret\.likely/);
  gitOk('add', '-f', 'private/plan.md');
  gitOk('commit', '-q', '-m', 'the file itself');
  isBlocked('a denied file', /denied\.path/);
  write(work, { 'private/plan.md': plan });
  write(work, { 'docs/plan.txt': plan });
  commit('a copy of it');
  isBlocked('a copy', /denied\.file/);
  gitOk('tag', '-a', 'v1', '-m', passage);
  assert.equal(git('push', 'origin', 'v1').status, 1);
  gitOk('tag', '-d', 'v1');
});

test('deleting a branch, and pushing what is there already, leave nothing new', () => {
  gitOk('push', '-q', 'origin', 'HEAD:refs/heads/gone');
  assert.notEqual(remoteHas('gone'), null);
  gitOk('push', '-q', 'origin', ':refs/heads/gone');
  assert.equal(remoteHas('gone'), null);
  gitOk('push', '-q', 'origin', 'HEAD:refs/heads/same');
});

test('what the remote has already is not held against who pushes more of it', () => {
  // Somebody let it through once, before it was denied.
  write(work, { 'old.txt': `${passage}\n` });
  commit('old');
  gitOk('push', '-q', '--no-verify', 'origin', 'main');
  write(work, { 'old.txt': `${passage}\nand a line more\n` });
  commit('more');
  const { status, stderr } = git('push', 'origin', 'main');
  assert.equal(status, 0, stderr);
});

test('where nothing can be checked, nothing is pushed; no runtime need run', async () => {
  const before_ = remoteHas('main');
  gitOk('commit', '-q', '--allow-empty', '-m', 'one more');
  const bare = { ...env, PATH: '/usr/local/bin:/usr/bin:/bin' };
  const hidden = spawnSync('git', ['push', 'origin', 'main'], {
    cwd: work,
    encoding: 'utf8',
    env: { ...process.env, ...bare },
  });
  assert.equal(hidden.status, 1);
  assert.match(hidden.stderr, /trl is not in PATH/);
  await daemon.kill('SIGTERM');
  writePolicy(home, 'publication: nonsense\n');
  assert.notEqual(git('push', 'origin', 'main').status, 0);
  writePolicy(home);
  assert.equal(remoteHas('main'), before_);
  gitOk('push', '-q', 'origin', 'main');
});
