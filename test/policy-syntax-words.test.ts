// The long form of the first promise is test/prove/policy-words.ts.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { createAnalysisBudget } from '../src/policy/syntax/budget.ts';
import { confusableSkeleton } from '../src/policy/syntax/characters.ts';
import { readShellScript } from '../src/policy/syntax/read.ts';
import { compareExpansions, compareWords, read } from './support/policy-words.ts';

test('random words are decoded to what bash gives to a command', (t) => {
  if (!existsSync('/bin/bash')) {
    t.skip('there is no /bin/bash');
    return;
  }
  compareWords(2_000, 20_261_122);
});

test('what is resolved of known variables is what bash makes of them', (t) => {
  if (!existsSync('/bin/bash')) {
    t.skip('there is no /bin/bash');
    return;
  }
  assert.ok(compareExpansions(1_000, 20_261_122) > 900);
});

test('bytes that are no characters are not known, and neither is a word with them', () => {
  for (const text of [String.raw`git $'\xff'`, String.raw`git $'\ud800'`]) {
    assert.equal(read(text).plain, null);
    assert.equal(read(text).commands[0]?.words[1]?.value, null);
  }
});

test('a word names the variables whose values are in it', () => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['"$A-${B}"', ['A', 'B']],
    ['${A@Q}', ['A']],
    ['${A:-$B}', ['B', 'A']],
    ['$((A + b[C]))', ['A', 'b', 'C']],
    // Whether it is set and how long it is tells nothing of the value.
    ['${A:+set}', []],
    ['${#A}', []],
    ["'$A'", []],
  ];
  for (const [text, wanted] of cases) {
    assert.deepEqual(read(`echo ${text}`).commands[0]?.words[1]?.variables, wanted, text);
  }
});

test('what a command reads is known where the script says it', () => {
  const inputOf = (text: string): unknown => {
    const [input] = read(text).commands.flatMap((command) =>
      command.words[0]?.value === 'sh' ? [command.input] : [],
    );
    if (input === undefined) return undefined;
    switch (input.kind) {
      case 'inherited':
        return null;
      case 'text':
        return input.pieces;
      case 'file':
        return input.target.value;
      case 'pipe':
      case 'substitution':
        return [input.kind, ...input.from.map(({ words }) => words[0]?.value)];
    }
  };
  assert.equal(inputOf('sh'), null);
  assert.equal(inputOf('sh < x'), 'x');
  assert.equal(inputOf('sh <<< x < y'), 'y');
  assert.equal(inputOf('sh 3<<E\nx\nE'), null);
  assert.deepEqual(inputOf("sh <<'E'\n\\$x\nE"), ['\\$x\n']);
  assert.deepEqual(inputOf('sh <<E\nrm $x \\$y\nE'), ['rm ', null, ' $y\n']);
  assert.deepEqual(inputOf('sh <<-E\n\ta\n\t\tb\n\tE'), ['a\nb\n']);
  assert.deepEqual(inputOf('sh <<< "a $b"'), ['a ', null, '\n']);
  assert.deepEqual(inputOf('a | b | sh'), ['pipe', 'b']);
  assert.deepEqual(inputOf('{ a; b; } | if c; then sh; fi'), ['pipe', 'a', 'b']);
  assert.deepEqual(inputOf('sh < <(a; b)'), ['substitution', 'a', 'b']);
  assert.deepEqual(inputOf('while read x; do sh; done <<< y'), ['y', '\n']);
});

test('a word keeps the commands that are substituted in it', () => {
  const { commands } = read('a b"$(c | d)"e <(f)');
  const inner = commands[0]?.inner.map((list) => list.map(({ words }) => words[0]?.value));
  assert.deepEqual(inner, [[], ['c', 'd'], ['f']]);
});

test('functions and aliases of a script are told, and a call runs the body with its words', () => {
  const script = read('f() { "$1" x; }; alias g=h; curl y | f sh');
  assert.deepEqual(script.defined, ['f', 'g']);
  const shell = script.commands.find(({ words }) => words[0]?.value === 'sh');
  assert.equal(shell?.input.kind, 'pipe');
});

test('arguments of a script are its positional parameters', () => {
  const { commands } = readShellScript('"$@"; $1', createAnalysisBudget(), ['rm', 'a b']);
  const words = commands.map((command) => command.words.map(({ value }) => value));
  assert.deepEqual(words, [['rm', 'a b'], ['rm']]);
});

test('variables that a script is started with are known', () => {
  const { commands } = readShellScript(
    '$x y',
    createAnalysisBudget(),
    [],
    new Map([['x', 'rm -rf']]),
  );
  const words = commands[0]?.words.map(({ value }) => value);
  assert.deepEqual(words, ['rm', '-rf', 'y']);
});

test('spans are offsets in the text as given, also for decoded backticks', () => {
  const text = 'echo `a \\`b c\\``; d';
  const spans = read(text).commands.map(({ span }) => text.slice(...span));
  assert.deepEqual(spans, ['echo `a \\`b c\\``', '`a \\`b c\\``', '`a \\`b c\\``', 'd']);
});

test('evidence shows what is invisible', () => {
  const { problems } = read('git\u202E status \u0000');
  assert.deepEqual(
    problems.map(({ code, evidence }) => [code, evidence]),
    [
      ['invisible', '\\u{202E}'],
      ['invisible', '\\u{0000}'],
      ['confusable', 'git\\u{202E}'],
    ],
  );
});

test('a skeleton is what a reader may take a word for', () => {
  assert.equal(confusableSkeleton('ｒｍ'), 'rm');
  assert.equal(confusableSkeleton('gіt'), 'git');
  assert.equal(confusableSkeleton('s\u200Budo'), 'sudo');
  assert.equal(confusableSkeleton('–rf'), '-rf');
  assert.equal(confusableSkeleton('plain'), 'plain');
});
