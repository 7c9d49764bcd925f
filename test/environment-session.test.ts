// What a command gets of variables by name, and what no later command and nobody beside it sees.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { whyNoBox } from './support/box.ts';
import type { Daemon, Json } from './support/daemon.ts';
import { begin, hash, hostEnv, secret, sum, withheldNames } from './support/environment.ts';
import { parked } from './support/parked.ts';
import { eventually } from './support/processes.ts';
import { openSession, type TestSession } from './support/session.ts';

const skip = whyNoBox;
let daemon: Daemon;
before(async () => {
  daemon = await begin({ TRL_POLICY: 'auto' });
});
after(() => daemon?.stop());

const open = (params: object = {}): Promise<TestSession> =>
  openSession(daemon.socketPath, { working_dir: daemon.root, ...params });

describe('scoped', { skip }, () => {
  test('a command gets what it asked for by name, and no other one gets it', async () => {
    await using session = await open();
    const names = ['MY_API_TOKEN', 'MY_PLAIN'];
    const bare = await session.run(`${sum('MY_API_TOKEN')}; ${sum('MY_PLAIN')}`);
    assert.equal(bare.stdout, `${hash('none')}\n${hash('none')}\n`);
    const got = await session.run(`${sum('MY_API_TOKEN')}; ${sum('MY_PLAIN')}`, {
      env_keys: names,
    });
    assert.equal(got.stdout, `${hash(secret)}\n${hash(hostEnv.MY_PLAIN)}\n`);
    assert.deepEqual(
      got.verdict.rules
        .filter(({ id }: Json) => id.endsWith('.grant'))
        .map(({ id, evidence }: Json) => `${id} ${evidence}`),
      ['secret.grant MY_API_TOKEN', 'environment.grant MY_PLAIN'],
    );
    assert.equal((await session.run(sum('MY_API_TOKEN'))).stdout, `${hash('none')}\n`);
  });

  test('what it gets is hidden in what it prints', async () => {
    await using session = await open();
    const { stdout } = await session.run('bash ./show.sh MY_API_TOKEN', {
      env_keys: ['MY_API_TOKEN'],
    });
    assert.match(stdout, /^\[\[HIDDEN:[0-9a-f]+\]\]\n$/);
    const plain = await session.run('bash ./show.sh MY_PLAIN', { env_keys: ['MY_PLAIN'] });
    assert.equal(plain.stdout, `[${hostEnv.MY_PLAIN}]\n`);
  });

  test('a session gets what it was created with, each command of it', async () => {
    await using session = await open({ env_keys: ['MY_API_TOKEN'] });
    for (let at = 0; at < 2; at += 1) {
      assert.equal((await session.run(sum('MY_API_TOKEN'))).stdout, `${hash(secret)}\n`);
    }
    const own = await session.run(sum('MY_API_TOKEN'), { env: { MY_API_TOKEN: 'own value' } });
    assert.equal(own.stdout, `${hash('own value')}\n`);
  });

  test('a name that nobody has is refused, and how to give it is said', async () => {
    await using session = await open();
    for (const method of ['exec.run', 'exec.start', 'exec.stream']) {
      const params = { session_id: session.id, command: 'true', env_keys: ['MY_NOTHING'] };
      const answer = await session.client.ask(method, params);
      assert.equal(answer.error?.code, 'INVALID_PARAMS', method);
      assert.match(answer.error.message, /"MY_NOTHING".*trl secrets set MY_NOTHING/);
    }
    const made = await session.client.ask('session.create', { env_keys: ['MY_NOTHING'] });
    assert.match(made.error.message, /"MY_NOTHING".*trl secrets set MY_NOTHING/);
  });

  test('a name given twice, and one that is none, are refused', async () => {
    await using session = await open();
    const both = await session.ask('true', { env: { MY_PLAIN: '1' }, env_keys: ['MY_PLAIN'] });
    assert.match(both.error.message, /"MY_PLAIN" from "env" and by "env_keys"/);
    for (const name of ['', 'A B', 'A=1', '1A', 'Ä', 'A\0', 7, null]) {
      const answer = await session.ask('true', { env_keys: [name] });
      assert.equal(answer.error?.code, 'INVALID_PARAMS', JSON.stringify(name));
    }
    assert.equal((await session.ask('true', { env_keys: 'MY_PLAIN' })).ok, false);
  });

  test('what is withheld is refused by name, for a command and for a session', async () => {
    await using session = await open();
    for (const name of withheldNames) {
      const answer = await session.ask(`test -n "$${name}"`, { env_keys: [name] });
      assert.equal(answer.error?.code, 'INVALID_PARAMS', name);
      assert.match(answer.error.message, new RegExp(`"${name}".*withheld`));
      assert.equal((await session.run(`test -n "$${name}"`)).exit_code, 1, name);
      const made = await session.client.ask('session.create', { env_keys: [name] });
      assert.match(made.error?.message ?? '', /withheld/, name);
    }
    // A value of the caller's own is another matter.
    const own = { env: { DATABASE_URL: 'postgres://localhost/test' } };
    assert.equal((await session.run('test -n "$DATABASE_URL"', own)).exit_code, 0);
  });

  test('what every command has may be asked for', async () => {
    await using session = await open();
    const { exit_code: code } = await session.run('test -n "$PATH"', { env_keys: ['PATH'] });
    assert.equal(code, 0);
  });

  test('session.info shows the tiers by name and no value', async () => {
    await using session = await open({
      env: { OWN: 'caller-value' },
      env_keys: ['MY_API_TOKEN', 'MY_PLAIN'],
    });
    for (const turn of ['before', 'after']) {
      const { data } = await session.client.ask('session.info', { session_id: session.id });
      const { environment } = data;
      assert.equal(environment.mode, 'scoped', turn);
      for (const name of ['PATH', 'HOME', 'TERM', 'TMPDIR', 'XDG_CACHE_HOME', 'TRL_RUNTIME']) {
        assert.ok(environment.safe.includes(name), `${turn} ${name}`);
      }
      assert.ok(!environment.safe.includes('AWS_PROFILE'));
      assert.deepEqual(environment.inherited, []);
      assert.deepEqual(environment.session, ['OWN']);
      assert.deepEqual(environment.requested, [
        { name: 'MY_API_TOKEN', source: 'environment' },
        { name: 'MY_PLAIN', source: 'runtime' },
      ]);
      for (const name of withheldNames) assert.ok(environment.withheld_seen.includes(name), name);
      const text = JSON.stringify(data);
      for (const value of [secret, hostEnv.MY_PLAIN, 'caller-value']) {
        assert.ok(!text.includes(value), value);
      }
      if (turn === 'before') await session.run('true');
    }
  });
});

