import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { KnownValue, Piece } from '../src/redaction/finding.ts';
import { KnownIndex } from '../src/redaction/known/known-index.ts';
import { KnownMasker } from '../src/redaction/known/masker.ts';

const known = (value: string, name = 'KEY'): KnownValue => ({ name, value, tag: `[${name}]` });
const indexOf = (values: readonly string[]): KnownIndex =>
  new KnownIndex(values.map((value, at) => known(value, `S${at}`)));
const token = 'Zq7TfKx2pLw9VbRd4Nc8';

/** As few symbols as may be held when somebody asks for a flush. */
const flushSymbolsMax = 6;
/** So many symbols of a value may come out, all pauses taken together. */
const givenSymbolsMax = 5;

const textOf = (pieces: readonly Piece[]): string =>
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
    if (masker.held < flushSymbolsMax) text += textOf(masker.flush());
    at += size;
  }
  return text + textOf(masker.end());
}

const letters = (text: string): string => text.replaceAll(/[^A-Za-z0-9]/g, '');

test('a value that comes byte by byte with pauses is hidden', () => {
  for (const others of [[], ['k7Qx2mZp'], ['пароль-сложный']]) {
    const given = withPauses(indexOf([token, ...others]), Buffer.from(token), [1]);
    assert.ok(given.length <= givenSymbolsMax * 2, `given out: ${given}`);
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
  assert.equal(masker.holds, false);
  assert.equal(
    textOf([...masker.push(Buffer.from('Password Z')), ...masker.flush()]),
    'Password Z',
  );
  assert.equal(masker.holds, false);
  const given = textOf(masker.push(Buffer.from(' ')));
  assert.equal(masker.holds, given === '');
  assert.equal(given + textOf(masker.flush()), ' ');
  assert.equal(masker.holds, false);
  masker.push(Buffer.from(token));
  assert.equal(masker.holds, true);
  assert.deepEqual(
    masker.flush().map(({ kind }) => kind),
    ['hidden'],
  );
  assert.equal(masker.holds, false);
});
