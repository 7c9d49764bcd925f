import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import type { TerminalAccessLevel } from '../src/cli/terminal-sequences.ts';
import { TerminalFilter } from '../src/cli/terminal-filter.ts';
import { heldBytes } from './support/cost.ts';

const esc = '\x1b';

function filter(chunks: readonly Uint8Array[], level: TerminalAccessLevel = 'display'): Buffer {
  const one = new TerminalFilter(level);
  return Buffer.concat([...chunks.map((chunk) => one.push(chunk)), one.end()]);
}

const filterText = (text: string, level: TerminalAccessLevel = 'display'): string =>
  filter([Buffer.from(text)], level).toString();

/** Pieces of sequences, and whole ones, so that random joins are often nearly right. */
const pieces = [
  [esc, '[', ']', 'P', 'X', '^', '_', '\\', '\x07', '\x18', '\x1a', '\x9c', '\x9b', '\x9d'],
  ['\x90', '?', '>', '=', '$', '!', '"', "'", ' ', '*', ';', ':', '0', '1', '52', '2004'],
  ['c', 'n', 'q', 't', 'm', 'h', 'l', 'u', 'p', 'K', 'H', 'a', 'é', '漢', '🙂', '\r', '\n'],
  [`${esc}[31m`, `${esc}]52;c;QUJD\x07`, `${esc}]0;t${esc}\\`, `${esc}[6n`, `${esc}P$qm`],
  [`${esc}]8;;https://example.org/${esc}\\`, `${esc}[?1049;1000h`, '\x9b6n', '\x85', '\x7f'],
].flat();
const piece = fc.oneof(fc.constantFrom(...pieces), fc.string({ unit: 'binary', maxLength: 4 }));
const bytes = fc.oneof(
  fc.array(piece, { maxLength: 40 }).map((pieces) => Buffer.from(pieces.join(''))),
  fc.uint8Array({ maxLength: 80 }).map((raw) => Buffer.from(raw)),
  fc
    .array(
      fc.oneof(
        piece.map((text) => Buffer.from(text)),
        fc.uint8Array({ maxLength: 3 }),
      ),
    )
    .map((parts) => Buffer.concat(parts)),
);
const runs = { numRuns: 2_000 };
const levels = ['text', 'display', 'interactive'] as const satisfies readonly TerminalAccessLevel[];

/** All that may ever reach a terminal, written down a second time and as one expression. */
const allowed = new RegExp(
  [
    String.raw`[\x07-\x0f\x20-\x7e\u00a0-\u{10ffff}]`,
    String.raw`\x1b[78=>DEHMc]|\x1b[()*+][0-9A-Z<=>]|\x1b#[3-8]`,
    String.raw`\x1b\[[0-9;:]*(?:[@A-Za-z\x60]| [q@A]|!p)`,
    String.raw`\x1b\[\?[0-9;]*[hlJK]`,
    String.raw`\x1b\]8;[^\x00-\x1f]*\x1b\\`,
  ].join('|'),
  'uy',
);
/** What makes a terminal answer or lets it act outside its window, among what `allowed` matches. */
const forbidden = new RegExp(
  String.raw`\x1b\[(?:[0-9;:]*[cnxtqiyvw]|\?[0-9;]*(?:2031|2048|100[0-6])[hl;])`,
);

test('nothing but text and listed sequences ever reaches the terminal', () => {
  fc.assert(
    fc.property(bytes, (input) => {
      const output = filter([input]).toString();
      assert.ok(Buffer.from(output).equals(filter([input])), 'the output is UTF-8');
      allowed.lastIndex = 0;
      while (allowed.lastIndex < output.length) {
        const at = allowed.lastIndex;
        assert.ok(allowed.test(output), JSON.stringify(output.slice(at, at + 20)));
      }
      assert.doesNotMatch(output, forbidden);
    }),
    runs,
  );
});

test('where the chunks are cut makes no difference', () => {
  fc.assert(
    fc.property(bytes, fc.array(fc.nat(80)), fc.constantFrom(...levels), (input, cuts, level) => {
      const whole = filter([input], level);
      const at = [0, ...cuts.filter((cut) => cut < input.length), input.length];
      const sorted = at.toSorted((a, b) => a - b);
      const chunks = sorted.slice(1).map((end, index) => input.subarray(sorted[index] ?? 0, end));
      assert.deepEqual(filter(chunks, level), whole);
      const each = [...input].map((byte) => Uint8Array.of(byte));
      assert.deepEqual(filter(each, level), whole);
    }),
    runs,
  );
});

test('what passed once passes again unchanged', () => {
  fc.assert(
    fc.property(bytes, fc.constantFrom(...levels), (input, level) => {
      const once = filter([input], level);
      assert.deepEqual(filter([once], level), once);
    }),
    runs,
  );
});

test('text without control characters passes as it is', () => {
  const text = fc.string({ unit: 'grapheme' }).filter((one) => !/[\p{Cc}\p{Cs}]/u.test(one));
  fc.assert(
    fc.property(text, (one) => {
      assert.equal(filterText(one), one);
    }),
  );
});

