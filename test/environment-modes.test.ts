// Variables by name of commands that wait for a person, and the mode that passes all of them on.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { launcherVariables } from '../src/launcher-variables.ts';
import { temporary, whyNoBox } from './support/box.ts';
import { raw, type Daemon, type Json } from './support/daemon.ts';
import { begin, hash, hostEnv, secret, sum, withheldNames } from './support/environment.ts';
import { decide, ended, parked, until } from './support/parked.ts';
import { openSession, type TestSession } from './support/session.ts';

const skip = whyNoBox;

describe('a command that waits for a person', { skip }, () => {
  test('gets its secret after the yes, also from a daemon that starts over', async () => {
    const policy = { TRL_POLICY: 'guarded', TRL_RUNNER_LINGER_MS: '120000' };
    const first = await begin(policy);
    const session = await openSession(first.socketPath, { working_dir: first.root });
    const command = `${sum('MY_API_TOKEN')} > found`;
    const data = await parked(session, command, { env_keys: ['MY_API_TOKEN'] });
    assert.ok(data.verdict.rules.some(({ id }: Json) => id === 'secret.grant'));
    session.client.drop();
    await first.kill();
    await using second = await begin(policy, first.home);
    assert.equal((await decide(second, data.approval_id)).ok, true);
    const done = await ended(second, data.exec_id);
    assert.equal(done.state, 'exited', JSON.stringify(done));
    assert.equal(readFileSync(path.join(second.root, 'found'), 'utf8'), `${hash(secret)}\n`);
  });

  test('is asked about anew when the value is another one by then', async () => {
    const policy = { TRL_POLICY: 'guarded', TRL_RUNNER_LINGER_MS: '120000' };
    const first = await begin(policy);
    const session = await openSession(first.socketPath, { working_dir: first.root });
    const data = await parked(session, 'touch ran', { env_keys: ['MY_API_TOKEN'] });
    session.client.drop();
    await first.kill();
    const changed = { ...policy, MY_API_TOKEN: 'anotherV4lueOfTheToken' };
    await using second = await begin(changed, first.home);
    await decide(second, data.approval_id);
    using client = await raw(second.socketPath);
    await until('another question', async () => {
      const { data: view } = await client.ask('approval.get', { approval_id: data.approval_id });
      return view.state === 'superseded' ? view : null;
    });
    assert.ok(!existsSync(path.join(second.root, 'ran')));
  });
});

