// Rules of people in whole decisions: through wrappers, over layers, against every profile.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import type { Caller } from '../src/command.ts';
import { readPolicyFile, type PolicyFileOrigin } from '../src/policy/files/read.ts';
import { loadPolicy, readPolicy } from '../src/policy/files/load.ts';
import { createPolicyJudge } from '../src/policy/judge.ts';
import {
  policyBaseNames,
  policyDecisions,
  type PolicyBaseName,
  type Policy,
} from '../src/policy/policy.ts';

const origin: PolicyFileOrigin = { file: 'p.yaml', kind: 'user', version: '9.9.9' };
const known = { facts: null, exposure: null, variables: [] };

function verdictOn(policy: Policy, text: string, caller: Caller | null = null) {
  const judge = createPolicyJudge(policy, caller, null);
  return judge.decide(judge.parse(text, 'bash'), known);
}

const rules = `
commands:
  - {id: tf, decision: block, match: [terraform, ..., apply, ...], reason: production}
  - {id: deploy, decision: ask, match: [make, deploy], reason: a person looks}
  - {id: make, decision: allow, match: [make, ...], reason: ours}
  - {id: status, decision: ask, match: [git, status, ...], reason: slow here}
`;
const guarded = readPolicy(`base: guarded${rules}`, origin);

// What is read for the first time may run out of its milliseconds while the code is compiled.
for (let warm = 0; warm < 50; warm += 1) {
  verdictOn(guarded, 'timeout 5 sh -c "ls; $(pwd)" | xargs x');
}

const blocked = [
  'terraform apply',
  '/opt/bin/TERRAFORM -chdir=x apply',
  'cd x && terraform apply -auto-approve',
  'timeout 5 nice -n 3 terraform apply',
  'env A=1 terraform apply',
  `bash -c 'cd y; terraform apply'`,
  `sh -c "sh -c 'terraform apply'"`,
  'echo "$(terraform apply)"',
  'if true; then terraform apply; fi',
  'f() { terraform apply; }; f',
  'find . -exec terraform apply \\;',
  'echo x | xargs terraform apply',
  `"terra"form 'apply'`,
  'x=apply; terraform $x',
  'bash <<E\nterraform apply\nE',
  'terraform {plan,apply}',
];
for (const text of blocked) {
  test(`a block rule holds in: ${text}`, () => {
    const verdict = verdictOn(guarded, text);
    assert.equal(verdict.decision, 'block');
    assert.ok(verdict.rules.some(({ id }) => id === 'rule.tf'));
    assert.equal(verdict.runs, null);
  });
}

const unblocked = [
  'terraform plan',
  'echo terraform apply',
  'git commit -m "terraform apply"',
  '# terraform apply\nls',
  'rg "terraform apply"',
];
for (const text of unblocked) {
  test(`a block rule does not hold in: ${text}`, () => {
    assert.notEqual(verdictOn(guarded, text).decision, 'block');
  });
}

test('an allow rule holds for one plain command, and it is started as it was read', () => {
  const verdict = verdictOn(guarded, `make -C 'a b' test`);
  assert.deepEqual([verdict.decision, verdict.runs], ['allow', ['make', '-C', 'a b', 'test']]);
  assert.deepEqual(
    verdict.rules.map(({ id, span }) => ({ id, span })),
    [{ id: 'rule.make', span: [0, 18] }],
  );
  for (const text of [
    'make test && make lint',
    'make test > out',
    'make $X',
    'make *',
    'A=1 make test',
    'make test &',
    '(make test)',
    'timeout 5 make test',
    'make\u00a0test',
    'make "$(id)"',
    './make test',
    'make deploy',
  ]) {
    const other = verdictOn(guarded, text);
    assert.deepEqual([other.decision, other.runs], ['ask', null], text);
  }
  assert.equal(verdictOn(guarded, 'make test; rm -rf /').decision, 'block');
  assert.equal(verdictOn(guarded, 'make "$(rm -rf /)"').decision, 'block');
});

test('a rule may tighten what is on the short list', () => {
  assert.equal(verdictOn(guarded, 'git status').decision, 'ask');
  assert.equal(verdictOn(guarded, 'git log').decision, 'allow');
});

