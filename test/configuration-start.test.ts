// A runtime has what its files, variables and flags say, or does not start.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { whyNoBox } from './support/box.ts';
import { startRuntime, surroundings, type Json } from './support/daemon.ts';
import { openSession } from './support/session.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');
const home = mkdtempSync(path.join(tmpdir(), 'trl-configured-'));
after(() => rmSync(home, { recursive: true, force: true }));

/** A home with a configuration, and a workspace beside it. */
function homeWith(name: string, text: string): string {
  const directory = path.join(home, name);
  mkdirSync(path.join(directory, 'config/trl'), { recursive: true, mode: 0o700 });
  mkdirSync(path.join(directory, 'work'), { recursive: true });
  writeFileSync(path.join(directory, 'config/trl/config.yaml'), text, { mode: 0o600 });
  return directory;
}

function run(at: string, args: readonly string[], env: object = {}) {
  return spawnSync(trl, args, {
    cwd: path.join(at, 'work'),
    env: { ...process.env, ...surroundings(at), ...env },
    encoding: 'utf8',
    timeout: 240_000,
  });
}

const skip = whyNoBox;

describe('the configuration of a running daemon', { skip }, () => {
  test('its mode, what it withholds and its sources hold', async () => {
    const directory = homeWith(
      'held',
      `terminal: {env_mode: legacy}
environment: {withhold: [MINE_*]}
secrets:
  names: [ODD_NAME]
  sources:
    - {kind: environment}
    - {kind: command, name: FROM_PROGRAM, argv: [printf, pr0gramV4lueHere]}
`,
    );
    const env = { MINE_A: 'x', SEEN: 'seen', ODD_NAME: 'oddV4lueOfTheHost', TRL_POLICY: 'auto' };
    await using daemon = await startRuntime({ home: directory, env });
    await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
    const got = await session.run('test "$SEEN" = seen -a -z "${MINE_A+x}"');
    assert.equal(got.exit_code, 0);
    assert.match(got.warnings.join(), /^SEEN /);
    const { exit_code: code, verdict } = await session.run('test ${#FROM_PROGRAM} = 16', {
      env_keys: ['FROM_PROGRAM'],
    });
    assert.equal(code, 0);
    assert.ok(verdict.rules.some(({ id }: Json) => id === 'secret.grant'));
    const { data } = await session.client.ask('session.info', { session_id: session.id });
    assert.ok(data.environment.withheld_seen.includes('MINE_A'));
    const listed = await session.client.ask('secrets.list', {});
    const names = listed.data.secrets.map(({ name }: Json) => name);
    for (const name of ['ODD_NAME', 'FROM_PROGRAM']) assert.ok(names.includes(name), name);
  });

  test('no value is read for a session, a question or a command that policy blocks', async () => {
    const directory = homeWith('late', '');
    const marker = path.join(directory, 'read');
    const script = `echo once >>${marker}; echo pr0gramV4lueHere`;
    homeWith(
      'late',
      `secrets:
  sources: [{kind: command, name: LATE, argv: [sh, -c, '${script}']}]
`,
    );
    await using daemon = await startRuntime({ home: directory, env: { TRL_POLICY: 'auto' } });
    const made = { working_dir: daemon.root, env_keys: ['LATE'] };
    await using session = await openSession(daemon.socketPath, made);
    const explained = { session_id: session.id, command: 'make' };
    const { data } = await session.client.ask('policy.explain', explained);
    assert.ok(data.rules.some(({ id }: Json) => id === 'secret.grant'));
    assert.equal((await session.ask('rm -rf /')).error.code, 'POLICY_DENIED');
    await session.client.ask('session.info', { session_id: session.id });
    await session.client.ask('secrets.list', {});
    assert.equal(existsSync(marker), false);
    assert.equal((await session.run('test ${#LATE} = 16')).exit_code, 0);
    assert.equal((await session.run('test ${#LATE} = 16')).exit_code, 0);
    assert.equal(readFileSync(marker, 'utf8'), 'once\n', 'and it is held from then on');
  });

  test('a flag of serve goes before the file', async () => {
    const directory = homeWith('flag', 'terminal: {env_mode: legacy}\n');
    const args = ['serve', '--socket-path', '{socket}', '--workspace-root', '{root}'];
    await using daemon = await startRuntime({
      home: directory,
      args: [...args, '--env-mode', 'scoped'],
      env: { SEEN: 'seen' },
    });
    await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
    assert.equal((await session.run('test -z "${SEEN+x}"')).exit_code, 0);
  });

  test('trl run has --env-key, and warns on standard error', () => {
    const directory = homeWith('cli', 'terminal: {env_mode: legacy}\n');
    const env = { SEEN: 'seen', TRL_POLICY: 'auto' };
    const warned = run(directory, ['run', 'test "$SEEN" = seen'], env);
    assert.deepEqual([warned.status, warned.stdout], [0, ''], warned.stderr);
    assert.match(warned.stderr, /warning: SEEN .*--env-key SEEN/);
    const scoped = { ...env, TRL_ENV_MODE: 'scoped' };
    const asked = run(directory, ['run', '--env-key', 'SEEN', 'test "$SEEN" = seen'], scoped);
    assert.deepEqual([asked.status, asked.stderr], [0, '']);
    const unknown = run(directory, ['run', '--env-key', 'NO_SUCH_NAME', 'true'], scoped);
    assert.equal(unknown.status, 125);
    assert.match(unknown.stderr, /"NO_SUCH_NAME".*trl secrets set NO_SUCH_NAME/);
  });
});

