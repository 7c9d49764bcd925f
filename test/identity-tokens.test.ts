// Tokens in their file, and logins in memory: what counts, what never does, what is never kept.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { promisify } from 'node:util';
import * as fc from 'fast-check';
import './support/seed.ts';
import { TrlError } from '../src/errors.ts';
import { Logins } from '../src/identity/logins.ts';
import { parseTokenRecords, formatTokenRecords } from '../src/identity/token-record.ts';
import { checkMainToken, hashToken, mainTokenIn, generateToken } from '../src/identity/token.ts';
import { Tokens } from '../src/identity/tokens.ts';

const home = mkdtempSync(path.join(tmpdir(), 'trl-tokens-'));
after(() => rmSync(home, { recursive: true, force: true }));

let count = 0;
function fresh(clock?: () => number): Tokens {
  count += 1;
  const file = path.join(home, String(count), 'trl', 'tokens.json');
  return clock === undefined ? new Tokens(file) : new Tokens(file, clock);
}

const failsWith = (code: string, message?: RegExp) => (error: unknown) => {
  assert.ok(error instanceof TrlError, String(error));
  assert.equal(error.code, code);
  if (message !== undefined) assert.match(error.message, message);
  return true;
};

describe('a token', () => {
  test('is 256 random bits, of which only the hash is on disk, for nobody else to read', () => {
    const tokens = fresh();
    const { record, token } = tokens.create({ name: 'ci', roles: ['agent'] });
    assert.match(token, /^trl_[A-Za-z0-9_-]{43}$/);
    assert.match(record.id, /^t-[0-9a-f]{16}$/);
    assert.equal(record.sha256, hashToken(token).toString('hex'));
    const directory = path.dirname(tokens.file);
    for (const name of readdirSync(directory)) {
      const text = readFileSync(path.join(directory, name), 'latin1');
      assert.ok(!text.includes(token) && !text.includes(token.slice(4)), name);
      assert.equal(statSync(path.join(directory, name)).mode & 0o777, 0o600, name);
    }
    assert.equal(statSync(directory).mode & 0o777, 0o700);
    assert.deepEqual(tokens.all(), [record]);
  });

  test('is never the same twice', () => {
    assert.equal(new Set(Array.from({ length: 1_000 }, generateToken)).size, 1_000);
  });

  test('of a person is made by a person alone', () => {
    const tokens = fresh();
    for (const role of ['approver', 'auditor', 'admin'] as const) {
      assert.throws(() => tokens.create({ roles: ['agent', role] }), failsWith('AUTH_FAILED'));
      const { record } = tokens.create({ roles: [role], proof: 'same_uid' });
      assert.equal(record.proof, 'same_uid');
    }
    const { record } = tokens.create({ roles: ['agent'], proof: 'passphrase' });
    assert.equal(record.proof, null);
    assert.equal(tokens.all().length, 4);
  });

  test('has a name of its own, until it is revoked', () => {
    const tokens = fresh();
    const { record } = tokens.create({ name: 'ci', roles: ['agent'] });
    const again = (): unknown => tokens.create({ name: 'ci', roles: ['agent'] });
    assert.throws(again, failsWith('INVALID_PARAMS', /there is one called "ci"/));
    assert.equal(tokens.revoke('ci').id, record.id);
    assert.throws(() => tokens.revoke('ci'), failsWith('INVALID_PARAMS', /no such token/));
    again();
    for (const name of ['', 't-0123456789abcdef', 'a/b', 'a b', '-x', 'é', 'x'.repeat(65), 'a\n']) {
      const make = (): unknown => tokens.create({ name, roles: ['agent'] });
      assert.throws(make, failsWith('INVALID_PARAMS'), JSON.stringify(name));
    }
  });

  test('does not begin expired, and needs a role', () => {
    const tokens = fresh(() => 1_000);
    for (const expiresAt of [999, 1_000, Number.NaN, -1]) {
      const make = (): unknown => tokens.create({ roles: ['agent'], expiresAt });
      assert.throws(make, failsWith('INVALID_PARAMS', /expired/));
    }
    assert.throws(() => tokens.create({ roles: [] }), failsWith('INVALID_PARAMS'));
    assert.equal(existsSync(tokens.file), false);
  });

  test('that is revoked is remembered for a while, and no longer than that', () => {
    let now = 1_000;
    const tokens = fresh(() => now);
    tokens.create({ name: 'old', roles: ['agent'] });
    tokens.revoke('old');
    now += 89 * 86_400_000;
    tokens.create({ name: 'new', roles: ['agent'] });
    assert.equal(tokens.all().length, 2);
    now += 2 * 86_400_000;
    tokens.create({ name: 'newer', roles: ['agent'] });
    assert.deepEqual(
      tokens.all().map(({ name }) => name),
      ['new', 'newer'],
    );
  });

  test('is one of a thousand at most', () => {
    const tokens = fresh();
    tokens.create({ roles: ['agent'] });
    const [first] = tokens.all();
    assert.ok(first !== undefined);
    const many = Array.from({ length: 1_000 }, (_, at) => {
      const hex = at.toString(16).padStart(16, '0');
      return { ...first, id: `t-${hex}` as const, sha256: hex.repeat(4) };
    });
    writeFileSync(tokens.file, formatTokenRecords(many), { mode: 0o600 });
    assert.throws(() => tokens.create({ roles: ['agent'] }), failsWith('QUOTA_EXCEEDED'));
    tokens.revoke('t-0000000000000000');
    tokens.create({ roles: ['agent'] });
    assert.equal(tokens.all().length, 1_001);
  });
});