test('rules hold under every profile, and no block is lifted', () => {
  for (const base of policyBaseNames) {
    const policy = readPolicy(
      `base: ${base}${rules}  - {decision: allow, match: [git, push], reason: no}\n`,
      origin,
    );
    assert.equal(verdictOn(policy, 'sh -c "terraform apply"').decision, 'block', base);
    const push = verdictOn(policy, 'git push').decision;
    assert.equal(push, base === 'trusted' ? 'allow' : 'block', base);
    assert.equal(verdictOn(policy, 'make test').decision, 'allow', base);
  }
});

function layered(own: string, managed: string): Policy {
  const file = readPolicyFile(managed, { ...origin, kind: 'managed' });
  // The same joining as of a project's file, which needs no file of root.
  const options = { fallback: 'guarded', version: '9.9.9', managedFile: '/nonexistent' } as const;
  const policy = loadPolicy({ ...options, userFile: '/nonexistent', project: file });
  const [first] = readPolicy(own, origin).layers;
  assert.ok(first !== undefined);
  return { ...policy, layers: [first, ...policy.layers.slice(1)] };
}

test('what one layer allows, another one still asks or blocks', () => {
  const own = `base: guarded${rules}`;
  assert.equal(verdictOn(layered(own, 'limits: {timeout: 1m}'), 'make test').decision, 'allow');
  assert.equal(verdictOn(layered(own, 'base: guarded'), 'make test').decision, 'ask');
  assert.equal(verdictOn(layered(own, 'base: locked'), 'make test').decision, 'block');
  const both = layered(own, `base: guarded${rules}`);
  assert.equal(verdictOn(both, 'make test').decision, 'allow');
  const trusted = layered('base: trusted', `base: guarded${rules}`);
  assert.equal(verdictOn(trusted, 'rm -rf x').decision, 'block');
  assert.equal(verdictOn(trusted, 'cmake x').decision, 'ask');
});

test('a caller gets the base that names it', () => {
  const policy = readPolicy('base: guarded\ncallers: [{kind: person, base: trusted}]\n', origin);
  const caller = (kind: Caller['kind']): Caller => {
    return { actor: 'x', kind, authenticatedBy: 'socket-owner', roles: [] };
  };
  assert.equal(verdictOn(policy, 'cmake x', caller('person')).decision, 'allow');
  assert.equal(verdictOn(policy, 'cmake x', caller('agent')).decision, 'ask');
  assert.equal(verdictOn(policy, 'cmake x').decision, 'ask');
});

test('another layer never makes a verdict milder', () => {
  const text = fc.constantFrom(...blocked, ...unblocked, 'make test', 'make deploy', 'git status');
  const rule = fc.constantFrom(
    '{decision: ask, match: [make, ...], reason: x}',
    '{decision: block, match: [git, ...], reason: x}',
    '{decision: block, match: [cd, ...], reason: x}',
  );
  const base = fc.option(fc.constantFrom<PolicyBaseName>(...policyBaseNames));
  fc.assert(
    fc.property(text, fc.array(rule, { maxLength: 2 }), base, (one, written, added) => {
      const says = added === null ? '' : `base: ${added}\n`;
      const managed = `name: m\n${says}commands: [${written.join()}]`;
      const [before, after] = [guarded, layered(`base: guarded${rules}`, managed)].map((policy) =>
        policyDecisions.indexOf(verdictOn(policy, one).decision),
      );
      assert.ok(after !== undefined && before !== undefined && after >= before);
    }),
  );
});

test('a text too large to be held against the rules is asked at least', () => {
  const trusted = readPolicy(`base: trusted${rules}`, origin);
  for (const text of [
    'a;'.repeat(5_000),
    `${'$('.repeat(5_000)}terraform apply`,
    `echo ${'x'.repeat(70_000)}\nterraform apply`,
    `${'timeout 5 '.repeat(200)}terraform apply`,
  ]) {
    const { decision, rules: deciding } = verdictOn(trusted, text);
    assert.notEqual(decision, 'allow', text.slice(0, 20));
    assert.ok(deciding.some(({ id }) => id === 'limit.rules' || id === 'rule.tf'));
  }
  assert.equal(verdictOn(trusted, 'a;'.repeat(50)).decision, 'allow');
});
