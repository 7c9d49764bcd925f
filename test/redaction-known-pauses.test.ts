import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import './support/seed.ts';
import type { MaskedChunk } from '../src/redaction/secret-finding.ts';
import type { KnownValue } from '../src/redacted.ts';
import { KnownIndex } from '../src/redaction/known/known-index.ts';
import { KnownMasker } from '../src/redaction/known/known-masker.ts';

const known = (value: string, name = 'KEY'): KnownValue => ({ name, value, tag: `[${name}]` });
const indexOf = (values: readonly string[]): KnownIndex =>
  new KnownIndex(values.map((value, at) => known(value, `S${at}`)));
const token = 'Zq7TfKx2pLw9VbRd4Nc8';

/** As few symbols as may be held when somebody asks for a flush. */
const flushSymbolsMax = 6;
/** So many symbols of a value may come out, all pauses taken together. */
const givenSymbolsMax = 5;

const textOf = (pieces: readonly MaskedChunk[]): string =>
  pieces
    .map((piece) => (piece.kind === 'text' ? Buffer.from(piece.bytes).toString('latin1') : ''))
    .join('');

/** What comes out where after each part there is a pause, and a flush wherever one is allowed. */
function withPauses(index: KnownIndex, bytes: Buffer, sizes: readonly number[]): string {
  const masker = new KnownMasker(index);
  let text = '';
  let at = 0;
  for (let turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    text += textOf(masker.push(bytes.subarray(at, at + size)));
    if (masker.pendingSymbols < flushSymbolsMax) text += textOf(masker.flush());
    at += size;
  }
  return text + textOf(masker.end());
}

const letters = (text: string): string => text.replaceAll(/[^A-Za-z0-9]/g, '');

test('a value that comes byte by byte with pauses is hidden', () => {
  for (const others of [[], ['k7Qx2mZp'], ['пароль-сложный']]) {
    assert.ok(
      withPauses(indexOf(['AAA0XAAAu3', ...others]), Buffer.from('AAA0XAAAu3'), [1]).length < 6,
    );
    const given = withPauses(indexOf([token, ...others]), Buffer.from(token), [1]);
    assert.ok(given.length <= givenSymbolsMax, `given out: ${given}`);
  }
  const repeated = 'aaaaaaaaaaaaaaaaaaaaavf5e_-0xaaaaa4aaaa';
  assert.equal(letters(withPauses(indexOf([repeated]), Buffer.from(repeated), [1])), 'aaaaa');
  for (const value of [
    'aaaa_0x57',
    '09 0x9.Xa0X3_b8519X00xe0-0484x',
    'a4F%bEb1d=}86c5Cc',
    'CDcC0C\\x30x1fAD\\u4;F65F=&{',
  ]) {
    for (const sizes of [[1], [2], [2, 1, 3]]) {
      const given = letters(withPauses(indexOf([value]), Buffer.from(`${value}\n`), sizes));
      assert.ok(given.length <= givenSymbolsMax, `${value} by ${sizes.join()}: ${given}`);
    }
  }
});

const hexOf = (letter: string): string => letter.charCodeAt(0).toString(16);
const escaped: Readonly<Record<string, (letter: string) => string>> = {
  '\\x': (letter) => `\\x${hexOf(letter)}`,
  '\\u': (letter) => `\\u00${hexOf(letter)}`,
  '\\u{': (letter) => `\\u{${hexOf(letter)}}`,
  octal: (letter) => `\\${letter.charCodeAt(0).toString(8).padStart(3, '0')}`,
  '%': (letter) => `%${hexOf(letter)}`,
  '%u': (letter) => `%u00${hexOf(letter)}`,
  '&#x': (letter) => `&#x${hexOf(letter)};`,
  '&#': (letter) => `&#${letter.charCodeAt(0)};`,
  '0x': (letter) => `0x${hexOf(letter)}, `,
  colour: (letter) => `\x1b[31m${letter}`,
  bold: (letter) => `${letter}\b${letter}`,
};