test('what cannot be used stops the start of every door', () => {
  const directory = homeWith('bad', 'terminal:\n  env_mod: legacy\n');
  const wanted = /config\.yaml:2:3: unknown key "env_mod"; did you mean "env_mode"/;
  for (const args of [
    ['serve', '--socket-path', path.join(directory, 's')],
    ['run', 'true'],
    ['config', 'show'],
  ]) {
    const { status, stderr } = run(directory, args);
    assert.notEqual(status, 0, args.join(' '));
    assert.match(stderr, wanted, args.join(' '));
  }
  const own = "redaction: {patterns: [{id: own, pattern: 'a('}]}\n";
  const unreadable = homeWith('pattern', own);
  for (const args of [
    ['run', 'true'],
    ['config', 'show'],
  ]) {
    const { status, stderr } = run(unreadable, args);
    assert.notEqual(status, 0, args.join(' '));
    assert.match(stderr, /config\.yaml:1:43: Cannot use the redaction pattern "own"/);
  }
  const good = homeWith('good', '');
  rmSync(path.join(good, 'config/trl/config.yaml'));
  for (const env of [{ TRL_ENV_MODE: 'both' }, { TRL_CONFIG: '/nowhere/at/all.yaml' }]) {
    const { status, stderr } = run(good, ['run', 'true'], env);
    assert.notEqual(status, 0);
    assert.match(stderr, /TRL_ENV_MODE|nowhere\/at\/all\.yaml:1:1: there is no such file/);
  }
});

test('trl redact has the profile and the patterns of the configuration', () => {
  const pattern = "redaction: {patterns: [{id: own, pattern: 'corp-[a-z]{8}'}]}\n";
  const line = 'a corp-abcdefgh b\n';
  const redact = (at: string) =>
    spawnSync(trl, ['redact'], {
      input: line,
      env: { ...process.env, ...surroundings(at) },
      encoding: 'utf8',
    });
  assert.match(redact(homeWith('redact', pattern)).stdout, /^a \[HIDDEN:[0-9a-f]+\] b\n$/);
  assert.equal(redact(homeWith('redact-bare', 'redaction: {profile: balanced}\n')).stdout, line);
});

test('trl config show says what holds and where it comes from', () => {
  const directory = homeWith('shown', 'environment:\n  withhold: [CORP_*]\n');
  const file = path.join(directory, 'config/trl/config.yaml');
  const env = { TRL_WITHHOLD: 'MORE' };
  const json = JSON.parse(run(directory, ['config', 'show', '--json'], env).stdout);
  const found = json.settings.find(({ key }: Json) => key === 'environment.withhold');
  assert.deepEqual(found, {
    key: 'environment.withhold',
    value: ['CORP_*', 'MORE'],
    origins: [`${file}:2:13`, 'TRL_WITHHOLD'],
  });
  assert.deepEqual(json.files, [file]);
  const { stdout } = run(directory, ['config', 'show', '--origin', '--env-mode', 'legacy']);
  assert.match(stdout, /^terminal\.env_mode +legacy +--env-mode$/m);
  const plain = run(directory, ['config', 'show']).stdout;
  assert.match(plain, /^terminal\.env_mode +scoped$/m);
});

describe('variables of an older runtime', { skip }, () => {
  const file = path.join(home, 'older.env');
  const older = {
    TRL_MAX_SESSIONS: '3',
    TRL_DEFAULT_TIMEOUT_S: '7',
    TRL_CHILD_CPU_SEC: '11',
    TRL_ENV_FILE: file,
  };

  test('are used where nothing of today says otherwise, and named at the start', async () => {
    writeFileSync(file, 'FROM_FILE=0lderF1leV4lue\n', { mode: 0o600 });
    const directory = homeWith('older', '{}');
    await using daemon = await startRuntime({ home: directory, env: older });
    for (const name of Object.keys(older)) {
      assert.match(daemon.log(), new RegExp(`^trl: ${name} is a variable of an older .*set `, 'm'));
    }
    assert.doesNotMatch(daemon.log(), /is not used/);
    await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
    const got = await session.run('ulimit -t; printf %s "$FROM_FILE" | wc -c', {
      env_keys: ['FROM_FILE'],
    });
    assert.equal(got.stdout, '11\n14\n');
    assert.equal(got.limits.find(({ name }: Json) => name === 'timeout_ms').value, 7_000);
    await using own = await openSession(daemon.socketPath, {
      working_dir: daemon.root,
      timeout_s: 9,
      limits: { cpu_s: 5 },
    });
    const asked = await own.run('ulimit -t');
    assert.equal(asked.stdout, '5\n');
    assert.equal(asked.limits.find(({ name }: Json) => name === 'timeout_ms').value, 9_000);
  });

  test('stand below the files, and what cannot be used is said and not used', () => {
    const directory = homeWith('older-below', 'limits: {sessions_active: 5}');
    const shown = run(directory, ['config', 'show', '--origin'], older);
    assert.match(shown.stdout, /sessions_active.* 5 .*config\.yaml/);
    assert.match(shown.stdout, /secrets\.sources.*older\.env.*TRL_ENV_FILE/);
    const wrong = {
      TRL_MAX_SESSIONS: '-1',
      TRL_DEFAULT_TIMEOUT_S: '1h',
      TRL_CHILD_CPU_SEC: 'hunter2-is-no-number',
      TRL_ENV_FILE: '.env',
    };
    // A runtime on its pipes ends with its input, having said what it found.
    const { status, stderr } = run(directory, ['stdio'], wrong);
    assert.equal(status, 0, stderr);
    for (const name of Object.keys(wrong)) {
      assert.match(
        stderr,
        new RegExp(`^trl: ${name} is .* is not used, as it is not .*; set `, 'm'),
      );
    }
    assert.doesNotMatch(stderr, /hunter2/);
  });
});
