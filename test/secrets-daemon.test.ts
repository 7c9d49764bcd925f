// `secrets.*` on the wire of a real daemon, and what a command gets of it.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { whyNoBox } from './support/box.ts';
import { raw, shareRuntime, startRuntime, type Json } from './support/daemon.ts';
import { openSession } from './support/session.ts';

const skip = whyNoBox;
const value = 'c0rrect-horse-Battery';
const home = mkdtempSync(path.join(tmpdir(), 'trl-secrets-'));
after(() => rmSync(home, { recursive: true, force: true }));
const plain = { AWS_PROFILE: 'staging', DATABASE_URL: 'postgres://db/app' };
const shared = shareRuntime({ env: { DB_PASSWORD: 'production', DEPLOY_TOKEN: value, ...plain } });

test('who asked for a secret goes on when a person gives it', async () => {
  const daemon = await shared();
  using agent = await raw(daemon.socketPath);
  using human = await raw(daemon.socketPath);
  const asked = { name: 'API_KEY', reason: 'to deploy', wait_ms: 60_000 };
  await agent.send({ id: '1', method: 'secrets.request', params: asked });
  // It waits beside the others of its connection.
  await agent.send({ id: '2', method: 'system.ping' });
  assert.equal((await agent.json()).id, '2');
  let request: Json;
  while (request === undefined) [request] = (await human.ask('secrets.requests')).data.requests;
  assert.equal(request.reason, 'to deploy');
  assert.match(request.requester, /^uid:/);
  assert.match(daemon.log(), /asks for the secret API_KEY: "to deploy"; give it: trl secrets set/);
  const set = await human.ask('secrets.set', { name: 'API_KEY', value });
  assert.deepEqual(set.data, { name: 'API_KEY', warning: null });
  assert.deepEqual((await agent.json()).data, { name: 'API_KEY', state: 'ready' });

  await agent.send({ id: '3', method: 'secrets.request', params: { ...asked, name: 'NEVER' } });
  while ((await human.ask('secrets.requests')).data.requests.length === 0);
  assert.equal((await human.ask('secrets.delete', { name: 'NEVER' })).ok, true);
  assert.deepEqual((await agent.json()).data, { name: 'NEVER', state: 'refused' });
});

test('the 257th value over the wire is refused, and said to be a bound', async () => {
  const names = Array.from({ length: 256 }, (_, at) => `SERVICE_${at}_API_KEY`);
  const env = Object.fromEntries(names.map((name) => [name, `value-of-${name}`]));
  await using daemon = await startRuntime({ env });
  using client = await raw(daemon.socketPath);
  const one = await client.ask('secrets.set', { name: 'ONE_MORE', value });
  assert.equal(one.error.code, 'QUOTA_EXCEEDED', JSON.stringify(one));
});

test('where policy takes nothing that only the uid proves, nobody gives values', async () => {
  const file = path.join(home, 'policy.yaml');
  writeFileSync(file, 'base: trusted\napprovals: { same_uid: false }\n');
  await using daemon = await startRuntime({ env: { TRL_POLICY: file } });
  using client = await raw(daemon.socketPath);
  const set = await client.ask('secrets.set', { name: 'API_KEY', value });
  assert.equal(set.error.code, 'AUTH_FAILED', JSON.stringify(set));
  assert.match(set.error.message, /trl approvals enroll/);
});

test('a weak value is told to who gives it and to the log, and to nobody else', async () => {
  const daemon = await shared();
  using client = await raw(daemon.socketPath);
  assert.match(daemon.log(), /the secret DB_PASSWORD is weak/);
  const check = await client.ask('secrets.check', { name: 'DB_PASSWORD' });
  assert.ok(!JSON.stringify(check).includes('weak'));
  const set = await client.ask('secrets.set', { name: 'OTHER', value: 'changeme' });
  assert.match(set.data.warning, /weak/);
  assert.match(daemon.log(), /the secret OTHER is weak/);
});

test(
  'an injected secret is in each command, hidden, until it is taken back',
  { skip },
  async () => {
    const daemon = await shared();
    await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
    const { client, id } = session;
    const look = 'echo "[$DEPLOY_TOKEN]"; printf %s "$DEPLOY_TOKEN" | wc -c';
    assert.equal((await session.run(look)).stdout, '[]\n0\n');
    // In one go: the command is behind the injection, in the order of the connection.
    await client.send({
      id: '1',
      method: 'secrets.inject',
      params: { session_id: id, names: ['DEPLOY_TOKEN'] },
    });
    await client.send({ id: '2', method: 'exec.run', params: { session_id: id, command: look } });
    assert.equal((await client.json()).ok, true);
    assert.match((await client.json()).data.stdout, /^\[\[HIDDEN:[0-9a-f]+\]\]\n21\n$/);
    const info = (await client.ask('session.info', { session_id: id })).data;
    assert.deepEqual(info.injected, ['DEPLOY_TOKEN']);
    const [listed] = (await client.ask('secrets.list')).data.secrets.filter(
      (one: { name: string }) => one.name === 'DEPLOY_TOKEN',
    );
    assert.match(listed.last_used, /^20/);
    const back = { name: 'DEPLOY_TOKEN', session_id: id };
    assert.equal((await client.ask('secrets.delete', back)).ok, true);
    assert.equal((await session.run(look)).stdout, '[]\n0\n');
  },
);