describe('legacy', { skip }, () => {
  let legacy: Daemon;
  const policy = path.join(mkdtempSync(path.join(tmpdir(), 'trl-policy-')), 'policy.yaml');
  const ruled = { ASKED_ONE: 'a', BLOCKED_ONE: 'b', PROD_TOKEN: 'Zr4kQm7vXw2pTn9sLd3d' };
  before(async () => {
    writeFileSync(
      policy,
      [
        'base: auto',
        'environment: { grants: { ask: [ASKED_*], block: [BLOCKED_ONE] } }',
        'secrets: { block: [PROD_*] }',
      ].join('\n'),
      { mode: 0o600 },
    );
    legacy = await begin({ TRL_ENV_MODE: 'legacy', TRL_POLICY: policy, ...ruled });
  });
  after(async () => {
    await legacy?.stop();
    rmSync(path.dirname(policy), { recursive: true });
  });
  const openLegacy = (params: object = {}): Promise<TestSession> =>
    openSession(legacy.socketPath, { working_dir: legacy.root, ...params });

  test('the runtime’s environment passes on, less what is withheld or injects', async () => {
    await using session = await openLegacy();
    const { stdout } = await session.run(
      [sum('MY_PLAIN'), sum('AWS_PROFILE'), sum('MY_API_TOKEN')].join('; '),
    );
    const wanted = [hostEnv.MY_PLAIN, hostEnv.AWS_PROFILE, secret];
    assert.deepEqual(stdout.trim().split('\n'), wanted.map(hash));
    const shown = await session.run('bash ./show.sh MY_API_TOKEN');
    assert.match(shown.stdout, /^\[\[HIDDEN:[0-9a-f]+\]\]\n$/);
    for (const name of [...withheldNames, 'PYTHONSTARTUP', 'LD_PRELOAD', 'TRL_POLICY']) {
      assert.equal((await session.run(`test -z "\${${name}+x}"`)).exit_code, 0, name);
      if (!withheldNames.includes(name)) continue;
      const answer = await session.ask('true', { env_keys: [name] });
      assert.match(answer.error?.message ?? '', /withheld/, name);
    }
    assert.equal((await session.run('echo $TERM $HOME')).stdout.startsWith('dumb /'), true);
  });

  test('has nothing of the launcher’s, and what the caller exported as it was', () => {
    using place = temporary();
    using work = temporary();
    const own = ['root', 'node', 'self', 'link', 'failure', 'stamp', 'runner', 'found', 'word'];
    const exported = Object.fromEntries(own.map((name) => [name, `of the caller: ${name}`]));
    const names = ['NODE_COMPILE_CACHE', 'TRL_COMPILE_CACHE', ...own];
    const command = names.map((one) => `echo "\${${one}-none}"`).join(';');
    const home = { HOME: place.path, XDG_STATE_HOME: place.path, XDG_CONFIG_HOME: place.path };
    const env = { PATH: process.env['PATH'], TRL_ENV_MODE: 'legacy', ...home, ...exported };
    const trl = path.join(path.dirname(import.meta.dirname), 'trl');
    const ran = spawnSync(trl, ['run', command], { env, cwd: work.path, encoding: 'utf8' });
    const wanted = ['none', 'none', ...own.map((name) => exported[name])];
    assert.deepEqual(ran.stdout.trim().split('\n'), wanted, ran.stderr);
    // Whose value it is says the mark.
    const cache = '/home/me/cache';
    assert.deepEqual(launcherVariables({ NODE_COMPILE_CACHE: cache }), []);
    const nested = { NODE_COMPILE_CACHE: cache, TRL_COMPILE_CACHE: '/checkout' };
    assert.deepEqual(launcherVariables(nested), []);
  });

  test('is no way around what policy asks about or blocks by name', async () => {
    await using session = await openLegacy();
    for (const name of Object.keys(ruled)) {
      assert.equal((await session.run(`test -z "\${${name}+x}"`)).exit_code, 0, name);
    }
    const asked = await session.ask('true', { env_keys: ['ASKED_ONE'] });
    assert.equal(asked.error?.code, 'APPROVAL_REQUIRED');
  });

  /** The machine has other variables, too. */
  const isHost = (name: string): boolean => Object.hasOwn(hostEnv, name);

  test('what scoped would hide, and the command uses, is warned of by name', async () => {
    await using session = await openLegacy();
    const rows: readonly (readonly [string, object, readonly string[]])[] = [
      ['test -n "$MY_PLAIN" && test -n "${MY_HOST}"', {}, ['MY_HOST', 'MY_PLAIN']],
      ['aws() { :; }; aws s3 ls', {}, ['AWS_PROFILE']],
      ['python3 -c \'import os; os.environ.get("MY_PLAIN")\' || true', {}, ['MY_PLAIN']],
      ['test -n "$MY_PLAIN"', { env_keys: ['MY_PLAIN'] }, []],
      ['test -n "$MY_PLAIN"', { env: { MY_PLAIN: '1' } }, []],
      ['echo $HOME $PATH $CORP_THING', {}, []],
    ];
    for (const [command, more, wanted] of rows) {
      const { warnings } = await session.run(command, more);
      assert.deepEqual(
        warnings.map((one: string) => one.split(' ')[0]).filter(isHost),
        wanted,
        command,
      );
    }
    await using scoped = await begin({ TRL_POLICY: 'auto' });
    await using quiet = await openSession(scoped.socketPath, { working_dir: scoped.root });
    assert.deepEqual((await quiet.run('echo $MY_PLAIN')).warnings, []);
  });

  test('session.info names what is there by legacy alone', async () => {
    await using session = await openLegacy();
    const { data } = await session.client.ask('session.info', { session_id: session.id });
    assert.equal(data.environment.mode, 'legacy');
    for (const name of ['MY_PLAIN', 'MY_API_TOKEN', 'AWS_PROFILE']) {
      assert.ok(data.environment.inherited.includes(name), name);
    }
    for (const name of [...withheldNames, 'PATH', 'PYTHONSTARTUP', 'TRL_POLICY']) {
      assert.ok(!data.environment.inherited.includes(name), name);
    }
  });
});
