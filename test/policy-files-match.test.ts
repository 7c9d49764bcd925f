// Which command lines a written rule fits, and what it makes of a verdict.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import type { Verdict } from '../src/command.ts';
import { ruleMatches, globMatches, strictestCommandRule } from '../src/policy/rule-matching.ts';
import { policyDecisions, type CommandRule, type WordPattern } from '../src/policy/policy.ts';
import { strictestVerdict, applyCommandRules, unlistedRuleId } from '../src/policy/rules.ts';

function ruleOf(
  decision: CommandRule['decision'],
  match: readonly WordPattern[],
  id = 'rule.x',
): CommandRule {
  return { id, decision, match, reason: 'said so', instead: null };
}

const table: readonly (readonly [readonly WordPattern[], string, boolean])[] = [
  [['make'], 'make', true],
  [['make'], 'make test', false],
  [['make', '...'], 'make', true],
  [['make', '...'], 'make -C x test', true],
  [['make', { any: ['lint', 'test'] }], 'make test', true],
  [['make', { any: ['lint', 'test'] }], 'make deploy', false],
  [['make', { any: ['...'] }], 'make ...', true],
  [['make', { any: ['...'] }], 'make x', false],
  [['cat', { glob: 'docs/*.md' }], 'cat docs/a.md', true],
  [['cat', { glob: 'docs/*.md' }], 'cat docs/b/a.md', false],
  [['cat', { glob: 'docs/**' }], 'cat docs/b/a.md', true],
  [['cat', { glob: 'docs/**' }], 'cat docs/../.env', false],
  [['cat', { glob: '**' }], 'cat --show-all', false],
  [['cat', { glob: '--*' }], 'cat --show-all', true],
  [['cat', { glob: '?.md' }], 'cat /.md', false],
];
for (const [match, line, wanted] of table) {
  const verb = wanted ? 'fits' : 'does not fit';
  test(`an allow rule ${JSON.stringify(match)} ${verb} ${line}`, () => {
    assert.equal(ruleMatches(ruleOf('allow', match), line.split(' ')), wanted);
  });
}

test('a rule that blocks finds its program in any directory and case', () => {
  const match = ['terraform', '...', 'apply', '...'];
  for (const line of [
    'terraform apply',
    '/usr/local/bin/terraform -chdir=x apply -auto-approve',
    'Terraform.exe apply',
    'terraform apply apply',
  ]) {
    assert.equal(ruleMatches(ruleOf('block', match), line.split(' ')), true, line);
  }
  for (const line of ['terraform plan', 'terraform-docs apply', 'echo terraform apply']) {
    assert.equal(ruleMatches(ruleOf('block', match), line.split(' ')), false, line);
  }
  assert.equal(ruleMatches(ruleOf('allow', ['terraform', 'plan']), ['./terraform', 'plan']), false);
});

test('an argument that is not known fits nothing but "..."', () => {
  for (const decision of policyDecisions) {
    assert.equal(ruleMatches(ruleOf(decision, ['git', { glob: '**' }]), ['git', null]), false);
    assert.equal(ruleMatches(ruleOf(decision, ['git', '...']), ['git', null]), true);
    assert.equal(ruleMatches(ruleOf(decision, [{ any: ['git'] }, '...']), [null, 'push']), false);
  }
});

test('an argument too long for a glob is allowed by none and caught by all', () => {
  const long = ['cat', 'a'.repeat(5_000)];
  assert.equal(ruleMatches(ruleOf('allow', ['cat', { glob: '**' }]), long), false);
  assert.equal(ruleMatches(ruleOf('block', ['cat', { glob: 'b*' }]), long), true);
});

test('the strictest rule that fits decides, the first of equals', () => {
  const commands = [
    ruleOf('allow', ['a', '...'], 'rule.1'),
    ruleOf('ask', ['a', 'x', '...'], 'rule.2'),
    ruleOf('block', ['a', 'x', 'y'], 'rule.3'),
    ruleOf('block', ['a', '...', 'y'], 'rule.4'),
  ];
  const layer = { name: 'l', kind: 'user', base: 'guarded', callers: [], commands } as const;
  const found = (line: string) => strictestCommandRule(layer.commands, line.split(' '))?.id ?? null;
  assert.deepEqual(['a', 'a x', 'a x y', 'a z y', 'b'].map(found), [
    'rule.1',
    'rule.2',
    'rule.3',
    'rule.4',
    null,
  ]);
});

/** The same by a regular expression: fit for short texts only. */
function globByRegex(glob: string): RegExp {
  const parts = glob.match(/\*\*|[^]/g) ?? [];
  const meanings = new Map([
    ['**', '[^]*'],
    ['*', '[^/]*'],
    ['?', '[^/]'],
  ]);
  const source = parts.map(
    (part) => meanings.get(part) ?? `\\u{${part.codePointAt(0)?.toString(16)}}`,
  );
  return new RegExp(`^${source.join('')}$`, 'u');
}

