// Secrets that a command uses and never has, through a real runtime: what it has instead, where the
// value goes, and who is asked.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test as define } from 'node:test';
import { brokerRuleOf, makePlaceholder } from '../src/secrets/broker.ts';
import { brokerPresets } from '../src/secrets/broker-presets.ts';
import { parseHostRules } from '../src/network/host-rules.ts';
import { whyNoBox } from './support/box.ts';
import {
  questionOf,
  receiptOf,
  startHostsRuntime,
  type HostsRuntime,
} from './support/hosts-runtime.ts';
import { descendantsOf, runnerPid } from './support/processes.ts';

const skip = whyNoBox;
const own = 'ghp_Value0fTheTest9876543210abcdefghijkl';
const other = 'sk-Another0ne9876543210abcdefghijklmnop';
const config = `secrets:
  brokered:
    OWN_TOKEN: { hosts: [known.test], plaintext: true }
    ASKED_TOKEN: { hosts: [one.test], plaintext: true }
`;

let runtime: HostsRuntime;
before(async () => {
  if (skip !== false) return;
  runtime = await startHostsRuntime({
    config,
    env: { OWN_TOKEN: own, ASKED_TOKEN: other, FREE_TOKEN: 'Free0fTheTest9876543210abcdef' },
  });
});
after(async () => {
  await runtime?.[Symbol.asyncDispose]();
});
const test = (name: string, run: () => Promise<void>): void => void define(name, { skip }, run);

const get = (host: string, name: string): string =>
  `curl -sSi -m 10 -H "Authorization: Bearer $${name}" http://${host}/`;
/** What can be said of a value without hiding it: its digest, its length, how it begins. */
const described = (name: string): string =>
  `printf %s "$${name}" | sha256sum; echo "\${#${name}}"; printf %.4s "$${name}"`;
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

test('a command has a placeholder, and the host gets the value', async () => {
  const session = await runtime.open('a');
  const run = async (command: string) =>
    receiptOf(await session.run(command, { env_keys: ['OWN_TOKEN'] }));
  const shown = await run(described('OWN_TOKEN'));
  assert.match(shown.stdout, /^[0-9a-f]{64} {2}-\n40\nghp_$/);
  assert.doesNotMatch(shown.stdout, new RegExp(sha256(own)));
  const got = await run(get('known.test', 'OWN_TOKEN'));
  assert.match(got.stdout, /^x-got: Bearer \*{40}\r$/m);
  assert.equal(runtime.authorizations.at(-1), `Bearer ${own}`);
  assert.deepEqual(
    got.connections?.map(({ host, secrets }) => [host, secrets]),
    [['known.test', ['OWN_TOKEN']]],
  );
  // The same in the next session, so that what a program stores of it goes on.
  const later = await (
    await runtime.open('b')
  ).run(described('OWN_TOKEN'), { env_keys: ['OWN_TOKEN'] });
  assert.equal(later.stdout, shown.stdout);
});

test('a placeholder that goes to another host is a leak, which ends there', async () => {
  const session = await runtime.open('a');
  const question = questionOf(await runtime.run(session, `${get('two.test', 'X')}; true`));
  await runtime.answer(question, 'session');
  const before = runtime.authorizations.length;
  const receipt = await session.run(get('two.test', 'OWN_TOKEN'), { env_keys: ['OWN_TOKEN'] });
  assert.match(receipt.stdout, /leak of OWN_TOKEN/);
  assert.deepEqual(receipt.denials, [
    { kind: 'network', host: 'two.test', port: 80, rule: 'leak of OWN_TOKEN' },
  ]);
  assert.equal(runtime.authorizations.length, before);
});

