// Names that no command gets, and programs of sources that no policy let start.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { raw, startRuntime } from './support/daemon.ts';
import { openSession } from './support/session.ts';

const value = 'c0rrect-horse-Battery';
const home = mkdtempSync(path.join(tmpdir(), 'trl-refused-'));
after(() => rmSync(home, { recursive: true, force: true }));

test('a name that no command gets is not ready, injected, set or asked for', async () => {
  const file = path.join(home, 'withholds.yaml');
  writeFileSync(file, 'base: trusted\nenvironment: { withhold: [CORP_*] }\n');
  const dotenv = path.join(home, 'withheld.env');
  const names = ['HERMES_API_KEY', 'TRL_POLICY', 'CORP_TOKEN', 'PATH', 'HOME', 'LD_PRELOAD'];
  writeFileSync(dotenv, names.map((name) => `${name}=${value}\n`).join(''), { mode: 0o600 });
  const configuration = `secrets:\n  sources:\n    - { kind: dotenv, path: '${dotenv}' }\n`;
  await using daemon = await startRuntime({
    env: { TRL_POLICY: file },
    prepare: (at) => {
      writeFileSync(path.join(at, 'config.yaml'), configuration, { mode: 0o600 });
      return { TRL_CONFIG: path.join(at, 'config.yaml') };
    },
  });
  await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
  using client = await raw(daemon.socketPath);
  const { secrets, problems } = (await client.ask('secrets.list')).data;
  assert.deepEqual([secrets, problems], [[], []]);
  for (const name of names) {
    const check = (await client.ask('secrets.check', { name })).data;
    assert.ok(['unusable', 'missing'].includes(check.state), JSON.stringify(check));
    const params = { name, names: [name], session_id: session.id, value, reason: 'to work' };
    for (const method of ['inject', 'set', 'request']) {
      const wanted: Record<string, readonly string[]> = {
        inject: ['session_id', 'names'],
        set: ['name', 'value'],
        request: ['name', 'reason'],
      };
      const given = Object.entries(params).filter(([key]) => wanted[method]?.includes(key));
      const answer = await client.ask(`secrets.${method}`, Object.fromEntries(given));
      assert.equal(answer.ok, false, `${method} ${name}`);
      assert.match(
        answer.error.code,
        /^(?:INVALID_PARAMS|SECRET_NOT_FOUND)$/,
        answer.error.message,
      );
    }
  }
  assert.equal((await session.run('echo works')).stdout, 'works\n');
  for (const name of ['toString', 'constructor', '__proto__', 'LD_PRELOAD']) {
    const answer = await session.ask('true', { env_keys: [name] });
    assert.equal(answer.error?.code, 'INVALID_PARAMS', JSON.stringify(answer));
  }
});

test('no program of a source is started before policy let a command have its secret', async () => {
  const count = path.join(home, 'count');
  const policy = path.join(home, 'blocks.yaml');
  writeFileSync(policy, 'base: trusted\nsecrets: { block: [DENIED] }\n');
  const argv = JSON.stringify(['sh', '-c', `echo ran >> ${count}; exit 3`]);
  const source = `    - { kind: command, name: DENIED, argv: ${argv} }\n`;
  const configuration = `secrets:\n  sources:\n${source}${source.replace('DENIED', 'OTHER')}`;
  await using daemon = await startRuntime({
    env: { TRL_POLICY: policy },
    prepare: (at) => {
      writeFileSync(path.join(at, 'config.yaml'), configuration, { mode: 0o600 });
      return { TRL_CONFIG: path.join(at, 'config.yaml') };
    },
  });
  await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
  using client = await raw(daemon.socketPath);
  assert.equal((await client.ask('secrets.check', { name: 'DENIED' })).data.state, 'unread');
  const asked = { name: 'DENIED', reason: 'to work' };
  assert.equal((await client.ask('secrets.request', asked)).data.state, 'ready');
  const given = { session_id: session.id, names: ['DENIED'] };
  assert.equal((await client.ask('secrets.inject', given)).ok, true);
  assert.equal((await session.ask('true')).error.code, 'POLICY_DENIED');
  assert.ok(!existsSync(count));
  await client.ask('secrets.delete', { session_id: session.id, name: 'DENIED' });
  for (let tries = 0; tries < 2; tries += 1) {
    const answer = await session.ask('true', { env_keys: ['OTHER'] });
    assert.equal(answer.error.code, 'SECRET_UNAVAILABLE', JSON.stringify(answer));
  }
  assert.equal(readFileSync(count, 'utf8'), 'ran\n');
});