test('globs mean what they say', () => {
  const glob = fc
    .array(fc.constantFrom('*', '**', '?', 'a', 'b', '/', '.'))
    .map((all) => all.join(''));
  const word = fc.array(fc.constantFrom('a', 'b', '/', '.')).map((all) => all.join(''));
  fc.assert(
    fc.property(glob, word, (one, text) => {
      assert.equal(globMatches(one, text), globByRegex(one).test(text));
    }),
    { numRuns: 2_000 },
  );
});

test('no glob makes matching slow', () => {
  const glob = `${'*a'.repeat(100)}b`;
  assert.equal(globMatches(glob, 'a'.repeat(4_096)), false);
  assert.equal(globMatches('**a'.repeat(80), `${'a'.repeat(4_000)}b`), false);
});

function verdictOf(decision: Verdict['decision'], id: string): Verdict {
  const none = { span: null, via: [], evidence: null, instead: null };
  return {
    decision,
    rules: [{ id, decision, reason: 'because', ...none }],
    policy: { name: 'p', version: 'v' },
    runs: null,
    notes: [],
  };
}
const seen = (line: string, clear: boolean) => ({
  items: [{ argv: line.split(' '), span: [0, line.length], via: [] }] as const,
  plain: clear ? line.split(' ') : null,
});
const allowMake = ruleOf('allow', ['make', '...'], 'rule.make');

test('an allow rule lifts the question of what is on no list, for one plain command', () => {
  const unlisted = verdictOf('ask', unlistedRuleId);
  const verdict = applyCommandRules(unlisted, [allowMake], seen('make test', true));
  assert.equal(verdict.decision, 'allow');
  assert.deepEqual(verdict.runs, ['make', 'test']);
  assert.deepEqual(
    verdict.rules.map(({ id }) => id),
    ['rule.make'],
  );
  assert.equal(applyCommandRules(unlisted, [allowMake], seen('make test', false)).decision, 'ask');
  assert.equal(applyCommandRules(unlisted, [allowMake], seen('cmake test', true)).decision, 'ask');
});

test('an allow rule lifts nothing else', () => {
  for (const verdict of [
    verdictOf('block', 'fs.rm-rf'),
    verdictOf('ask', 'reach.network'),
    verdictOf('ask', 'facts.outside'),
  ]) {
    assert.deepEqual(applyCommandRules(verdict, [allowMake], seen('make test', true)), verdict);
  }
  const block = ruleOf('block', ['make', 'deploy'], 'rule.no');
  const held = applyCommandRules(verdictOf('ask', unlistedRuleId), [allowMake, block], {
    items: [{ argv: ['make', 'deploy'], span: [3, 14], via: ['timeout'] }],
    plain: ['make', 'deploy'],
  });
  assert.equal(held.decision, 'block');
  assert.deepEqual(held.rules[0], {
    id: 'rule.no',
    decision: 'block',
    reason: 'said so',
    span: [3, 14],
    via: ['timeout'],
    evidence: 'make deploy',
    instead: null,
  });
});

test('a rule that asks or blocks holds for every command in a text', () => {
  const block = ruleOf('block', ['terraform', '...', 'apply', '...'], 'rule.tf');
  const units = [
    { argv: ['cd', 'x'], span: [0, 4], via: [] },
    { argv: ['terraform', 'apply', null], span: [8, 30], via: ['env'] },
  ] as const;
  const verdict = applyCommandRules(verdictOf('allow', 'trusted'), [block], {
    items: units,
    plain: null,
  });
  assert.equal(verdict.decision, 'block');
});

test('no rule makes a verdict milder, but for what is on no list', () => {
  const pattern = fc.constantFrom<WordPattern>('a', 'b', '...', { any: ['a', 'b'] }, { glob: '*' });
  const rules = fc.array(
    fc.record({
      decision: fc.constantFrom(...policyDecisions),
      match: fc.array(pattern, { minLength: 1, maxLength: 4 }),
    }),
    { maxLength: 5 },
  );
  const argv = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 4 });
  const given = fc.record({
    decision: fc.constantFrom(...policyDecisions),
    id: fc.constantFrom(unlistedRuleId, 'fs.rm-rf'),
    clear: fc.boolean(),
  });
  fc.assert(
    fc.property(rules, argv, given, (written, words, { decision, id, clear }) => {
      const before = verdictOf(decision, id);
      const all = written.map((one) => ruleOf(one.decision, one.match));
      const after = applyCommandRules(before, all, seen(words.join(' '), clear));
      const isMilder =
        policyDecisions.indexOf(after.decision) < policyDecisions.indexOf(before.decision);
      assert.ok(!isMilder || (id === unlistedRuleId && clear && after.decision === 'allow'));
    }),
  );
});

test('the strictest of two verdicts does not depend on their order', () => {
  for (const one of policyDecisions) {
    for (const other of policyDecisions) {
      const [a, b] = [verdictOf(one, 'a'), verdictOf(other, 'b')];
      assert.equal(strictestVerdict(a, b).decision, strictestVerdict(b, a).decision);
      const strictest = Math.max(policyDecisions.indexOf(one), policyDecisions.indexOf(other));
      assert.equal(strictestVerdict(a, b).decision, policyDecisions[strictest]);
    }
  }
});