test('the value is in no file, and in no environment', async () => {
  const { daemon } = runtime;
  const isIn = (file: string): boolean =>
    [own, other].some((value) => readFileSync(file).includes(value));
  const files = readdirSync(daemon.home, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
  assert.ok(files.length > 10);
  assert.deepEqual(files.filter(isIn), []);
  const session = await runtime.open('b');
  await session.start('sleep 60', { env_keys: ['OWN_TOKEN'] });
  const pids = descendantsOf(runnerPid(daemon) ?? 0);
  assert.ok(pids.length > 1);
  assert.deepEqual(pids.map(({ pid }) => `/proc/${pid}/environ`).filter(isIn), []);
  await session.destroy({ force: true });
});

test('its hosts are asked with those of the text, in one question', async () => {
  const session = await runtime.open('c');
  await assert.rejects(session.run('true', { env_keys: ['ASKED_TOKEN'] }), {
    code: 'APPROVAL_REQUIRED',
  });
  const found = (await runtime.client.approvals({ state: 'pending' })).at(-1);
  assert.deepEqual(found?.asked.hosts, ['one.test']);
  assert.deepEqual(found?.asked.brokered, [{ name: 'ASKED_TOKEN', hosts: ['one.test'] }]);
});

test('where a call names the hosts, a person is asked about the secret', async () => {
  const session = await runtime.open('c');
  await assert.rejects(session.run('true', { broker: ['FREE_TOKEN=known.test'] }), {
    code: 'APPROVAL_REQUIRED',
    message: /uses the secret FREE_TOKEN at known\.test without having it/,
  });
  await assert.rejects(session.run('true', { broker: ['OWN_TOKEN=evil.test'] }), {
    code: 'APPROVAL_REQUIRED',
  });
  await assert.rejects(session.run('true', { broker: ['FREE_TOKEN'] }), {
    code: 'INVALID_PARAMS',
    message: /no hosts are known for it/,
  });
  await assert.rejects(session.run('true', { broker: ['FREE_TOKEN=not a host'] }), {
    code: 'INVALID_PARAMS',
  });
});

test('without a bridge a secret is not brokered, and not given instead', async () => {
  const session = await runtime.open('d', { network: 'off' });
  const shown = await session.run(described('OWN_TOKEN'), { env_keys: ['OWN_TOKEN'] });
  assert.doesNotMatch(shown.stdout, new RegExp(sha256(own)));
  const onHost = await runtime.open('d', { network: 'host' });
  await assert.rejects(onHost.run('true', { env_keys: ['OWN_TOKEN'] }), {
    code: 'INVALID_PARAMS',
    message: /brokered on a bridge/,
  });
});

define('a placeholder has the shape of its value, and no part of it', () => {
  const key = Buffer.alloc(32, 7);
  for (const value of [own, other, 'AbCdEfGh/IjKl+MnOp=1234567890', 'a'.repeat(64)]) {
    const made = makePlaceholder(key, 'NAME', value);
    assert.equal(made, makePlaceholder(key, 'NAME', value));
    assert.notEqual(made, makePlaceholder(Buffer.alloc(32, 8), 'NAME', value));
    assert.equal(made.length, value.length);
    assert.equal(
      made.replaceAll(/[a-z]/g, 'a').replaceAll(/[A-Z]/g, 'A').replaceAll(/\d/g, '0'),
      value.replaceAll(/[a-z]/g, 'a').replaceAll(/[A-Z]/g, 'A').replaceAll(/\d/g, '0'),
    );
  }
  for (const value of ['short', 'with\nlines0123456789abcdef', 'ünïcödé0123456789abcdef']) {
    assert.throws(() => makePlaceholder(key, 'NAME', value), { code: 'INVALID_PARAMS' });
  }
});

define('every preset has hosts that are rules, and a source', () => {
  const names = brokerPresets.flatMap((one) => one.names);
  assert.equal(new Set(names).size, names.length);
  for (const {
    names: [name = ''],
    source,
  } of brokerPresets) {
    const rule = brokerRuleOf(name);
    assert.ok(rule !== null && parseHostRules(rule.hosts).length > 0, name);
    assert.ok(rule.headers.length + rule.query.length > 0 || rule.signs !== undefined, name);
    assert.match(source, /^https:\/\//);
  }
  assert.equal(brokerRuleOf('UNKNOWN_TOKEN'), null);
});
