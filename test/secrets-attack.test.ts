// Looks for values where they must not be: what the kernel shows of the daemon, what it writes,
// sends and logs. Each search is first shown to find one where nothing hides it.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { raw, startRuntime, surroundings } from './support/daemon.ts';
import type { Daemon, Json } from './support/daemon.ts';

const root = path.dirname(import.meta.dirname);
const skip = process.platform === 'linux' ? false : 'there is no /proc';
const given = 'gIv3n-by-hand-Value';
const values = {
  DEPLOY_TOKEN: 'c0rrect-horse-Battery',
  OPENROUTER_API_KEY: 'or-v1-withheld-77aa',
  DATABASE_URL: 'postgres://app:pw-99-pw-99@db/app',
  EXTRA_ONE: 'named-by-configuration-1',
  CI_URL: 'https://bot:url-password-42@ci.example/',
} as const;
const secrets = [...Object.values(values), given, 'pw-99-pw-99', 'url-password-42'];

/** Which secrets a text holds: as they are, in base64 at any alignment, or in hex. */
function found(text: string): string[] {
  return secrets.filter((secret) => {
    const forms = [0, 1, 2].map((shift) => {
      const bytes = Buffer.from(' '.repeat(shift) + secret);
      const base64 = bytes.toString('base64');
      return base64.slice(shift === 0 ? 0 : shift + 1, Math.floor((bytes.length * 8) / 6) - 1);
    });
    const hex = Buffer.from(secret).toString('hex');
    return [secret, hex, ...forms].some((form) => text.includes(form));
  });
}

/** What the kernel shows of a process to its user. */
const shownOf = (pid: number): string =>
  ['environ', 'cmdline'].map((name) => readFileSync(`/proc/${pid}/${name}`, 'latin1')).join('\n');

function everyFile(directory: string): string[] {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
}

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1')
    .split(' ')
    .filter(Boolean)
    .map(Number);

async function configured(text: string, options: { args?: string[] } = {}): Promise<Daemon> {
  return startRuntime({
    env: { ...values, TRL_SECRET_NAMES: 'EXTRA_ONE', TRL_ENV_MODE: '', TRL_CONFIG: text },
    ...options,
  });
}

test('the search finds what is not hidden', { skip }, async () => {
  const plain = spawn('sleep', ['60'], { env: { ...process.env, ...values } });
  await once(plain, 'spawn');
  assert.deepEqual(
    found(shownOf(plain.pid ?? 0)).toSorted(),
    secrets.slice(0, 5).concat(secrets.slice(6)).toSorted(),
  );
  plain.kill();
  for (const secret of secrets) {
    for (const before of ['', 'x', 'xy', 'xyz']) {
      const bytes = Buffer.from(`${before}${secret}tail`);
      assert.ok(found(bytes.toString('base64')).includes(secret), `${secret} behind "${before}"`);
      assert.ok(found(bytes.toString('hex')).includes(secret));
    }
  }
});

test('the daemon shows none of its secrets, nor does what it starts', { skip }, async () => {
  await using daemon = await configured('');
  const shown = shownOf(daemon.pid);
  assert.match(shown, /XDG_STATE_HOME=/, 'its environment is not looked at');
  assert.deepEqual(found(shown), []);
  for (const name of Object.keys(values)) assert.ok(!shown.includes(`${name}=`), name);
  using client = await raw(daemon.socketPath);
  const created = await client.ask('session.create', { shell: '/bin/bash' });
  const session = created.data.session_id;
  const started = await client.ask('exec.start', { session_id: session, command: 'sleep 30' });
  assert.equal(started.ok, true, JSON.stringify(started));
  const below = descendants(daemon.pid);
  const shownBelow = below.map(shownOf);
  assert.ok(
    shownBelow.some((one) => one.includes('runner.js')),
    'the runner is not among them',
  );
  for (const one of shownBelow) assert.deepEqual(found(one), []);
  for (const pid of below) {
    const filter = readFileSync(`/proc/${pid}/coredump_filter`, 'latin1');
    assert.match(filter, /^0+\n$/, `a core dump of ${pid} holds memory`);
  }
  const core = readFileSync(`/proc/${daemon.pid}/coredump_filter`, 'latin1');
  assert.match(core, /^0+\n$/);
  assert.equal(daemon.log(), '');
});

test('what a policy withholds does not show either', { skip }, async () => {
  const file = path.join(newHome(), 'policy.yaml');
  writeFileSync(file, 'base: trusted\nenvironment: { withhold: [CORP_*] }\n', { mode: 0o600 });
  await using daemon = await startRuntime({
    env: { TRL_POLICY: file, CORP_REGION: 'somewhere-only-we-know' },
  });
  const shown = shownOf(daemon.pid);
  assert.match(shown, /XDG_STATE_HOME=/);
  assert.ok(!shown.includes('somewhere-only'), 'it shows');
});