describe('the file of tokens counts for nothing', () => {
  const broken: readonly (readonly [string, (tokens: Tokens) => void])[] = [
    ['when others may read it', ({ file }) => chmodSync(file, 0o640)],
    [
      'when it is a link',
      ({ file }) => {
        renameSync(file, `${file}.x`);
        symlinkSync(`${file}.x`, file);
      },
    ],
    [
      'when it is a directory',
      ({ file }) => {
        rmSync(file);
        mkdirSync(file);
      },
    ],
    ['when it is empty', ({ file }) => writeFileSync(file, '')],
    ['when it is torn', ({ file }) => writeFileSync(file, readFileSync(file).subarray(0, -9))],
    ['when it is too large', ({ file }) => writeFileSync(file, ' '.repeat(2 ** 20 + 1))],
  ];
  for (const [when, breakIt] of broken) {
    test(when, () => {
      const tokens = fresh();
      tokens.create({ name: 'ci', roles: ['agent'] });
      breakIt(tokens);
      assert.throws(() => tokens.all(), failsWith('AUTH_FAILED'));
      // What is there is not thrown away by the next one either.
      assert.throws(() => tokens.create({ roles: ['agent'] }), failsWith('AUTH_FAILED'));
      assert.throws(() => tokens.revoke('ci'), failsWith('AUTH_FAILED'));
    });
  }

  test('when another user owns it', { skip: process.getuid?.() !== 0 && 'needs root' }, () => {
    const tokens = fresh();
    tokens.create({ roles: ['agent'] });
    chownSync(tokens.file, 65_534, 65_534);
    assert.throws(() => tokens.all(), failsWith('AUTH_FAILED', /uid 65534 owns it/));
  });

  test('when its directory is open to other writers: nothing is written there', () => {
    const tokens = fresh();
    tokens.create({ roles: ['agent'] });
    chmodSync(path.dirname(tokens.file), 0o777);
    assert.throws(() => tokens.create({ roles: ['agent'] }), failsWith('AUTH_FAILED', /others/));
  });

  test('when anything in it is other than as it is written', () => {
    const tokens = fresh();
    tokens.create({ name: 'ci', roles: ['approver'], proof: 'passphrase', expiresAt: 9e15 });
    const [good] = JSON.parse(readFileSync(tokens.file, 'utf8')).tokens;
    const read = (text: string): unknown => parseTokenRecords(text, 'f');
    const whole = (...all: unknown[]): string => JSON.stringify({ v: 1, tokens: all });
    assert.deepEqual(read(whole(good)), tokens.all());
    const wrong: object[] = [
      { id: 't-1' },
      { id: 7 },
      { name: 'a b' },
      { name: 3 },
      { roles: [] },
      { roles: ['root'] },
      { roles: ['agent', 'agent'] },
      { roles: 'admin' },
      { sha256: '' },
      { sha256: 'z'.repeat(64) },
      { proof: 'word' },
      { proof: null },
      { created_at: null },
      { created_at: -1 },
      { expires_at: '9' },
      { expires_at: 1.5 },
      { revoked_at: true },
      { more: 1 },
    ];
    for (const change of wrong) {
      const text = whole({ ...good, ...change });
      assert.throws(() => read(text), failsWith('AUTH_FAILED', /no token in it counts/), text);
    }
    for (const name of Object.keys(good)) {
      const { [name]: _, ...rest } = good;
      assert.throws(() => read(whole(rest)), failsWith('AUTH_FAILED'), name);
    }
    for (const text of ['[]', 'null', '{"v":2,"tokens":[]}', '{"v":1}', '{"v":1,"tokens":{}}']) {
      assert.throws(() => read(text), failsWith('AUTH_FAILED'), text);
    }
    const twice = [whole(good, good), whole(good, { ...good, id: 't-0000000000000000' })];
    for (const text of twice) assert.throws(() => read(text), failsWith('AUTH_FAILED', /twice/));
  });

  test('when it is any other JSON', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        assert.throws(() => parseTokenRecords(text, 'f'), failsWith('AUTH_FAILED'));
      }),
      { numRuns: 200 },
    );
  });
});