describe('a variable of one command ends with it', { skip }, () => {
  const spread = [
    'export MY_API_TOKEN',
    'export COPY="$MY_API_TOKEN"',
    'f() { echo "$MY_API_TOKEN"; }',
    'alias x="echo $MY_API_TOKEN"',
    'set -- "$MY_API_TOKEN"',
    '(while :; do echo "$MY_API_TOKEN" >/dev/null; sleep 0.05; done) &',
    'disown -a',
    'setsid sleep 600 & true',
  ].join('\n');

  for (const carry of ['cwd+env', 'shell']) {
    test(`none of it is in a later command’s environment, shell or /proc: ${carry}`, async () => {
      await using session = await open({ carry });
      await session.run(spread, { env_keys: ['MY_API_TOKEN'] });
      const later = await session.run('. ./look.sh');
      const [unset, found, others] = later.stdout.split('\n');
      assert.equal(unset, 'unset');
      assert.equal(found, '0');
      assert.ok(Number(others) > 0, 'it has looked at environments');
      const state = readFileSync(path.join(daemon.root, 'shell-state'), 'utf8');
      assert.ok(state.includes('HOME='));
      assert.ok(!state.includes(secret), 'its value is in the shell');
    });
  }

  test('a background process that polls /proc sees it neither then nor afterwards', async () => {
    await using session = await open();
    // Its own variable shows that it looks where variables are.
    const id = await session.start('bash ./poll.sh', { env: { CONTROL: '1' } });
    await read(session, id, 'CONTROL=');
    const command = `${sum('MY_API_TOKEN')}; sleep 0.5`;
    const got = await session.run(command, { env_keys: ['MY_API_TOKEN'] });
    assert.equal(got.stdout, `${hash(secret)}\n`);
    await session.run('sleep 0.2; touch stop-polling');
    const output = await read(session, id, 'rounds ');
    assert.ok(output.includes('CONTROL='));
    assert.ok(!output.includes('MY_API_TOKEN='), 'it was seen');
  });

  test('a copy of a secret under another name does not carry, and is named', async () => {
    await using session = await open();
    const copy = 'export COPY="$MY_API_TOKEN" PLAIN_COPY="$MY_PLAIN" OWN=1';
    const { state_dropped: dropped } = await session.run(copy, {
      env_keys: ['MY_API_TOKEN', 'MY_PLAIN'],
    });
    assert.ok(
      dropped.some(({ name }: Json) => name === 'COPY'),
      JSON.stringify(dropped),
    );
    const later = await session.run('test -z "${COPY+x}" -a "$OWN" = 1');
    assert.equal(later.exit_code, 0);
  });

  test('what was injected is in each command until it is taken back', async () => {
    await using session = await open();
    const params = { session_id: session.id, names: ['MY_API_TOKEN'] };
    assert.equal((await session.client.ask('secrets.inject', params)).ok, true);
    for (let at = 0; at < 2; at += 1) {
      const got = await session.run(sum('MY_API_TOKEN'));
      assert.equal(got.stdout, `${hash(secret)}\n`);
      assert.ok(got.verdict.rules.some(({ id }: Json) => id === 'secret.grant'));
    }
    const { data } = await session.client.ask('session.info', { session_id: session.id });
    const wanted = [{ name: 'MY_API_TOKEN', source: 'environment' }];
    assert.deepEqual(data.environment.requested, wanted);
    const fork = await session.client.ask('session.fork', { session_id: session.id });
    const inFork = { session_id: fork.data.session_id, command: sum('MY_API_TOKEN') };
    assert.equal((await session.client.ask('exec.run', inFork)).data.stdout, `${hash('none')}\n`);
    const back = { session_id: session.id, name: 'MY_API_TOKEN' };
    assert.equal((await session.client.ask('secrets.delete', back)).ok, true);
    assert.equal((await session.run(sum('MY_API_TOKEN'))).stdout, `${hash('none')}\n`);
  });

  for (const sandbox of ['bubblewrap', 'none']) {
    test(`no process of the machine shows it afterwards: sandbox ${sandbox}`, async () => {
      const own = `q7Vd2L${randomBytes(12).toString('hex')}`;
      await using trusted = await begin({ TRL_POLICY: 'trusted', MY_API_TOKEN: own });
      const params = { working_dir: trusted.root, sandbox };
      await using session = await openSession(trusted.socketPath, params);
      const id = await session.start('sleep 60', { env_keys: ['MY_API_TOKEN'] });
      await eventually('it runs with it', () => showing(own).length > 0);
      await session.run(spread, { env_keys: ['MY_API_TOKEN'] });
      await session.client.ask('exec.cancel', { exec_id: id });
      await eventually('nobody shows it', () => showing(own).length === 0);
      await session.run('true');
      assert.deepEqual(showing(own), []);
    });
  }

  test('its value is on no disk of the runtime', async () => {
    await using session = await open({ env_keys: ['MY_PLAIN'] });
    await session.run('true', { env_keys: ['MY_API_TOKEN'] });
    const files = readdirSync(daemon.home, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.join(entry.parentPath, entry.name));
    assert.ok(
      files.some((file) => file.endsWith('.db')),
      'there is a state',
    );
    for (const file of files) {
      const text = readFileSync(file, 'latin1');
      assert.ok(!text.includes(secret) && !text.includes(hostEnv.MY_PLAIN), file);
    }
    assert.ok(!daemon.log().includes(secret));
  });
});