test('no answer, no log line and no file holds a value', { skip }, async () => {
  await using daemon = await configured('');
  using client = await raw(daemon.socketPath);
  const ask = async (method: string, params: object): Promise<Json> => client.ask(method, params);
  const session = (await ask('session.create', {})).data.session_id;
  await ask('secrets.set', { name: 'GIVEN', value: given });
  const calls: [string, object][] = [
    ['secrets.list', {}],
    ['secrets.check', { name: 'DEPLOY_TOKEN' }],
    ['secrets.check', { name: 'GIVEN' }],
    ['secrets.check', { name: 'OPENROUTER_API_KEY' }],
    ['secrets.request', { name: 'GIVEN', reason: 'r' }],
    ['secrets.request', { name: 'OTHER', reason: 'r' }],
    ['secrets.requests', {}],
    ['secrets.inject', { session_id: session, names: ['GIVEN', 'DEPLOY_TOKEN'] }],
    ['secrets.inject', { session_id: session, names: ['ABSENT'] }],
    ['secrets.set', { name: 'LD_PRELOAD', value: given }],
    ['secrets.set', { name: 'BAD NAME', value: given }],
    ['secrets.set', { name: 'GIVEN', value: [given] }],
    ['secrets.set', { name: 'GIVEN', value: `${given}\0` }],
    ['secrets.set', { name: 'GIVEN', value: given.repeat(4_000) }],
    ['secrets.set', { name: 'GIVEN', value: given, passphrase: 7 }],
    ['secrets.set', { name: 'GIVEN', value: { [given]: given } }],
    ['secrets.sett', { name: 'GIVEN', value: given }],
    ['session.info', { session_id: session }],
    ['session.list', {}],
    ['session.state', { session_id: session }],
    ['system.stats', {}],
    ['exec.list', {}],
    ['approval.list', {}],
    ['secrets.delete', { name: 'DEPLOY_TOKEN', session_id: session }],
    ['secrets.delete', { name: 'GIVEN' }],
    ['secrets.delete', { name: 'GIVEN' }],
  ];
  for (const [method, params] of calls) {
    const answer = JSON.stringify(await ask(method, params));
    assert.deepEqual(found(answer), [], `${method}: ${answer}`);
  }
  for (const line of [
    `{"id":"1","method":"secrets.set","params":{"name":"A","value":"${given}"`,
    `{"id":"1","method":"secrets.set","params":{"name":"A","value":"${given}","value":"x"}}`,
    `{"id":"1","method":"secrets.set","params":{"name":"A","value":"${given}`,
    given,
  ]) {
    await client.send(`${line}\n`);
    const answer = await client.line();
    assert.match(answer, /"ok":false/);
    assert.deepEqual(found(answer), [], answer);
  }
  await ask('session.destroy', { session_id: session });
  assert.deepEqual(found(daemon.log()), []);
  const files = everyFile(path.join(daemon.home, 'state'));
  assert.ok(
    files.some((file) => file.endsWith('state.db')),
    files.join(' '),
  );
  for (const file of everyFile(daemon.home)) {
    assert.deepEqual(found(readFileSync(file, 'latin1')), [], file);
  }
});

