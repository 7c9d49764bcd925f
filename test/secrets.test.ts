// What is known of secrets: names to everybody, values to the masker and to one command.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { isTrlError, TrlError } from '../src/errors.ts';
import { checkMaskable } from '../src/redaction/known/maskable.ts';
import { EnvironmentSource } from '../src/secrets/environment-source.ts';
import { SecretStore } from '../src/secrets/secret-store.ts';
import type { SecretSource } from '../src/secrets/source.ts';

const value = 'c0rrect-horse-Battery';

function fakeSource(values: Record<string, string | Error>, more: Partial<SecretSource> = {}) {
  const reads: string[] = [];
  const source: SecretSource = {
    kind: 'command',
    origin: 'fake',
    mark: () => null,
    cacheMs: 1_000,
    names: async () => Object.keys(values),
    read: async (name) => {
      reads.push(name);
      const found = values[name];
      if (found instanceof Error) throw found;
      return found ?? null;
    },
    ...more,
  };
  return { source, reads, values };
}

function open(sources: readonly SecretSource[]) {
  const time = { now: 1_000_000 };
  const secrets = new SecretStore({ sources, checkMaskable, clock: () => time.now });
  return { secrets, time };
}

async function refusal(act: () => unknown, code: string): Promise<string> {
  try {
    await act();
  } catch (error) {
    assert.ok(isTrlError(error), String(error));
    assert.equal(error.code, code, error.message);
    assert.ok(!inspect(error, { depth: 9 }).includes(value));
    return error.message;
  }
  return assert.fail('it was not refused');
}

test('a list has names, sources and last uses, and no value', async () => {
  const environment = new EnvironmentSource(
    { API_KEY: value, PATH: '/bin' },
    { names: [], isWithheld: () => false },
  );
  const { source, reads } = fakeSource({ API_KEY: 'other-value', DB_PASSWORD: value });
  const { secrets, time } = open([environment, source]);
  secrets.give('GIVEN', `${value}2`);
  time.now = Date.UTC(2026, 10, 22);
  await secrets.value('API_KEY');
  assert.deepEqual(await secrets.list(), [
    {
      name: 'API_KEY',
      source: 'environment',
      origin: null,
      last_used: '2026-11-22T00:00:00.000Z',
    },
    { name: 'DB_PASSWORD', source: 'command', origin: 'fake', last_used: null },
    { name: 'GIVEN', source: 'person', origin: null, last_used: null },
  ]);
  assert.deepEqual(reads, []);
  assert.ok(!inspect(secrets, { depth: 20, showHidden: true }).includes(value));
  assert.ok(!JSON.stringify(secrets).includes(value));
});

test('a value is read when it is wanted, once, and again when its lifetime is over', async () => {
  const fake = fakeSource({ API_KEY: value });
  const { secrets, time } = open([fake.source]);
  await secrets.load();
  assert.deepEqual(secrets.known(), []);
  const both = await Promise.all([secrets.value('API_KEY'), secrets.value('API_KEY')]);
  assert.deepEqual(both[1], { name: 'API_KEY', value });
  assert.deepEqual(fake.reads, ['API_KEY']);
  time.now += 999;
  await secrets.value('API_KEY');
  assert.equal(fake.reads.length, 1);
  time.now += 2;
  fake.values['API_KEY'] = 'rotated-value';
  assert.equal((await secrets.value('API_KEY')).value, 'rotated-value');
  assert.equal(fake.reads.length, 2);
  // The old one may still come out of a command that has it.
  assert.deepEqual(
    secrets.known().map((known) => known.value),
    ['rotated-value', value],
  );
  time.now += 900_001;
  await secrets.load();
  assert.deepEqual(
    secrets.known().map((known) => known.value),
    ['rotated-value'],
  );
});

test('cheap sources are known before they are used, withheld values too', async () => {
  const env = {
    API_KEY: value,
    OPENROUTER_API_KEY: 'withheld-value',
    SHORT_TOKEN: 'ab1',
    DATABASE_URL: 'postgres://app:pa55-w0rd@db/app',
  };
  const isWithheld = (name: string): boolean => /^(OPENROUTER_|DATABASE_URL)/.test(name);
  const { secrets } = open([new EnvironmentSource(env, { names: [], isWithheld })]);
  let told = 0;
  const stop = secrets.watch(() => (told += 1));
  const before = secrets.version;
  await secrets.load();
  assert.ok(secrets.version > before && told > 0);
  assert.deepEqual(secrets.problems, []);
  const known = secrets.known().map((one) => one.value);
  assert.deepEqual(known.toSorted(), [value, 'ab1', 'pa55-w0rd', 'withheld-value'].toSorted());
  assert.match(await refusal(() => secrets.value('OPENROUTER_API_KEY'), 'SECRET_NOT_FOUND'), /trl/);
  const { version } = secrets;
  await secrets.load();
  assert.equal(secrets.version, version);
  stop();
  secrets.give('X', 'another-value');
  assert.equal(secrets.version, version + 1);
  assert.equal(told, version);
});

