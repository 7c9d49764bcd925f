// Random words and scripts for the policy's reader, and what bash itself makes of them. Words are
// harmless by construction: only arguments of `printf`, no substitution and no variable in them.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import * as fc from 'fast-check';
import './seed.ts';
import { createAnalysisBudget } from '../../src/policy/syntax/budget.ts';
import { readShellScript } from '../../src/policy/syntax/read.ts';
import type { ShellScript } from '../../src/policy/syntax/script.ts';

const batch = 500;
const odd = ['\u0001', '\u0007', '\b', '\v', '\f', '\r', '\u001B', '\u007F', '\u0085', '\u00A0'];
const wide = ['é', 'ß', 'і', '日', '👩‍💻', '\u200B', '\u202E', '\u2028', '\uFEFF', '\u3000'];
const ansi = String.raw`\' \\ \" \n \t \e \E \a \b \f \v \r \? \x41 \x7 \101 \7 \u00e9 \u65e5`
  .split(' ')
  .concat('\\U1F600', '\\cA', '\\z');
const plain = [...Array.from('abcXYZ019-_./:,=@%+^{}[]'), ...odd, ...wide];
const anything = [...plain, ' ', '\t', '\n', '#', '&', ';', '|', '(', ')', '<', '>', '~', '*', '!'];

/** Pieces that stand outside of braces; none begins a comment, a tilde or an expansion. */
const piece = fc.oneof(
  textOf(plain),
  textOf(['{', '}', ',', '..', 'a', '1', '{a,b}', '{1..3}', '{x..z..2}', '{08..11}', '{,q}']),
  textOf([...anything, '"', '\\', '$', '`']).map((inside) => `'${inside}'`),
  textOf([...anything, "'", '\\\\', '\\"', '\\$', '\\`', '\\a', '\\\n']).map((each) => `"${each}"`),
  textOf([...anything, "'", '\\\\', '\\"', '\\$', '\\`', '\\q', '\\\n']).map(
    (each) => `$"${each}"`,
  ),
  textOf([...anything, '"', '`', '$', ...ansi]).map((inside) => `$'${inside}'`),
  fc.constantFrom(...anything, '"', "'", '$', '`', '\\').map((sign) => `\\${sign}`),
);

const word = fc
  .array(piece, { minLength: 1, maxLength: 6 })
  .map((pieces) => pieces.join(''))
  // What would be millions of words is for no shell.
  .filter((each) => each !== '' && !codes(`f ${each}`).includes('limit.braces'));

function textOf(signs: readonly string[]): fc.Arbitrary<string> {
  return fc.array(fc.constantFrom(...signs), { maxLength: 8 }).map((each) => each.join(''));
}

/**
 * Compares `count` random words with what bash passes to a command for them.
 * @throws AssertionError at the first word that is read differently.
 */