test(
  'the pipes of stdio take no value, and the daemon behind them shows none',
  { skip },
  async () => {
    const home = newHome();
    const work = path.join(home, 'work');
    mkdirSync(work);
    const child = spawn(path.join(root, 'trl'), ['stdio', '--workspace-root', work], {
      env: { ...process.env, ...surroundings(home), ...values, TRL_SECRET_NAMES: 'EXTRA_ONE' },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
    const lines: string[] = [];
    let wake = (): void => {};
    let rest = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const parts = (rest + text).split('\n');
      rest = parts.pop() ?? '';
      lines.push(...parts);
      wake();
    });
    const ask = async (method: string, params: object): Promise<Json> => {
      child.stdin.write(`${JSON.stringify({ id: '1', method, params })}\n`);
      while (lines.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return JSON.parse(lines.shift() ?? '');
    };
    const listed = await ask('secrets.list', {});
    assert.deepEqual(
      listed.data.secrets.map(({ name }: { name: string }) => name),
      ['CI_URL', 'DEPLOY_TOKEN', 'EXTRA_ONE'],
    );
    assert.deepEqual(found(shownOf(child.pid ?? 0)), []);
    const refused = await ask('secrets.set', { name: 'GIVEN', value: given });
    assert.equal(refused.error.code, 'AUTH_FAILED');
    assert.deepEqual(found(JSON.stringify(refused)), []);
    child.stdin.end();
    await once(child, 'exit');
    assert.deepEqual(found(said), []);
  },
);

test(
  'a command of a secret, a .env file and their failures leave no value behind',
  { skip },
  async () => {
    const home = newHome();
    const config = path.join(home, 'c.yaml');
    const dotenv = path.join(home, '.env');
    writeFileSync(dotenv, `FROM_FILE=${values.DEPLOY_TOKEN}\n`, { mode: 0o600 });
    const bad = path.join(home, 'bad.env');
    writeFileSync(bad, `FROM_BAD=${values.DEPLOY_TOKEN}\n`);
    chmodSync(bad, 0o644);
    const script = path.join(home, 'prints');
    writeFileSync(script, '#!/bin/sh\necho "$1"; echo "$1" >&2; exit "$2"\n', { mode: 0o700 });
    writeFileSync(
      config,
      [
        'secrets:',
        '  sources:',
        `    - { kind: dotenv, path: ${dotenv} }`,
        `    - { kind: dotenv, path: ${bad} }`,
        `    - { kind: command, name: WORKS, argv: [${script}, printed-by-command-9, "0"] }`,
        `    - { kind: command, name: FAILS, argv: [${script}, ${given}, "3"] }`,
      ].join('\n'),
      { mode: 0o600 },
    );
    await using daemon = await configured(config);
    using client = await raw(daemon.socketPath);
    const states = new Map<string, string>();
    const made = await client.ask('session.create', { working_dir: daemon.root });
    for (const name of ['WORKS', 'FAILS']) {
      const check = await client.ask('secrets.check', { name });
      assert.equal(check.data.state, 'unread');
      const run = { session_id: made.data.session_id, command: 'true', env_keys: [name] };
      assert.deepEqual(found(JSON.stringify(await client.ask('exec.run', run))), []);
    }
    for (const name of ['FROM_FILE', 'FROM_BAD', 'WORKS', 'FAILS']) {
      const answer = await client.ask('secrets.check', { name });
      states.set(name, answer.data.state);
      assert.deepEqual(found(JSON.stringify(answer)), []);
    }
    assert.deepEqual(Object.fromEntries(states), {
      FROM_FILE: 'ready',
      FROM_BAD: 'unreadable',
      WORKS: 'ready',
      FAILS: 'unreadable',
    });
    assert.match(daemon.log(), /chmod 600/);
    assert.deepEqual(found(daemon.log()), []);
    const listed = await client.ask('secrets.list', {});
    assert.match(listed.data.problems[0].problem, /bad\.env.*chmod 600/);
  },
);

test('no debugger can be opened in the daemon, by variables or by a signal', { skip }, async () => {
  const open = spawn(process.execPath, ['-e', "setInterval(() => {}, 9); console.log('up')"]);
  await once(open.stdout, 'data');
  open.kill('SIGUSR1');
  await once(open.stderr, 'data');
  assert.equal(listening(open.pid ?? 0).length, 1, 'the search finds no debugger');
  open.kill('SIGKILL');

  await using daemon = await startRuntime({ env: { NODE_OPTIONS: '--inspect=127.0.0.1:0' } });
  process.kill(daemon.pid, 'SIGUSR1');
  using client = await raw(daemon.socketPath);
  assert.equal((await client.ask('system.ping')).ok, true);
  assert.deepEqual(listening(daemon.pid), []);
});

/** The way that is left where memory cannot be overwritten. */
test('a daemon that cannot erase starts itself anew, with the values in memory', { skip }, () => {
  const module = path.join(root, 'src/daemon/own-environment.ts');
  const program = `
    import { readFileSync, readSync } from 'node:fs';
    import { reexecuteProcess, OwnEnvironment } from ${JSON.stringify(module)};
        const own = OwnEnvironment.open();
    if (own.taken.length === 0) {
      delete process.env.DEPLOY_TOKEN;
      console.log(reexecuteProcess({ DEPLOY_TOKEN: own.env.DEPLOY_TOKEN }));
    }
    const shown = readFileSync('/proc/self/environ', 'latin1');
    const input = readSync(0, Buffer.alloc(9));
    const { DEPLOY_TOKEN } = own.env;
    console.log(JSON.stringify({
      shown: shown.includes('c0rrect'),
      input,
      DEPLOY_TOKEN,
      pid: process.pid,
      argv: process.argv.slice(2),
      inherited: process.env.DEPLOY_TOKEN ?? null,
    }));
  `;
  const file = path.join(newHome(), 'anew.mts');
  writeFileSync(file, program);
  const { stdout, stderr, pid } = spawnSync(process.execPath, [file, 'an argument'], {
    env: { ...process.env, ...values },
    encoding: 'utf8',
  });
  assert.deepEqual(
    JSON.parse(stdout || '{}'),
    {
      shown: false,
      input: 0,
      DEPLOY_TOKEN: values.DEPLOY_TOKEN,
      pid,
      argv: ['an argument'],
      inherited: null,
    },
    stderr,
  );
});

/** TCP sockets on which a process listens. */
function listening(pid: number): string[] {
  const open = readdirSync(`/proc/${pid}/fd`).flatMap((fd) => linkOf(`/proc/${pid}/fd/${fd}`));
  const lines = readFileSync(`/proc/${pid}/net/tcp`, 'latin1').split('\n');
  return lines.filter((line) => {
    const fields = line.trim().split(/\s+/);
    return fields[3] === '0A' && open.includes(`socket:[${fields[9]}]`);
  });
}

function linkOf(file: string): string[] {
  const { stdout } = spawnSync('readlink', [file], { encoding: 'utf8' });
  return stdout === '' ? [] : [stdout.trim()];
}

function descendants(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendants(child)]);
}

/** A directory that ends with the tests. */
function newHome(): string {
  const home = mkdtempSync(path.join(tmpdir(), 'trl-attack-'));
  after(() => rmSync(home, { recursive: true, force: true }));
  return home;
}