/** Processes of the machine whose environment or arguments hold a text. */
function showing(text: string): string[] {
  const found = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return found.filter((pid) =>
    ['environ', 'cmdline'].some((file) => {
      try {
        return readFileSync(`/proc/${pid}/${file}`, 'latin1').includes(text);
      } catch {
        return false;
      }
    }),
  );
}

async function read(session: TestSession, id: string, wanted: string): Promise<string> {
  for (let tries = 0; tries < 200; tries += 1) {
    const { data } = await session.client.ask('exec.read', { exec_id: id, wait_ms: 200 });
    const text = data.chunks.map((chunk: Json) => chunk.data ?? '').join('');
    if (text.includes(wanted)) return text;
  }
  throw new Error(`${id} does not say ${wanted}`);
}

describe('variables by which programs run something else', { skip }, () => {
  const injected: readonly (readonly [object, { [name: string]: unknown }])[] = [
    [{}, { env: { LD_PRELOAD: './x.so' } }],
    [{}, { env: { GIT_SSH_COMMAND: 'true' } }],
    [{}, { env_keys: ['PYTHONSTARTUP'] }],
    [{ env: { BASH_ENV: './x' } }, {}],
    [{ env_keys: ['PYTHONSTARTUP'] }, {}],
  ];
  for (const [ofSession, ofCommand] of injected) {
    const name = JSON.stringify({ ...ofSession, ...ofCommand });
    test(`a person is asked, and locked refuses: ${name}`, async () => {
      await using session = await open(ofSession);
      const data = await parked(session, 'true', ofCommand);
      const ids = data.verdict.rules.map(({ id }: Json) => id);
      assert.ok(ids.includes('environment.injection'), ids.join());
      await using locked = await open({ ...ofSession, policy: 'locked' });
      const answer = await locked.ask('make', ofCommand);
      assert.equal(answer.error?.code, 'POLICY_DENIED');
      assert.match(JSON.stringify(answer.data.verdict), /environment\.injection/);
    });
  }

  test('what session.update sets counts from then on', async () => {
    await using session = await open();
    assert.equal((await session.run('true')).exit_code, 0);
    const set = { session_id: session.id, env: { PERL5OPT: '-Mx' } };
    await session.client.ask('session.update', set);
    await parked(session, 'true');
    await session.client.ask('session.update', { session_id: session.id, unset: ['PERL5OPT'] });
    assert.equal((await session.run('true')).exit_code, 0);
  });
});