export function compareWords(count: number, seed: number): void {
  const directory = mkdtempSync(path.join(tmpdir(), 'trl-words-'));
  try {
    const words = fc.sample(word, { numRuns: count, seed });
    for (let at = 0; at < words.length; at += batch) {
      const part = words.slice(at, at + batch);
      const wanted = argumentsInBash(part, directory);
      assert.equal(wanted.length, part.length);
      part.forEach((each, index) => {
        const found = argumentsRead(each);
        // Bytes that are no characters are not known.
        if (found !== null) assert.deepEqual(found, wanted[index], JSON.stringify(each));
      });
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Words of a script that says itself what its variables hold. */
const prelude = "x='rmdir a'; y=Push; e=; n=x; a=(one 'two 2' three); set -- first 'se cond'";
const pattern = fc.constantFrom('r', 'rm', '*d', 'r*', '?', '[a-m]', 'd*r', "'*'", '\\*', '$y', '');
const variable = fc.constantFrom('x', 'y', 'e', 'n', '1', '2', '3');
const expansion = fc.oneof(
  variable.map((name) => `\${${name}}`),
  fc.constantFrom('$x', '$IFS', '$@', '$*', '${a[@]}', '${a[*]}', '${a[1]}', '${a[-1]}', '$a'),
  fc.constantFrom('${a[@]:1}', '${a[@]:0:2}', '${@:2}', '${!n}', '${#x}', '${#a[@]}', '$#x', '$3'),
  fc
    .tuple(variable, fc.constantFrom('#', '##', '%', '%%', '/', '//', '/#', '/%'), pattern)
    .map(
      ([name, operator, each]) =>
        `\${${name}${operator}${each}${operator.startsWith('/') ? '/Q' : ''}}`,
    ),
  fc
    .tuple(variable, fc.constantFrom('^', '^^', ',', ',,', '@U', '@L', '@u'))
    .map(([name, operator]) => `\${${name}${operator}}`),
  fc
    .tuple(variable, fc.integer({ min: -3, max: 6 }), fc.nat(6))
    .map(([name, from, length]) => `\${${name}: ${from}:${length}}`),
  fc
    .tuple(variable, fc.constantFrom(':-', '-', ':+', '+'), fc.constantFrom('d', 'b c', "'b c'"))
    .map(([name, operator, operand]) => `\${${name}${operator}${operand}}`),
);
const expanded = fc
  .array(
    fc.oneof(
      expansion,
      expansion.map((each) => `"${each}"`),
      fc.constantFrom('p', "'q'", '-', '{s,t}', '""'),
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((pieces) => pieces.join(''));

/**
 * Compares `count` random expansions of known variables with what bash passes to a command.
 * @throws AssertionError at the first one that is resolved to something else.
 * @returns how many were resolved.
 */
export function compareExpansions(count: number, seed: number): number {
  const directory = mkdtempSync(path.join(tmpdir(), 'trl-words-'));
  try {
    const words = fc.sample(expanded, { numRuns: count, seed });
    const wanted = argumentsInBash(words, directory, prelude);
    const found = words.map((each) => argumentsRead(each, prelude));
    found.forEach((each, index) => {
      // What is not resolved says nothing; what is resolved must be right.
      if (each !== null) assert.deepEqual(each, wanted[index], JSON.stringify(words[index]));
    });
    return found.filter((each) => each !== null).length;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** The arguments of each word, as a shell function sees them. */
function argumentsInBash(
  words: readonly string[],
  cwd: string,
  before = ':',
): readonly (readonly string[])[] {
  const calls = words.map((each) => `f ${each}\n`).join('');
  // Without `set -f` a pattern would be looked up; with it a pattern is text, as in our pieces.
  const input = `set -f; f() { printf '%s\\0' "$#" "$@"; }\n${before}\n${calls}`;
  const { stdout, status, stderr } = spawnSync('/bin/bash', ['--norc', '--noprofile'], {
    cwd,
    input,
    env: { PATH: '/nonexistent', LC_ALL: 'C.UTF-8' },
    maxBuffer: 64 * 2 ** 20,
  });
  assert.equal(status, 0, String(stderr));
  const values = stdout.toString().split('\0');
  const found: (readonly string[])[] = [];
  for (let at = 0; at < values.length - 1;) {
    const size = Number(values[at]);
    found.push(values.slice(at + 1, at + 1 + size));
    at += 1 + size;
  }
  return found;
}

function argumentsRead(source: string, before = ':'): readonly string[] | null {
  const { commands, problems } = read(`${before}\nf ${source}`);
  const words = commands.at(-1)?.words.slice(1) ?? [];
  if (words.some(({ pieces }) => pieces.includes(null))) return null;
  assert.ok(!problems.some(({ code }) => code === 'unparseable'), JSON.stringify(source));
  return words.map(({ pieces }) => pieces.map((each) => each ?? '<gap>').join(''));
}

/** The codes of all problems of a script. */
export function codes(text: string): readonly string[] {
  return read(text).problems.map(({ code }) => code);
}

/** Reads a script without a deadline. */
export function read(text: string): ShellScript {
  return readShellScript(text, { ...createAnalysisBudget(), deadline: Infinity });
}