test('a value that cannot be masked, is empty or too large is refused', async () => {
  const { source } = fakeSource({ A: 'ab\\n12\\t3!', B: '', C: 'x'.repeat(64 * 1024 + 1) });
  const { secrets } = open([source]);
  assert.match(await refusal(() => secrets.value('A'), 'INVALID_PARAMS'), /fewer than 6/);
  assert.match(await refusal(() => secrets.value('B'), 'INVALID_PARAMS'), /empty/);
  assert.match(await refusal(() => secrets.value('C'), 'QUOTA_EXCEEDED'), /65536 bytes/);
  assert.match(
    await refusal(() => secrets.give('D', 'p://u:ab\\n12\\t3!@h/x'), 'INVALID_PARAMS'),
    /masked/,
  );
  assert.deepEqual(secrets.known(), []);
});

test('the 257th value is refused, and room is made by what is not used any more', async () => {
  const { secrets } = open([]);
  for (let at = 0; at < 256; at += 1) secrets.give(`NAME_${at}`, `value-number-${at}`);
  const said = await refusal(() => secrets.give('ONE_MORE', value), 'QUOTA_EXCEEDED');
  assert.match(said, /256 values are in use/);
  secrets.give('NAME_0', 'value-number-0');
  secrets.delete('NAME_7');
  assert.equal(secrets.known().length, 256);
  secrets.give('ONE_MORE', value);
  assert.equal(secrets.known().length, 256);
  assert.ok(secrets.known().some((one) => one.value === value));
});

test('what no source has is refused with what a person can do', async () => {
  const { secrets } = open([fakeSource({}).source]);
  const said = await refusal(() => secrets.value('API_KEY'), 'SECRET_NOT_FOUND');
  assert.match(said, /trl secrets set API_KEY/);
  for (const name of ['', 'A B', '1A', 'A=B', 'LD_PRELOAD', 'NODE_OPTIONS', 'a'.repeat(300)]) {
    await refusal(() => secrets.value(name), 'SECRET_NOT_FOUND');
    await refusal(() => secrets.give(name, value), 'INVALID_PARAMS');
  }
});

test('a source that fails is named; an absent keyring hides no other answer', async () => {
  const failing = new TrlError('SECRET_UNAVAILABLE', 'Cannot read the file: chmod 600 x');
  const broken: Partial<SecretSource> = {
    kind: 'dotenv',
    origin: '/x',
    names: () => Promise.reject(failing),
  };
  const first = fakeSource({ API_KEY: failing, OTHER: failing }, broken);
  const second = fakeSource({ API_KEY: value });
  const { secrets } = open([first.source, second.source]);
  assert.equal((await secrets.value('API_KEY')).value, value);
  assert.match(await refusal(() => secrets.value('OTHER'), 'SECRET_UNAVAILABLE'), /chmod 600/);
  assert.deepEqual(
    (await secrets.list()).map(({ name }) => name),
    ['API_KEY'],
  );
  const problem = { source: 'dotenv', origin: '/x', problem: failing.message };
  assert.deepEqual(secrets.problems, [problem]);
  const keyring = fakeSource({ OTHER: failing }, { kind: 'keyring' });
  const only = open([keyring.source]).secrets;
  const said = await refusal(() => only.value('OTHER'), 'SECRET_NOT_FOUND');
  assert.match(said, /trl secrets set OTHER; Cannot read/);
});

