// Texts that are large in each way in which one can be: from which size on they are asked about.
import { test } from 'node:test';
import { analyseShell } from '../src/policy/analyse.ts';
import './support/still-clock.ts';
import { assertRecorded, fingerprint } from './support/recorded.ts';

/** Texts of one size, in each way in which a text can be large. */
const large: Readonly<Record<string, (size: number) => string>> = {
  parts: (size) => `echo ${`"a"'b'`.repeat(size)}`,
  words: (size) => `echo ${'a '.repeat(size)}`,
  commands: (size) => 'true; '.repeat(size),
  pipes: (size) => `${'cat | '.repeat(size)}cat`,
  subshells: (size) => `${'('.repeat(size)}true${')'.repeat(size)}`,
  substitutions: (size) => `echo ${'$(echo '.repeat(size)}a${')'.repeat(size)}`,
  shells: (size) => `${'env '.repeat(size)}rm -rf x`,
  variables: (size) => `${'x=a; '.repeat(size)}echo $x`,
  candidates: (size) => `if a; then ${'x=rm; '.repeat(size)}fi; $x -rf y`,
  uses: (size) => `x=aaaaaaaaaaaaaaaaaaaaaaaa; echo ${'$x '.repeat(size)}`,
  braces: (size) => `echo {1..${size}}`,
  lists: (size) => `echo {${'a,'.repeat(size)}b}`,
  operands: (size) => `rm ${'-f '.repeat(size)}x`,
  assignments: (size) => `${'A=1 '.repeat(size)}true`,
  redirections: (size) => `true ${'> f '.repeat(size)}`,
  text: (size) => `echo '${'a'.repeat(size)}'`,
  lines: (size) => 'true\n'.repeat(size),
  documents: (size) => `cat ${'<<E\na\nE\n'.repeat(size)}`,
  arrays: (size) => `a=(${'x '.repeat(size)}); "\${a[@]}"`,
};

test('what is too large to be read is asked about from the size on that it was', () => {
  const around = [4, 8, 16, 32, 64, 128, 256, 512, 1_024].flatMap((at) => [at - 1, at, at + 1]);
  const lines = Object.entries(large).map(([name, write]) => {
    const found = around.map((size) => analyseShell(write(size), 'bash'));
    const codes = found.map(({ findings }) => findings.map(({ code }) => code).join(' '));
    const changes = around.filter((_, at) => codes[at] !== codes[at - 1]);
    return `${name}\t${changes.join(' ')}\t${fingerprint(found)}`;
  });
  assertRecorded('policy/large.tsv', lines);
});