const passed: readonly string[] = [
  'plain\r\nlines\twith\btabs\x07',
  `${esc}[1;38;5;196mred${esc}[0m ${esc}[38:2::1:2:3mcolon${esc}[m`,
  `${esc}[2J${esc}[H${esc}[10;20H${esc}[3A${esc}[K${esc}[?25l${esc}[?1049h`,
  `${esc}7${esc}8${esc}(0lqk${esc}(B${esc}M`,
  `${esc}[4 q${esc}[!p${esc}[5;10r`,
  `${esc}]8;id=1;https://example.org/a?b=c${esc}\\link${esc}]8;;${esc}\\`,
];
for (const text of passed) {
  test(`passes ${JSON.stringify(text)}`, () => {
    assert.equal(filterText(text), text);
  });
}

/** What is taken out between `a` and `b`. */
const takenOut: readonly string[] = [
  `${esc}]52;c;ZXZpbA==\x07`,
  `${esc}]52;c;ZXZpbA==${esc}\\`,
  `${esc}]0;title\x07`,
  `${esc}]2;title${esc}\\`,
  `${esc}]11;?\x07`,
  `${esc}]4;1;?${esc}\\`,
  `${esc}]1337;File=:AAAA\x07`,
  `${esc}]8;;file:///etc/passwd${esc}\\`,
  `${esc}]0;${'long'.repeat(10_000)}\x07`,
  `${esc}[c`,
  `${esc}[>0c`,
  `${esc}[=c`,
  `${esc}[5n`,
  `${esc}[6n`,
  `${esc}[?6n`,
  `${esc}[>0q`,
  `${esc}[?2026$p`,
  `${esc}P$qm${esc}\\`,
  `${esc}P+q544e${esc}\\`,
  `${esc}Pq#0;2;0;0;0${esc}\\`,
  `${esc}_Gi=1,a=q;AAAA${esc}\\`,
  `${esc}^pm${esc}\\`,
  `${esc}Xsos\x07still${esc}\\`,
  `${esc}ktitle${esc}\\`,
  `${esc}[21t`,
  `${esc}[1;1;1;1;1;1*y`,
  `${esc}[?u`,
  `${esc}[>1u`,
  `${esc}[?1;1;0S`,
  `${esc}[5i`,
  `${esc}[x`,
  `x${esc}[1000000b`.slice(1),
  `${esc}[99999A`,
  `${esc}Z`,
  `${esc}[?1000h`,
  `${esc}[?2004h`,
  `${esc}[?2031h`,
  `${esc}[${'1;'.repeat(5_000)}m`,
  `${esc}%@`,
  `${esc} G`,
  '\x05',
  '\u009b6n',
  '\u009d52;c;ZXZpbA==\u009c',
  '\u0090$qm\u009c',
  '\u009a',
  '\u0085',
];
for (const text of takenOut) {
  const shown = JSON.stringify(text).slice(0, 60);
  test(`takes out ${shown}`, () => {
    assert.equal(filterText(`a${text}b`), 'ab');
  });
}

test('a control within a sequence is obeyed and the sequence goes on', () => {
  assert.equal(filterText(`a${esc}[3\n1mb`), `a\n${esc}[31mb`);
  assert.equal(filterText(`a${esc}[6\rnb`), 'a\rb');
  assert.equal(filterText(`a${esc}]0;x\n52\x07b`), 'ab');
});

test('a sequence that is cut off does not hide the next one', () => {
  assert.equal(filterText(`${esc}[6${esc}[31mb`), `${esc}[31mb`);
  assert.equal(filterText(`${esc}]0;t${esc}[6nb`), 'b');
  assert.equal(filterText(`${esc}]0;t\x18b`), 'b');
  assert.equal(filterText(`${esc}[6é`), 'é');
});

test('of a list of modes those that are harmless remain', () => {
  assert.equal(filterText(`${esc}[?25;1000;1049h`), `${esc}[?25;1049h`);
});

test('a command that gets the keys may ask for mouse and paste reports', () => {
  const text = `${esc}[?1000;1006h${esc}[?2004h`;
  assert.equal(filterText(text, 'interactive'), text);
  assert.equal(filterText(`${esc}[6n${esc}]52;c;QQ==\x07`, 'interactive'), '');
});

test('bytes that are not UTF-8 become the replacement character', () => {
  const cases: readonly (readonly [readonly number[], string])[] = [
    [[0x61, 0x9b, 0x36, 0x6e], 'a\ufffd6n'],
    [[0xe0, 0x82, 0x9b, 0x36, 0x6e], '\ufffd\ufffd\ufffd6n'],
    [[0xc0, 0x9b, 0x63], '\ufffd\ufffdc'],
    [[0xe2, 0xc2, 0x9b, 0x36, 0x6e, 0x21], '\ufffd!'],
    [[0xf0, 0x9f, 0x99], '\ufffd'],
  ];
  for (const [input, output] of cases) {
    assert.equal(filter([Uint8Array.from(input)]).toString(), output);
  }
});

test('a string without an end costs no memory', () => {
  const one = new TerminalFilter('text');
  one.push(Buffer.from(`${esc}]52;c;`));
  const chunk = Buffer.alloc(1024 * 1024, 'A');
  const before = heldBytes();
  for (let count = 0; count < 8; count += 1) {
    assert.equal(one.push(chunk).length, 0);
  }
  assert.ok(heldBytes() - before < 4 * 1024 * 1024);
  assert.equal(Buffer.from(one.push(Buffer.from('\x07end'))).toString(), 'end');
});
