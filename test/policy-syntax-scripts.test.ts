// Scripts of the whole grammar against `bash -n`, and input made to cost time or to be misread.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { createAnalysisBudget } from '../src/policy/syntax/budget.ts';
import { readShellScript } from '../src/policy/syntax/read.ts';
import { acceptedByBash, hidden } from './support/policy-scripts.ts';
import { codes, read } from './support/policy-words.ts';

const bash = existsSync('/bin/bash') ? false : 'there is no /bin/bash';
const full = process.env['TRL_PROVE'] === 'full';

test('every command of a random script is found, and nothing that is no command', () => {
  const property = fc.property(hidden, ({ text, markers }) => {
    const names = read(text).commands.map(({ words }) => words[0]?.value ?? '');
    const found = new Set(names.filter((name) => /^m\d+$/.test(name)));
    assert.deepEqual([...found].toSorted(), markers.toSorted());
  });
  fc.assert(property, { numRuns: full ? 20_000 : 1_000 });
});

test('what bash parses is parsed', { skip: bash }, () => {
  const scripts = fc.sample(hidden, { numRuns: full ? 2_000 : 150, seed: 7 });
  const texts = scripts.map(({ text }) => text);
  const accepted = acceptedByBash(texts);
  texts.forEach((text, index) => {
    assert.equal(accepted[index], true, text);
    assert.ok(!codes(text).includes('unparseable'), text);
  });
});

test('what bash refuses to parse is never plain', { skip: bash }, () => {
  const signs = [
    ...Array.from('abg =-~#!$`\'"\\(){}[]<>|&;*?\n\t'),
    'git ',
    '$(',
    '<<',
    '&&',
    ';;',
    'if ',
    'fi',
  ];
  const broken = fc.array(fc.constantFrom(...signs), { minLength: 1, maxLength: 8 });
  const texts = fc
    .sample(broken, { numRuns: full ? 5_000 : 1_500, seed: 11 })
    .map((each) => `git status ${each.join('')}`)
    .filter((text) => read(text).plain !== null);
  assert.ok(texts.length > 20);
  acceptedByBash(texts).forEach((accepted, index) => {
    assert.ok(accepted, JSON.stringify(texts[index]));
  });
});

const hostile: readonly (readonly [string, string, RegExp])[] = [
  ['unclosed substitutions', '$('.repeat(5_000), /^limit\.|^unparseable$/],
  ['unclosed quoted substitutions', '"$('.repeat(5_000), /^limit\.|^unparseable$/],
  ['unclosed arithmetic', '$(('.repeat(20_000), /^limit\.|^unparseable$/],
  ['unclosed defaults', '${x:-'.repeat(12_000), /^limit\.|^unparseable$/],
  ['unclosed processes', '<('.repeat(20_000), /^limit\.|^unparseable$/],
  ['parentheses', '('.repeat(30_000), /^limit\.|^unparseable$/],
  ['nested substitutions', `${'$(echo '.repeat(90)}${')'.repeat(90)}`, /^limit\.nesting$/],
  ['nested functions', 'f(){ '.repeat(8_000), /^limit\.|^unparseable$/],
  ['many statements', 'a;'.repeat(32_768), /^limit\./],
  ['many lines', 'rm -rf x\n'.repeat(10_000), /^limit\./],
  ['many pipes', 'a|'.repeat(30_000), /^limit\.|^unparseable$/],
  ['many here-documents', '<<a '.repeat(15_000), /^limit\.commands$/],
  ['many substitutions', `echo ${'$(a) '.repeat(10_000)}`, /^limit\./],
  ['nested defaults', `echo ${'${x:-'.repeat(60)}$y${'}'.repeat(60)}`, /^dynamic$/],
  ['a large list in braces', `echo {${'a,'.repeat(10_000)}b}`, /^limit\.braces$/],
  ['a large range', 'echo {1..999999999}', /^limit\.braces$/],
  ['a large product of braces', `echo ${'{a,b}'.repeat(30)}`, /^limit\.braces$/],
  ['open braces', '{'.repeat(60_000), /^limit\.braces$/],
  ['a sum of many terms', `((${'1+'.repeat(20_000)}1))`, /^unparseable$/],
  ['functions that call each other', ':(){ :|:& };: x', /^function$/],
  ['variables that contain themselves', "x='x[$(echo $((x)))]'; echo $((x))", /^substitution$/],
  ['a value that doubles', `x=a;${'x+=$x$x;'.repeat(900)}$x`, /^dynamic$/],
  ['a pattern to backtrack in', `x=${'a'.repeat(400)}; echo \${x##*a*a*b}`, /^dynamic$/],
];

for (const [name, text, wanted] of hostile) {
  test(`${name} are bounded and never plain`, () => {
    const budget = createAnalysisBudget();
    const script = readShellScript(text, budget);
    assert.equal(script.plain, null);
    assert.ok(budget.commands <= budget.commandsMax);
    const found = script.problems.map(({ code }) => code);
    assert.ok(
      found.some((code) => code === 'limit.time' || wanted.test(code)),
      found.join(' '),
    );
  });
}

test('what was found before a bound stays found', () => {
  for (const tail of [
    '$('.repeat(5_000),
    '"$('.repeat(5_000),
    'a;'.repeat(30_000),
    `'${'x'.repeat(9e4)}`,
  ]) {
    const { commands } = read(`rm -rf x; ${tail}`);
    assert.deepEqual(
      commands[0]?.words.map(({ value }) => value),
      ['rm', '-rf', 'x'],
    );
  }
});

test('a text over the bound is read up to a line end, and says so', () => {
  const text = `rm -rf x\n${'# a comment\n'.repeat(10_000)}rm -rf y\n`;
  const { commands, problems } = read(text);
  assert.deepEqual([commands.length, problems.map(({ code }) => code)], [1, ['limit.bytes']]);
});

test('a budget is shared: what one script used the next one lacks', () => {
  const budget = { ...createAnalysisBudget(), commandsMax: 3, deadline: Infinity };
  assert.equal(readShellScript('a; b', budget).problems.length, 1);
  const { commands, problems } = readShellScript('c; d', budget);
  assert.equal(commands.length, 1);
  assert.ok(problems.some(({ code }) => code === 'limit.commands'));
});

test('a deadline that has passed changes nothing for an ordinary script', () => {
  const text = Array.from({ length: 60 }, (_, line) => `x=${line}; echo "$x" {a,b} $(id)`).join(
    '\n',
  );
  const late = readShellScript(text, { ...createAnalysisBudget(), deadline: -1 });
  const early = readShellScript(text, { ...createAnalysisBudget(), deadline: Infinity });
  assert.equal(late.commands.length, early.commands.length);
});

test('a deadline that has passed leaves nothing plain, and the start is read', () => {
  const script = readShellScript(`git status ${'x '.repeat(5_000)}`, {
    ...createAnalysisBudget(),
    deadline: -1,
  });
  assert.ok(script.plain === null);
  assert.ok(script.problems.some(({ code }) => code === 'limit.time'));
  assert.equal(script.commands[0]?.words[1]?.value, 'status');
});
