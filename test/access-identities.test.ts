// Who presents a token, as the daemon knows it: at once when one comes, goes, or is enough no more.
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import type { Caller } from '../src/command.ts';
import { Identities } from '../src/daemon/access/identities.ts';
import { TrlError } from '../src/errors.ts';
import { Tokens } from '../src/identity/tokens.ts';
import { eventually } from './support/processes.ts';

const home = mkdtempSync(path.join(tmpdir(), 'trl-identities-'));
after(() => rmSync(home, { recursive: true, force: true }));

const mainToken = 'main-0123456789abcdef0123456789abcdef';

interface World extends Disposable {
  readonly tokens: Tokens;
  readonly identities: Identities;
  /** What the log was told. */
  readonly told: { kind: string; data: Record<string, unknown> }[];
  readonly said: string[];
  /** Who is enrolled; an error: the enrolment cannot be read. */
  enrolled: string | null | Error;
  sameUid: boolean;
  now: number;
}

let count = 0;
function world(): World {
  count += 1;
  const directory = path.join(home, String(count));
  const made: Omit<World, 'identities'> = {
    tokens: new Tokens(path.join(directory, 'tokens.json'), () => made.now),
    told: [],
    said: [],
    enrolled: null,
    sameUid: true,
    now: Date.now(),
    [Symbol.dispose]: () => identities[Symbol.dispose](),
  };
  const identities = Identities.open({
    directory,
    mainToken,
    enrolment: {
      approver: () => {
        if (made.enrolled instanceof Error) throw made.enrolled;
        return made.enrolled;
      },
    },
    isSameUidAllowed: () => made.sameUid,
    note: ({ kind, data }) => void made.told.push({ kind, data }),
    log: (text) => void made.said.push(text),
    clock: () => made.now,
  });
  return Object.assign(made, { identities });
}

const ends = (identities: Identities): Caller[] => {
  const ended: Caller[] = [];
  identities.watchRevoked((caller) => void ended.push(caller));
  return ended;
};

test('the token of the operator is an agent, and nothing like it is anybody', () => {
  using here = world();
  const { identities } = here;
  assert.deepEqual(identities.callerOf(mainToken), {
    actor: 'token:main',
    kind: 'agent',
    authenticatedBy: 'token',
    roles: ['agent'],
    credential: 'main',
  });
  const others = [
    '',
    mainToken.slice(1),
    `${mainToken} `,
    mainToken.toUpperCase(),
    `trl_${'A'.repeat(43)}`,
    'x'.repeat(1e6),
    '\0',
  ];
  for (const other of others) {
    assert.equal(identities.callerOf(other), null);
    const reason = other === '' ? 'missing' : 'unknown';
    assert.equal(identities.refusalReason(other), reason);
  }
  assert.equal(identities.refusalReason(null), 'missing');
});

test('the operator cannot start with a token that is too short', () => {
  const options = { directory: home, mainToken: 'short', enrolment: { approver: () => null } };
  assert.throws(
    () => Identities.open(options),
    (error) => error instanceof TrlError && error.code === 'INVALID_PARAMS',
  );
});

test('a token counts from when it is made to when it is revoked, without a restart', async () => {
  using here = world();
  const { tokens, identities, told } = here;
  const ended = ends(identities);
  const { token, record } = tokens.create({ name: 'ci', roles: ['agent'] });
  const caller = identities.callerOf(token);
  assert.equal(caller?.actor, `token:ci/${record.id}`);
  assert.equal(identities.callerOf(token), caller, 'the same object while it stands');
  // Another token comes: this one is the same still.
  const other = tokens.create({ name: 'b', roles: ['agent'] });
  assert.equal(identities.callerOf(token), caller);
  const script = { ...caller, within: 'x-of-a-script' };
  assert.ok(
    caller !== null && identities.isCredentialValid(caller) && identities.isCredentialValid(script),
  );
  tokens.revoke('ci');
  assert.ok(
    !identities.isCredentialValid(caller) && !identities.isCredentialValid(script),
    'before anybody asks',
  );
  assert.equal(identities.callerOf(token), null);
  assert.equal(identities.refusalReason(token), 'revoked');
  assert.equal(identities.callerOf(other.token)?.actor, `token:b/${other.record.id}`);
  await eventually('the listener hears of it', () => ended.length === 1);
  assert.deepEqual(ended, [caller]);
  // A name given anew is another actor: it has nothing of the first one.
  const again = tokens.create({ name: 'ci', roles: ['agent'] });
  assert.notEqual(identities.callerOf(again.token)?.actor, caller?.actor);
  const kinds = told.map(({ kind, data }) => [kind, data['token_id'], data['name']]);
  assert.deepEqual(kinds, [
    ['token.created', record.id, 'ci'],
    ['token.created', other.record.id, 'b'],
    ['token.revoked', record.id, 'ci'],
    ['token.created', again.record.id, 'ci'],
  ]);
  const text = JSON.stringify(told);
  for (const {
    token: secret,
    record: { sha256 },
  } of [{ token, record }, other, again]) {
    assert.ok(!text.includes(secret) && !text.includes(sha256));
  }
});

test('what a token has open is told to end though nobody asks any more', async () => {
  using here = world();
  const { tokens, identities } = here;
  const { token } = tokens.create({ roles: ['agent'] });
  const caller = identities.callerOf(token);
  const ended = ends(identities);
  const [record] = tokens.all();
  tokens.revoke(record?.id ?? '');
  await eventually('the listener hears of it', () => caller !== null && ended.includes(caller));
});

