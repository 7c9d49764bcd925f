import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MaskedChunk } from '../src/redaction/secret-finding.ts';
import type { KnownValue } from '../src/redacted.ts';
import { KnownIndex } from '../src/redaction/known/known-index.ts';
import { KnownMasker } from '../src/redaction/known/known-masker.ts';
import { applied, transforms, type Transform } from './support/transforms.ts';

const tokens = [
  'ghp_9fKq2LxWv7RbT0cYzN4mJhU6sDaE1PgVtXoQ',
  '7f3a9c51e08b4d26b7c9f1035ad84e62',
  'sk-live-Zq8_rT2nX-5vLw0Kc7By',
  'Hq4+Tz/9vLk2+Xw8Rb1/Nc6Ys3==',
  'AKIA4QZT7XWNPLR2VM5C',
  'tr-93.kf:Wq2!zz(8)ab=cd~Mx7',
];
const passwords = [
  'Tr0ub4dor&3!',
  '!v7KqWzTm2',
  'aB3+xY9w',
  'k9#Lm2$Pq',
  "it's-8#Zq4",
  '(7Wd)kq2xZ*',
];

const known = (value: string, name = 'KEY'): KnownValue => ({
  name,
  value,
  tag: '[HIDDEN:abc123]',
});
const masked = (values: readonly string[], bytes: Uint8Array): MaskedChunk[] => {
  const masker = new KnownMasker(new KnownIndex(values.map((value, at) => known(value, `K${at}`))));
  return [...masker.push(bytes), ...masker.end()];
};

/** Which bytes are hidden. */
function hiddenBytes(pieces: readonly MaskedChunk[]): boolean[] {
  return pieces.flatMap((piece) =>
    Array.from(
      { length: piece.kind === 'text' ? piece.bytes.length : piece.bytes },
      () => piece.kind === 'hidden',
    ),
  );
}

function wrongOf(transform: Transform, secret: string): string | null {
  const { bytes, shares } = applied(transform, secret);
  const hidden = hiddenBytes(masked([secret], bytes));
  assert.equal(hidden.length, bytes.length);
  const view = Array.from(bytes, (byte, at) =>
    hidden[at] === true ? '█' : String.fromCharCode(byte),
  ).join('');
  for (const [at, share] of shares.entries()) {
    const char = String.fromCharCode(bytes[at] ?? 0);
    const counts = transform.plain === true ? /[^\s\\]/.test(char) : /[A-Za-z0-9]/.test(char);
    if (share === 'secret' && counts && hidden[at] !== true) {
      return `${transform.name}: ${JSON.stringify(char)} at ${at} is left: ${JSON.stringify(view)}`;
    }
    if (share === 'public' && hidden[at] === true) {
      return `${transform.name}: ${JSON.stringify(char)} at ${at} is gone: ${JSON.stringify(view)}`;
    }
  }
  return null;
}

for (const transform of transforms) {
  test(`a token is hidden by its every character: ${transform.name}`, () => {
    assert.deepEqual(tokens.map((token) => wrongOf(transform, token)).filter(Boolean), []);
  });
  test(`a password is hidden by its every character: ${transform.name}`, () => {
    const values = passwords.filter((value) => value.length >= (transform.bytesMin ?? 0));
    assert.deepEqual(values.map((value) => wrongOf(transform, value)).filter(Boolean), []);
  });
}
