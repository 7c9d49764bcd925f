// Small parts of the reader of commands, each by itself.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFileMentions, withSessionVariables } from '../src/policy/shell/mentions.ts';
import {
  isConfusableName,
  isConfusableOption,
  isConfusableWord,
  invisibleProblems,
  confusableSkeleton,
  escapeNonAscii,
  escapeInvisible,
  removeInvisible,
} from '../src/policy/syntax/characters.ts';
import { assignVariable, lookUpVariable, createVariableScope } from '../src/policy/syntax/scope.ts';
import { assertRecorded, fingerprint } from './support/recorded.ts';

/** Blocks of Unicode with letters and signs that look like ASCII, or like nothing. */
const blocks: readonly (readonly [number, number])[] = [
  [0x00, 0x24f],
  [0x2b0, 0x58f],
  [0x1100, 0x117f],
  [0x13a0, 0x13ff],
  [0x1d00, 0x1d7f],
  [0x1e00, 0x23ff],
  [0x2800, 0x283f],
  [0x2900, 0x29ff],
  [0x2c80, 0x2eff],
  [0x3000, 0x30ff],
  [0xa4d0, 0xa4ff],
  [0xa720, 0xa7ff],
  [0xd800, 0xd83f],
  [0xfe00, 0xfeff],
  [0xff00, 0xffef],
];
const perLine = 16;

test('characters that look like others, or like nothing, are taken as before', () => {
  const lines = blocks.flatMap(([first, last]) => {
    const starts = Array.from({ length: Math.ceil((last - first) / perLine) }, (_, at) => at);
    return starts.map((at) => {
      const start = first + at * perLine;
      const found = Array.from({ length: perLine }, (_, more) => {
        const char = String.fromCharCode(start + more);
        return [`r${char}m`, `-${char}`, `${char}x`, `a${char}b/c`, char].map((word) => [
          confusableSkeleton(word),
          escapeInvisible(word),
          escapeNonAscii(word),
          removeInvisible(word),
          invisibleProblems(word),
          [isConfusableName(word), isConfusableOption(word), isConfusableWord(word)],
        ]);
      });
      const chars = found.map((_, more) => String.fromCharCode(start + more));
      const ascii = chars.filter((char) => /^[!-~]+$/.test(confusableSkeleton(char))).length;
      return `${start.toString(16)}\t${ascii} read as ASCII\t${fingerprint(found)}`;
    });
  });
  assertRecorded('policy/characters.tsv', lines);
});

test('what is long is shown short, and what is many is told eight times', () => {
  assert.equal(escapeInvisible('x'.repeat(160)), 'x'.repeat(160));
  assert.equal(escapeInvisible('x'.repeat(161)), `${'x'.repeat(160)}…`);
  assert.equal(escapeNonAscii(`${'x'.repeat(159)}éy`), `${'x'.repeat(159)}\\u{00E9}\\u{2026}`);
  assert.equal(invisibleProblems('a\u200b'.repeat(9)).length, 8);
  assert.deepEqual(invisibleProblems('ab\u200b\u200bc'), [
    { code: 'invisible', span: [2, 4], evidence: '\\u{200B}\\u{200B}' },
  ]);
  assert.deepEqual(invisibleProblems('a b\tc\n'), []);
});

test('a variable is known by what was assigned, as long as that is small', () => {
  const scope = createVariableScope();
  assert.deepEqual(lookUpVariable(scope, 'IFS'), [' \t\n']);
  assert.equal(lookUpVariable(scope, 'x'), null);
  assignVariable(scope, 'x', ['a'], true);
  assert.deepEqual(lookUpVariable(scope, 'x'), ['a']);
  assignVariable(scope, 'x', ['b'], false);
  assert.deepEqual(lookUpVariable(scope, 'x'), ['b']);
  assert.equal(scope.most, 2);
  assert.deepEqual(lookUpVariable({ ...scope, pick: 1 }, 'x'), ['a']);
  assert.deepEqual(lookUpVariable({ ...scope, pick: 9 }, 'x'), ['a']);
  assignVariable(scope, 'x', null, false);
  assert.deepEqual(lookUpVariable(scope, 'x'), ['b']);
  assignVariable(scope, 'x', null, true);
  assert.equal(lookUpVariable(scope, 'x'), null);
  const lengths = [1, 100, 1_000, 5_000, 10_000, 100_000, 1_000_000];
  const known = (value: readonly string[]): boolean => {
    const own = createVariableScope();
    assignVariable(own, 'x', value, true);
    return lookUpVariable(own, 'x') !== null;
  };
  assertRecorded(
    'policy/scope.tsv',
    lengths.map((length) => {
      const items = Array.from({ length: Math.min(length, 20_000) }, () => 'a');
      return `${length}\t${known(['x'.repeat(length)])}\t${known(items)}`;
    }),
  );
});

test('what a session carries by the name of a program is bound; its PATH is searched', () => {
  const mentions = createFileMentions();
  assert.equal(withSessionVariables(mentions, ['PATH', 'FOO']), mentions);
  const names = ['shell alias', 'PATH', 'LD_PRELOAD', 'FOO'];
  const { open } = withSessionVariables({ ...mentions, open: new Set(['why']) }, names);
  assert.deepEqual([...open], ['why', 'its session carries LD_PRELOAD, shell alias']);
});
