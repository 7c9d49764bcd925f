// What policies say of publishing: who may add what, and what holds when several speak.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { loadPolicy, readPolicy } from '../src/policy/files/load.ts';
import { PolicyError } from '../src/policy/files/policy-file.ts';
import { readPolicyFile, type PolicyFileOrigin } from '../src/policy/files/read.ts';
import { findAudience, joinPublication, type PublicationLayer } from '../src/policy/publication.ts';
import { policyFromProfile } from '../src/policy/profiles.ts';

const origin: PolicyFileOrigin = { file: 'p.yaml', kind: 'user', version: '9.9.9' };

function problemsIn(input: string): string[] {
  try {
    readPolicyFile(input, origin);
  } catch (error) {
    assert.ok(error instanceof PolicyError, String(error));
    return error.problems.map(({ line, column, message }) => `${line}:${column} ${message}`);
  }
  return [];
}

test('what a file says of publishing is in the policy, and what it denies all is in each', () => {
  const policy = readPolicy(
    `files: {deny: [secrets/**]}
publication:
  audiences:
    public: {deny: [private/**], names: [Project Nightingale], interference: review}
    partners: {sees: [api/**]}
  canaries: [TRL-CANARY-5f0c]
`,
    origin,
  );
  assert.deepEqual(findAudience(policy), {
    name: 'public',
    deny: ['secrets/**', 'private/**'],
    sees: [],
    names: ['Project Nightingale'],
    interference: 'review',
  });
  assert.deepEqual(findAudience(policy, 'partners'), {
    name: 'partners',
    deny: ['secrets/**'],
    sees: [['api/**']],
    names: [],
    interference: 'pass',
  });
  assert.equal(findAudience(policy, 'nobody'), null);
  assert.deepEqual(policy.publication.canaries, ['TRL-CANARY-5f0c']);
});

test('public is an audience where no file speaks of publishing', () => {
  assert.equal(findAudience(policyFromProfile('guarded'))?.name, 'public');
  assert.equal(findAudience(policyFromProfile('guarded'), '__proto__'), null);
});

test("a project's file adds to an audience, and makes none to publish for", () => {
  const text = 'publication: {audiences: {public: {deny: [a]}, friends: {deny: []}}}';
  const project = readPolicyFile(text, { ...origin, kind: 'project' });
  const policy = loadPolicy({
    fallback: 'auto',
    version: '9.9.9',
    chosen: { base: 'auto' },
    managedFile: '/nonexistent/policy.yaml',
    project,
  });
  assert.deepEqual(findAudience(policy)?.deny, ['a']);
  assert.equal(findAudience(policy, 'friends'), null);
});

const bad: readonly (readonly [string, string, string])[] = [
  [
    'a canary that would be found by chance',
    'publication: {canaries: [a-b]}',
    '1:26 an entry of "canaries" must have at least 8 letters or digits, got "a-b"',
  ],
  [
    'a name that is too short',
    'publication: {audiences: {public: {names: ["!x!"]}}}',
    '1:44 an entry of "names" must have at least 4 letters or digits, got "!x!"',
  ],
  [
    'a key of an audience that there is not',
    'publication: {audiences: {public: {dney: [x]}}}',
    '1:36 unknown key "dney"; did you mean "deny"?',
  ],
  ['a key that there is not', 'publication: {deny: [x]}', '1:15 unknown key "deny"'],
  [
    'an audience of a form that names have not',
    'publication: {audiences: {"../x": {deny: [x]}}}',
    '1:35 "../x" ',
  ],
  [
    'an answer that there is not',
    'publication: {audiences: {public: {interference: deny}}}',
    '1:50 "interference" must be pass or review or block, got "deny"',
  ],
];

for (const [what, input, wanted] of bad) {
  test(`${what} is refused with line and column`, () => {
    const [found = 'nothing was refused'] = problemsIn(input);
    assert.ok(found.startsWith(wanted), `${found}\n  is not\n${wanted}`);
  });
}

const given: fc.Arbitrary<PublicationLayer> = fc.record({
  audiences: fc.uniqueArray(
    fc.record({
      name: fc.constantFrom('public', 'partners', 'friends'),
      deny: fc.array(fc.constantFrom('a', 'b', 'c')),
      sees: fc.array(fc.array(fc.constantFrom('x', 'y')), { maxLength: 1 }),
      names: fc.array(fc.constantFrom('n', 'm')),
      interference: fc.constantFrom('pass', 'review', 'block'),
    }),
    { selector: ({ name }) => name },
  ),
  canaries: fc.array(fc.constantFrom('k', 'l')),
  introduces: fc.boolean(),
});

test('another layer only ever adds to what must not leave', () => {
  fc.assert(
    fc.property(fc.array(given, { maxLength: 3 }), given, (some, another) => {
      const before = joinPublication(some);
      const after = joinPublication([...some, another]);
      const order = ['pass', 'review', 'block'];
      for (const old of before.audiences) {
        const now = after.audiences.find(({ name }) => name === old.name);
        assert.ok(now !== undefined);
        assert.ok(old.deny.every((one) => now.deny.includes(one)));
        assert.ok(old.names.every((one) => now.names.includes(one)));
        assert.ok(old.sees.every((list) => now.sees.includes(list)));
        assert.ok(order.indexOf(now.interference) >= order.indexOf(old.interference));
      }
      assert.ok(before.canaries.every((one) => after.canaries.includes(one)));
    }),
  );
});