test('what a command can ask for by name can be injected', { skip }, async () => {
  const daemon = await shared();
  await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
  const { client, id } = session;
  // Of the runtime's environment, and no secret: `env_keys` takes it.
  const names = ['AWS_PROFILE', 'DEPLOY_TOKEN'];
  const look = 'echo "$AWS_PROFILE ${#DEPLOY_TOKEN}"';
  assert.equal((await session.run(look, { env_keys: names })).stdout, 'staging 21\n');
  assert.equal((await session.run(look)).stdout, ' 0\n');
  const check = (await client.ask('secrets.check', { name: 'AWS_PROFILE' })).data;
  assert.deepEqual([check.state, check.source, check.problem], ['ready', 'environment', null]);
  const request = { name: 'AWS_PROFILE', reason: 'to deploy' };
  assert.equal((await client.ask('secrets.request', request)).data.state, 'ready');
  const injected = await client.ask('secrets.inject', { session_id: id, names });
  assert.deepEqual(injected.data, { session_id: id, names });
  assert.equal((await session.run(look)).stdout, 'staging 21\n');
  const { requested } = (await client.ask('session.info', { session_id: id })).data.environment;
  assert.deepEqual(requested, [
    { name: 'AWS_PROFILE', source: 'runtime' },
    { name: 'DEPLOY_TOKEN', source: 'environment' },
  ]);
  const back = { name: 'AWS_PROFILE', session_id: id };
  assert.equal((await client.ask('secrets.delete', back)).ok, true);
  assert.equal((await session.run(look)).stdout, ' 21\n');
  // What neither takes: nobody has it, it is withheld, or programs run what it says.
  for (const name of ['NOBODY_HAS_IT', 'DATABASE_URL', 'LD_PRELOAD', 'TRL_POLICY', 'toString']) {
    const refused = await client.ask('secrets.inject', { session_id: id, names: [name] });
    assert.match(refused.error?.code ?? 'taken', /^(?:INVALID_PARAMS|SECRET_NOT_FOUND)$/, name);
    const keyed = await session.ask('true', { env_keys: [name] });
    assert.equal(keyed.error?.code, 'INVALID_PARAMS', name);
    const { state } = (await client.ask('secrets.check', { name })).data;
    assert.match(state, /^(?:missing|unusable)$/, name);
  }
});

test('what a .env file has since the last command is hidden in the next', { skip }, async () => {
  const dotenv = path.join(home, '.env');
  const config = path.join(home, 'config.yaml');
  writeFileSync(dotenv, 'OLD_ONE=the-old-value-1\n', { mode: 0o600 });
  writeFileSync(config, `secrets: { sources: [{ kind: dotenv, path: ${dotenv} }] }\n`, {
    mode: 0o600,
  });
  await using daemon = await startRuntime({ env: { TRL_CONFIG: config } });
  await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
  const show = async (): Promise<string> => {
    writeFileSync(path.join(daemon.root, 'out'), 'the-old-value-1 the-new-value-2\n');
    return (await session.run('cat out')).stdout;
  };
  assert.match(await show(), /^\[HIDDEN:[0-9a-f]+\] the-new-value-2\n$/);
  writeFileSync(dotenv, 'NEW_ONE=the-new-value-2\n');
  assert.match(await show(), /^\[HIDDEN:[0-9a-f]+\] \[HIDDEN:[0-9a-f]+\]\n$/);
});

test('an injection outlives the daemon by name; the value is gone with it', { skip }, async () => {
  const first = await startRuntime({ home });
  const session = await openSession(first.socketPath, { working_dir: first.root });
  await session.client.ask('secrets.set', { name: 'GIVEN', value });
  const inject = { session_id: session.id, names: ['GIVEN'] };
  assert.equal((await session.client.ask('secrets.inject', inject)).ok, true);
  session.client.drop();
  await first.kill('SIGKILL');
  await using second = await startRuntime({ home });
  using client = await raw(second.socketPath);
  const info = (await client.ask('session.info', { session_id: session.id })).data;
  assert.deepEqual(info.injected, ['GIVEN']);
  const run = { session_id: session.id, command: 'echo ran' };
  const refused = await client.ask('exec.run', run);
  assert.match(refused.error.message, /trl secrets set GIVEN/);
  await client.ask('secrets.set', { name: 'GIVEN', value });
  assert.equal((await client.ask('exec.run', run)).data.stdout, 'ran\n');
});
