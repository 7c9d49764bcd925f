/** Finding by look: more random characters are never found less often. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { Detector } from '../src/redaction/detect/detector.ts';
import { randomFrom } from '../tools/train-score-keys.ts';

const upper = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const base62 = `${upper}${upper.toLowerCase()}0123456789`;
/** Hexadecimal: identifiers and digests. ULID has 26, KSUID and CUID 25 or 27. */
const hashes = [16, 20, 24, 32, 40, 56, 64, 96, 128];
const identifiers = [25, 26, 27];
/** Lines of base64 as encoders break them: of certificates, of pictures. */
const lines = [60, 64, 70, 72, 76];
/** A last line of a certificate is as long as this; 40 is a secret key of AWS. */
const lastLines = [20, 24, 28, 32, 36, 44, 48, 52, 56, 68];

/** Each with the lengths at which it must stay readable. */
const alphabets: Readonly<Record<string, readonly [string, readonly number[]]>> = {
  hex: ['0123456789abcdef', [...hashes, ...identifiers]],
  base32: [`${upper}234567`, identifiers],
  base36: [base62.slice(26).toLowerCase(), identifiers],
  base62: [base62, [...identifiers, ...lines]],
  base64: [`${base62}+/`, [...lines, ...lastLines]],
  base64url: [`${base62}-_`, [...identifiers, ...lines]],
};
const lengths = [16, 18, 20, 22, 24, 28, 30, 32, 33, 36, 40, 43, 44, 48, 52, 60, 64, 65, 86, 100];
const samples = 200;

function isHidden(key: string): boolean {
  const text = `${key}\n`;
  const detector = new Detector({ profile: 'balanced', prior: 'none' });
  return detector.scan(text, Buffer.from(text, 'latin1')).length > 0;
}

function drawn(alphabet: string, length: number, next: () => number): string {
  let key = '';
  while (key.length < length) key += alphabet.charAt(Math.floor(next() * alphabet.length));
  return key;
}

for (const [name, [alphabet, readable]] of Object.entries(alphabets)) {
  test(`a longer random string of ${name} is not found less often than a shorter one`, () => {
    const next = randomFrom(20_261_123);
    let most = 0;
    for (const length of lengths.filter((one) => !readable.includes(one))) {
      let found = 0;
      for (let n = 0; n < samples; n++) if (isHidden(drawn(alphabet, length, next))) found++;
      const share = found / samples;
      // Four standard errors of the difference of two shares, at their widest.
      const error = 4 * Math.sqrt((2 * 0.25) / samples);
      assert.ok(share >= most - error, `${length} characters: ${share}, shorter ones: ${most}`);
      most = Math.max(most, share);
    }
    assert.ok(most > 0.5, `${name} is found at all: ${most}`);
  });
}

test('32 bytes in base64 are found where they stand alone on a line', () => {
  const next = randomFrom(7);
  let found = 0;
  for (let n = 0; n < samples; n++) {
    const bytes = Buffer.from(Array.from({ length: 32 }, () => Math.floor(next() * 256)));
    if (isHidden(bytes.toString('base64'))) found++;
  }
  assert.ok(found > samples / 2, `${found} of ${samples}`);
});