test('a token ends at its time', async () => {
  using here = world();
  const { tokens, identities } = here;
  const { token } = tokens.create({ roles: ['agent'], expiresAt: here.now + 1_000 });
  const caller = identities.callerOf(token);
  assert.ok(caller !== null);
  const ended = ends(identities);
  here.now += 1_000;
  assert.equal(identities.callerOf(token), null);
  assert.equal(identities.refusalReason(token), 'expired');
  await eventually('the listener hears of it', () => ended.includes(caller));
});

test('a file that others may read ends every token in it, says so once, and heals', () => {
  using here = world();
  const { tokens, identities, said } = here;
  const { token } = tokens.create({ roles: ['agent'] });
  assert.ok(identities.callerOf(token) !== null);
  chmodSync(tokens.file, 0o644);
  assert.equal(identities.callerOf(token), null);
  assert.equal(identities.callerOf(token), null);
  assert.equal(identities.refusalReason(token), 'unreadable');
  assert.match(said.join('\n'), /open to others; run: chmod 600/);
  assert.equal(said.length, 1);
  // What is not of the file stands.
  assert.ok(identities.callerOf(mainToken) !== null);
  chmodSync(tokens.file, 0o600);
  assert.ok(identities.callerOf(token) !== null);
  writeFileSync(tokens.file, '{');
  assert.equal(identities.callerOf(token), null);
});

test('what was open while the file was no good ends, though the token is there again', () => {
  using here = world();
  const { tokens, identities } = here;
  const { token, record } = tokens.create({ roles: ['agent'] });
  const before = identities.callerOf(token);
  const ended = ends(identities);
  chmodSync(tokens.file, 0o644);
  assert.equal(identities.callerOf(mainToken)?.actor, 'token:main');
  chmodSync(tokens.file, 0o600);
  // It comes anew before anybody looked.
  const anew = identities.callerOf(token);
  assert.ok(before !== null && anew !== null);
  tokens.revoke(record.id);
  assert.equal(identities.callerOf(token), null);
  assert.ok(
    anew === before || ended.includes(before),
    'the earlier connections stay open for good',
  );
});

test('a role the uid alone proved ends with a passphrase, or a policy that wants one', async () => {
  using here = world();
  const { tokens, identities } = here;
  const weak = tokens.create({ roles: ['approver'], proof: 'same_uid' }).token;
  const strong = tokens.create({ roles: ['approver'], proof: 'passphrase' }).token;
  const agent = tokens.create({ roles: ['agent'] }).token;
  const login = identities.redeem(identities.newLogin('same_uid').code);
  const ended = ends(identities);
  const standing = (): readonly boolean[] =>
    [weak, login?.token ?? '', strong, agent].map((one) => identities.callerOf(one) !== null);
  assert.deepEqual(standing(), [true, true, true, true]);
  for (const enrolled of ['ann', new Error('unreadable')]) {
    here.enrolled = enrolled;
    assert.deepEqual(standing(), [false, false, true, true]);
    assert.equal(identities.refusalReason(weak), 'unproved');
    here.enrolled = null;
    assert.deepEqual(standing(), [true, true, true, true]);
  }
  here.sameUid = false;
  assert.deepEqual(standing(), [false, false, true, true]);
  await eventually('the listener hears of it', () => ended.length === 2);
});

test('a login is the person enrolled, by name, until they leave or it expires', async () => {
  using here = world();
  const { identities, told } = here;
  const first = identities.redeem(identities.newLogin('same_uid').code);
  assert.ok(first !== null);
  const { credential, ...shown } = first.caller;
  assert.match(credential ?? '', /^[0-9a-f-]{36}$/);
  assert.deepEqual(shown, {
    actor: `person:${process.getuid?.()}`,
    kind: 'person',
    authenticatedBy: 'login',
    roles: ['approver', 'auditor'],
    proof: 'same_uid',
  });
  here.enrolled = 'ann';
  const { code } = identities.newLogin('passphrase');
  const second = identities.redeem(code);
  const third = identities.redeem(identities.newLogin('passphrase').code);
  assert.equal(identities.redeem(code), null);
  assert.equal(second?.caller.actor, 'person:ann');
  assert.equal(second.caller.proof, 'passphrase');
  const ended = ends(identities);
  identities.endLogin(second.token);
  assert.equal(identities.callerOf(second.token), null);
  assert.ok(
    !identities.isCredentialValid(second.caller) &&
      identities.isCredentialValid(third?.caller ?? second.caller),
  );
  // Whom only the uid proved has ended when a passphrase was set.
  assert.deepEqual(ended, [first.caller, second.caller]);
  assert.ok(identities.callerOf(third?.token ?? '') !== null, 'another login of them stands');
  here.now += 12 * 3_600_000;
  assert.equal(identities.callerOf(third?.token ?? ''), null);
  assert.equal(identities.refusalReason(third?.token ?? ''), 'expired');
  assert.deepEqual(
    told.map(({ kind }) => kind),
    ['login.opened', 'login.opened', 'login.opened'],
  );
  const text = JSON.stringify(told);
  assert.ok(!text.includes(second.token) && !text.includes(code));
});