test('a check says whether a command could have it, and counts as no use', async () => {
  const failing = new TrlError('SECRET_UNAVAILABLE', 'Cannot read it');
  const { source } = fakeSource({ GOOD: value, ESCAPES: 'ab\\n12\\t3!', FAILS: failing });
  const { secrets, time } = open([{ ...source, mark: () => 'one' }]);
  time.now = Date.UTC(2026, 10, 22);
  assert.deepEqual(await secrets.check('GOOD'), {
    name: 'GOOD',
    state: 'ready',
    source: 'command',
    origin: 'fake',
    expires_at: '2026-11-22T00:00:01.000Z',
    problem: null,
  });
  assert.equal((await secrets.check('ESCAPES')).state, 'unusable');
  assert.equal((await secrets.check('FAILS')).state, 'unreadable');
  assert.equal((await secrets.check('ABSENT')).state, 'missing');
  assert.ok((await secrets.list()).every((view) => view.last_used === null));
});

test('a source that costs is asked for no check, nor again when it failed', async () => {
  const failing = new TrlError('SECRET_UNAVAILABLE', 'Cannot read it');
  const { source, reads, values } = fakeSource({ GOOD: value, FAILS: failing });
  const { secrets, time } = open([source]);
  const check = await secrets.check('GOOD');
  assert.deepEqual([check.state, check.source, check.origin], ['unread', 'command', 'fake']);
  await secrets.usable('FAILS');
  assert.equal((await secrets.check('ABSENT')).state, 'missing');
  await refusal(() => secrets.usable('ABSENT'), 'SECRET_NOT_FOUND');
  assert.deepEqual(reads, []);
  for (let tries = 0; tries < 3; tries += 1) {
    await refusal(() => secrets.value('FAILS'), 'SECRET_UNAVAILABLE');
  }
  assert.deepEqual(reads, ['FAILS']);
  time.now += 5_000;
  assert.equal((await secrets.check('FAILS')).state, 'unreadable');
  values['FAILS'] = value;
  assert.equal((await secrets.value('FAILS')).value, value);
  assert.equal((await secrets.check('FAILS')).state, 'ready');
});

test('a weak value is taken and warned about, a key is not', () => {
  const { secrets } = open([]);
  assert.match(secrets.give('WORD', 'changeme1') ?? '', /weak, a common word or too short/);
  assert.match(
    secrets.give('DB', 'postgres://app:postgres@db/app') ?? '',
    /weak, a common word or too short/,
  );
  assert.equal(secrets.give('KEY', value), null);
  assert.match(secrets.give('PIN', '1234') ?? '', /too short/);
  assert.deepEqual(secrets.weak, ['WORD', 'DB', 'PIN']);
});

test('what a person gives goes before sources, until it is deleted', async () => {
  const { secrets } = open([fakeSource({ API_KEY: 'from-a-source' }).source]);
  assert.equal(secrets.give('API_KEY', value), null);
  assert.equal((await secrets.value('API_KEY')).value, value);
  secrets.delete('API_KEY');
  assert.equal((await secrets.value('API_KEY')).value, 'from-a-source');
  // Deleted, and still masked: a command may print it yet.
  assert.ok(secrets.known().some((one) => one.value === value));
  await refusal(() => secrets.delete('ABSENT'), 'SECRET_NOT_FOUND');
});

test('a person is asked once for a name; who waits goes on when it is given', async () => {
  const { secrets, time } = open([]);
  const asked = { name: 'API_KEY', reason: 'to deploy', requester: 'agent' };
  const request = secrets.request(asked);
  assert.deepEqual(secrets.request({ ...asked, reason: 'again' }), request);
  assert.deepEqual(secrets.requests.list(), [
    { ...asked, requestedAt: 1_000_000, expiresAt: 1_900_000 },
  ]);
  const waiting = secrets.requests.wait('API_KEY', 60_000);
  secrets.give('API_KEY', value);
  assert.equal(await waiting, true);
  assert.deepEqual(secrets.requests.list(), []);
  assert.equal(await secrets.requests.wait('API_KEY', 60_000), false);

  secrets.request({ ...asked, name: 'LATE' });
  assert.equal(await secrets.requests.wait('LATE', 1), false);
  const denied = secrets.requests.wait('LATE', 60_000);
  time.now += 900_000;
  assert.deepEqual(secrets.requests.list(), []);
  assert.equal(await denied, false);
});

test('32 requests may wait', async () => {
  const { secrets } = open([]);
  for (let at = 0; at < 32; at += 1) {
    secrets.request({ name: `N${at}`, reason: '', requester: `r${at}` });
  }
  const more = { name: 'MORE', reason: '', requester: 'c' };
  await refusal(() => secrets.request(more), 'QUOTA_EXCEEDED');
  await refusal(() => secrets.request({ ...more, name: 'LD_PRELOAD' }), 'INVALID_PARAMS');
});