/** Letters of the escapes in `given`: all that show, and those that are begun. */
const unescaped = (given: string): number =>
  given
    .replaceAll('\x1b', '~')
    .replaceAll(/~\[?[0-9]*m?/g, '')
    .replaceAll('\b', '~')
    .replaceAll(/.~/g, '')
    .replaceAll(/(?:0x|\\x|\\u\{|\\u(?:00?)?|%u(?:00?)?|&#x|&#|[\\%])[0-9a-f]*[;}]?/g, (found) =>
      /[1-9a-f][0-9a-f]*[;}]?$/.test(found) ? 'L' : '',
    )
    .replaceAll(/[^A-Za-z0-9]/g, '').length;

test('a value in escapes that pauses cut is hidden but for its first letters', () => {
  const index = indexOf([token]);
  for (const [name, write] of Object.entries(escaped)) {
    const text = Array.from(token, write).join('');
    assert.ok(unescaped(text) >= token.length, name);
    for (const sizes of [[1], [2], [3], [1, 2], [3, 1, 2], [5, 1]]) {
      const given = withPauses(index, Buffer.from(`${text}\n`), sizes);
      assert.ok(unescaped(given) <= givenSymbolsMax, `${name} by ${sizes.join()}: ${given}`);
    }
  }
});

test('what was overstruck after a pause is not taken for part of a value', () => {
  for (const others of [[], ['k7Qx2mZp']]) {
    const masker = new KnownMasker(indexOf([token, ...others]));
    const pieces = masker.push(Buffer.from('ab!Q'));
    pieces.push(...masker.flush(), ...masker.push(Buffer.from(`\b${token} `)), ...masker.end());
    assert.equal(textOf(pieces), 'ab!Q\b ');
    assert.equal(pieces.filter(({ kind }) => kind === 'hidden').length, 1);
  }
});

test('bytes that are no symbols are told to be held, too', () => {
  const masker = new KnownMasker(indexOf([token]));
  assert.equal(masker.hasPending, false);
  assert.equal(
    textOf([...masker.push(Buffer.from('Password Z')), ...masker.flush()]),
    'Password Z',
  );
  assert.equal(masker.hasPending, false);
  const given = textOf(masker.push(Buffer.from(' ')));
  assert.equal(masker.hasPending, given === '');
  assert.equal(given + textOf(masker.flush()), ' ');
  assert.equal(masker.hasPending, false);
  masker.push(Buffer.from(token));
  assert.equal(masker.hasPending, true);
  assert.deepEqual(
    masker.flush().map(({ kind }) => kind),
    ['hidden'],
  );
  assert.equal(masker.hasPending, false);
});

const ordinary = [
  'ghp_9fKq2LxWv7RbT0cYzN4mJhU6sDaE1PgVtXoQ sk-live-Zq8_rT2nX-5vLw0Kc7By Zq7TfKx2pLw9VbRd4Nc8',
  'AKIA4QZT7XWNPLR2VM5C 7f3a9c51e08b4d26b7c9f1035ad84e62 Hq4+Tz/9vLk2+Xw8Rb1/Nc6Ys3==',
  'xoxb-2481930572-Lk9Wq3ZtVb7Ns1Xc Tr0ub4dor&3! k9#Lm2$Pq aB3+xY9w hunter2hunter2',
  'postgresql://app:Zk3mQ9xTw7Lp@db.example.com:5432/orders glpat-Jx4TqW8rNm2ZbV6kYc9L',
  'redis://:n7Vq2KxLr9Tz@cache.internal:6379/0 npm_3kLqWzX8vT5bR1cYhN7mJ2U9sDfE4PgVtKoA',
  'correct-horse-battery-staple-9Qz7 mypassword-9Qz7Xw3 SG.k3Vq9LxWt2.Rb7Tn4YcZm8Kd',
  'd41d8cd98f00b204e9800998ecf8427e whsec_5tQn8ZkW2xLr7VbJ4cYm',
].flatMap((line) => line.split(' '));
const prompts = [
  'Continue? [y/N] |Password: |user@host:~$ |>>> |... |root@5a71:/srv# |$ |mysql> |(gdb) ',
  'Are you sure you want to continue connecting (yes/no/[fingerprint])? |? Project name: ',
  "Username for 'https://github.com': |Password for user postgres: |Overwrite (y/n)? ",
  'Do you want to continue? [Y/n] |[sudo] password for alice: |Enter passphrase for key: ',
  'In [1]: |irb(main):001:0> |Select an option [1-4]: ',
].flatMap((line) => line.split('|'));

test('prompts are given out while twenty secrets are known', () => {
  assert.equal(ordinary.length, 20);
  const index = indexOf(ordinary);
  for (const prompt of prompts) {
    assert.equal(withPauses(index, Buffer.from(prompt), [prompt.length]), prompt);
    const masker = new KnownMasker(index);
    masker.push(Buffer.from(prompt));
    assert.ok(masker.pendingSymbols < flushSymbolsMax, `${prompt} waits: ${masker.pendingSymbols}`);
    masker.flush();
    assert.ok(masker.pendingSymbols < flushSymbolsMax, `typing behind ${prompt} waits`);
  }
});

test('words that a value starts with are given out as few as its other characters', () => {
  for (const value of ['correct-horse-battery-staple-9Qz7', 'mypassword-9Qz7Xw3']) {
    const index = indexOf([value, token]);
    for (const size of [1, 3, 5, 10, 28]) {
      const given = letters(withPauses(index, Buffer.from(value), [size]));
      assert.ok(given.length <= givenSymbolsMax, `${value} by ${size}: ${given}`);
    }
  }
});

const alphabets = [
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789',
  'abcdefghijklmnopqrstuvwxyz0123456789-_',
  '0123456789abcdef',
  'ABCDEFGHJKMNPQRSTVWXYZ23456789!#$.',
];
const valueOf = fc
  .tuple(fc.constantFrom(...alphabets), fc.integer({ min: 8, max: 44 }))
  .chain(([alphabet, length]) =>
    fc.array(fc.constantFrom(...Array.from(alphabet)), { minLength: length, maxLength: length }),
  )
  .map((characters) => characters.join(''))
  .filter((value) => letters(value).length >= 8 && new Set(letters(value)).size >= 5);

test('what is given out in pauses does not add up to more than five symbols of a value', () => {
  fc.assert(
    fc.property(
      valueOf,
      fc.boolean(),
      fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 5 }),
      fc.constantFrom('', 'Password: ', 'echo '),
      (value, withShort, sizes, prompt) => {
        const index = indexOf(withShort ? [value, 'k7Qx2mZp'] : [value]);
        const given = withPauses(index, Buffer.from(`${prompt}${value}\n`), sizes);
        const ofValue = letters(given.slice(prompt.length));
        assert.ok(ofValue.length <= givenSymbolsMax, `given out of ${value}: ${given}`);
      },
    ),
    { numRuns: 300 },
  );
});

test('what gzip packed does not come out in pauses, once its first letters are there', () => {
  const index = indexOf([token]);
  for (const form of ['base64', 'hex'] as const) {
    const packed = gzipSync(`${token}\n`).toString(form);
    for (const first of [4, 5, 6]) {
      const given = withPauses(index, Buffer.from(`${packed}\n`), [
        first + (form === 'hex' ? 2 : 0),
      ]);
      assert.equal(given.trim(), '');
    }
  }
});
