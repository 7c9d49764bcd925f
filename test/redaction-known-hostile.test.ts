import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { KnownIndex } from '../src/redaction/known/known-index.ts';
import { checkMaskable, findKnownValues, maskText } from '../src/redaction/known/maskable.ts';
import { rounds } from './support/form.ts';

const masked = (values: readonly string[], text: string): string =>
  maskText(
    new KnownIndex(values.map((value, at) => ({ name: `S${at}`, value, tag: `[S${at}]` }))),
    text,
  ).text;

const parts = [
  ...Array.from('\\%&;#x0u{}:!/ 149abfnrtzQW'),
  ...String.raw`\n \t %41 &#65; \x41 \u0041 &amp; 0x kQ7`.split(' '),
  '12: ',
  '\b',
];
const hostile = fc
  .array(fc.constantFrom(...parts), { minLength: 4, maxLength: 24 })
  .map((all) => all.join(''));

test('every value that is accepted is hidden where it is printed as it is', () => {
  fc.assert(
    fc.property(hostile, (value) => {
      const checked = checkMaskable(value);
      fc.pre(checked.ok && !checked.isWeak);
      for (const [before, after] of [
        ['', ''],
        ['\n', '\n'],
        ['- ', ' -'],
        ['"', '"'],
        ['(', ')'],
        ['=', ';\n'],
      ]) {
        const text = masked([value], `${before}${value}${after}`);
        // What stands for `&` is no letter of the value, wherever it is left.
        const bare = text.replaceAll('[S0]', '').replaceAll('&amp;', '');
        const left = bare.replaceAll(/[^A-Za-z0-9]/g, '');
        assert.notEqual(text, `${before}${value}${after}`);
        assert.ok(left.length < 6, `${JSON.stringify(value)}: ${JSON.stringify(text)}`);
      }
    }),
    { numRuns: rounds(60, 2_000) },
  );
});

test('a value that ends like an entity is hidden before a semicolon, or refused', () => {
  assert.equal(checkMaskable('zaaQn&#0').ok, false);
  const long = 'Zq7TfKx2pLw9VbRd&#0';
  assert.equal(checkMaskable(long).ok, true);
  assert.doesNotMatch(masked([long], `=${long};`), /[A-Za-z0-9]{6}/);
});

test('values of hardly more than escapes are refused, others that hold some are hidden', () => {
  for (const value of ['ab\\n12\\t3!', 'x%41%42%43y', '\\n\\n\\n\\n\\n\\n\\n']) {
    assert.equal(checkMaskable(value).ok, false, value);
  }
  for (const value of ['p@ss\\w0rd\\n9', 'abc0x12', '&#97;&#98;cd12', 'a\\x41b\\u0042c9']) {
    assert.equal(checkMaskable(value).ok, true, value);
    assert.equal(masked([value], `a ${value} b`), 'a [S0] b');
  }
});

test('a value with letters beyond ASCII does not weaken the others', () => {
  const token = 'Zq7TfKx2pLw9VbRd4Nc8';
  const wide = 'пароль-очень-длинный';
  for (const mark of ['\u0301', '\u034f', '\u3000', '\u2502', '\u200b']) {
    const text = Array.from(token, (letter) => letter + mark).join('');
    assert.equal(masked([wide, token], `${text} ${wide}`), `[S1]${mark} [S0]`);
  }
  const bytes = Buffer.from(Array.from(token).join('\xff'), 'latin1');
  const index = new KnownIndex(
    [wide, token].map((value, at) => ({ name: `S${at}`, value, tag: `[S${at}]` })),
  );
  assert.deepEqual(
    findKnownValues(index, bytes).map(({ key }) => key),
    ['S1'],
  );
});

test('control sequences between its characters do not hide a value from the masker', () => {
  const token = 'Zq7TfKx2pLw9VbRd4Nc8';
  for (const control of [
    '\x1b7',
    '\x1b8',
    '\x1bM',
    '\x1b]0;t\x07',
    '\x1b]8;;\x1b\\',
    '\x1b]0;ab\x1b\\',
  ]) {
    const text = masked([token], `- ${Array.from(token).join(control)} -`);
    assert.equal(text, '- [S0] -', JSON.stringify(control));
  }
  for (const text of [
    `\x1b]0;${token}\x07`,
    `\x1b]8;;${token}\x1b\\x`,
    `\x1b]${token}`,
    `\x1b${token}`,
  ]) {
    assert.ok(masked([token], text).includes('[S0]'), JSON.stringify(text));
  }
});