test('writers of several processes lose none of each other, and leave nothing behind', async () => {
  const tokens = fresh();
  const script =
    `import { Tokens } from ${JSON.stringify(path.resolve('src/identity/tokens.ts'))};` +
    `const tokens = new Tokens(process.argv[1]);` +
    `for (let n = 0; n < 8; n++) {` +
    `const { record } = tokens.create({ roles: ['agent'] });` +
    `if (n % 2) tokens.revoke(record.id); }`;
  const argv = ['--input-type=module', '-e', script, tokens.file];
  const run = promisify(execFile);
  await Promise.all([1, 2, 3].map(() => run(process.execPath, argv)));
  const all = tokens.all();
  assert.equal(all.length, 24);
  assert.equal(all.filter(({ revokedAt }) => revokedAt !== null).length, 12);
  const left = readdirSync(path.dirname(tokens.file)).toSorted();
  assert.deepEqual(left, ['tokens.json', 'tokens.json.lock']);
});

describe('the token of the operator', () => {
  test('has 32 characters or more, of those that a header can carry', () => {
    checkMainToken('x'.repeat(32));
    for (const bad of ['', 'x'.repeat(31), ` ${'x'.repeat(40)}`, 'é'.repeat(40), 'x'.repeat(513)]) {
      const check = (): void => checkMainToken(bad);
      assert.throws(check, (error) => failsWith('INVALID_PARAMS')(error));
      // What was given may be half a secret.
      if (bad.length > 3) {
        assert.throws(check, (error) => !(error instanceof Error && error.message.includes(bad)));
      }
      assert.equal(mainTokenIn({ TRL_AUTH_TOKEN: bad }), null);
    }
    assert.equal(mainTokenIn({}), null);
  });
});

describe('a login', () => {
  const person = { actor: 'person:ann', proof: 'passphrase' } as const;

  test('is opened by a code once, within five minutes', () => {
    let now = 0;
    const logins = new Logins(() => now);
    const { code, expiresAt } = logins.issue(person);
    assert.equal(expiresAt, 300_000);
    const found = logins.redeem(code);
    assert.ok(found !== null);
    assert.match(found.token, /^trl_[A-Za-z0-9_-]{43}$/);
    assert.deepEqual(found.login.person, person);
    assert.equal(found.login.expiresAt, 12 * 3_600_000);
    assert.equal(logins.redeem(code), null);
    assert.equal(logins.find(hashToken(found.token).toString('hex')), found.login);
    const late = logins.issue(person).code;
    now = 300_000;
    assert.equal(logins.redeem(late), null);
    now = 0;
    assert.equal(logins.redeem(late), null);
  });

  test('is opened by no other code', () => {
    const logins = new Logins();
    const { code } = logins.issue(person);
    for (const other of ['', code.slice(1), `${code}A`, code.toLowerCase(), 'A'.repeat(43)]) {
      if (other !== code) assert.equal(logins.redeem(other), null);
    }
    assert.ok(logins.redeem(code) !== null);
  });

  test('is one of 256, of 64 codes: the oldest leave', () => {
    const logins = new Logins();
    const codes = Array.from({ length: 65 }, () => logins.issue(person).code);
    assert.equal(logins.redeem(codes[0] ?? ''), null);
    assert.ok(logins.redeem(codes[1] ?? '') !== null);
    const keys = Array.from({ length: 257 }, () => {
      const found = logins.redeem(logins.issue(person).code);
      return hashToken(found?.token ?? '').toString('hex');
    });
    assert.equal(logins.find(keys[0] ?? ''), null);
    assert.ok(logins.find(keys[1] ?? '') !== null);
  });
});
