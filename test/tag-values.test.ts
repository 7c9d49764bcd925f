// Values put back in the place of tags: what is put back, and that nothing else ever is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { RedactionTags } from '../src/redaction/redaction-tags.ts';
import { restoreTagValues } from '../src/workspace/commit/tag-values.ts';

const tags = new RedactionTags(new Uint8Array(32).fill(7));
const [one, two] = ['q7Wm2xLp9RtZ4vNc', 'Zq8Wm2xLp9RtZ4v='];
const [tag, other] = [tags.of(one), tags.of(two)];
const lines = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n'.repeat(3);
const block = tags.of(lines.trimEnd());

const restored: readonly (readonly [string, string, string, string])[] = [
  ['the line as it was', `a=1\nk=${one}\n`, `a=2\nk=${tag}\n`, `a=2\nk=${one}\n`],
  ['another place in the file', `k=${one}\na=1`, `a=1\nk=${tag}`, `a=1\nk=${one}`],
  [
    'another indentation and comma',
    `{\n"k": "${one}"\n}`,
    `\n  "k": "${tag}",\n`,
    `\n  "k": "${one}",\n`,
  ],
  ['another line end', `k=${one}\r\n`, `k=${tag}\n`, `k=${one}\n`],
  ['two on one line', `u=${one}:${two}@h\n`, `u=${tag}:${other}@h\n`, `u=${one}:${two}@h\n`],
  ['one of several lines', `x\n${lines}y\n`, `x\n${block}\nz\n`, `x\n${lines}z\n`],
  ['bytes beyond ASCII', `\xc3\xbc=${one}`, `\xc3\xbc=${tag}`, `\xc3\xbc=${one}`],
];
for (const [name, before, after, wanted] of restored) {
  test(`a value comes back: ${name}`, () => {
    assert.equal(restoreTagValues(before, after, tags), wanted);
  });
}

const refused: readonly (readonly [string, string, string])[] = [
  ['under another name', `k=${one}\n`, `public_k=${tag}\n`],
  ['with something behind it', `k=${one}\n`, `k=${tag}; send $k\n`],
  ['twice', `k=${one}\n`, `k=${tag}\nk=${tag}\n`],
  ['in another file', `k=${two}\n`, `k=${tag}\n`],
  ['in a new file', '', `k=${tag}\n`],
  ['in the place of another', `k=${one}\nl=${two}\n`, `k=${other}\nl=${tag}\n`],
  ['one of two', `k=${one}\nl=2\n`, `k=${tag}\nl=${other}\n`],
  ['in binary content', `k=${one}\n\0`, `k=${tag}\n\0`],
  ['in bytes that are no UTF-8', `k=${one}\n\xff`, `k=${tag}\n\xff`],
  ['of a part of the value', `k=${one}\n`, `k=${tags.of(one.slice(0, -1))}\n`],
  ['of several lines below another one', `x\n${lines}y\n`, `z\n${block}\ny\n`],
  ['of a value that is in the line', `k=a${one}\n`, `k=${tag}\n`],
];
for (const [name, before, after] of refused) {
  test(`no value comes: ${name}`, () => assert.equal(restoreTagValues(before, after, tags), null));
}

test('what is no tag, or of nobody, is text like any other', () => {
  for (const text of [`k=${tag.slice(0, -1)}\n`, 'k=[HIDDEN:0a0b0c0d0e]\n', `k=HIDDEN\n`]) {
    assert.equal(restoreTagValues(`k=${one}\n`, text, tags), text);
  }
});

test('what is put back never has a value that the line of the file did not have', () => {
  const word = fc.constantFrom('k=', 'l: "', '"', ',', ' ', '', tag, other, one, two, 'x', '\r');
  const text = fc
    .array(fc.array(word, { maxLength: 5 }), { maxLength: 6 })
    .map((all) => all.map((line) => line.join('')).join('\n'));
  const bare = (line: string): string => line.replace(/^[ \t]*/, '').replace(/[ \t\r,;]*$/, '');
  const has = (line: string): boolean => line.includes(one) || line.includes(two);
  fc.assert(
    fc.property(text, text, (before, after) => {
      const found = restoreTagValues(before, after, tags);
      if (found === null) return;
      const known = new Set([before, after].flatMap((all) => all.split('\n').map(bare)));
      for (const line of found.split('\n').filter(has)) assert.ok(known.has(bare(line)), line);
    }),
    { numRuns: 2_000 },
  );
});

test('a file made to be searched for long is given up', () => {
  const before = `${'a'.repeat(40)}\n`.repeat(60_000);
  assert.equal(restoreTagValues(before, `${tag}\n`, tags), null);
  const packed = 'b'.repeat(60_000);
  assert.equal(restoreTagValues(packed, `${tag}${other}\n`, tags), null);
});
