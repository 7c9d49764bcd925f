// Keys of auditors: spelt as age spells them, and refused with a reason where they are none.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { decodeBech32, encodeBech32 } from '../src/sealing/bech32.ts';
import {
  generateIdentity,
  parseIdentities,
  parseRecipient,
  checkRecipient,
} from '../src/sealing/keys.ts';

const decoded = (text: string) => {
  const found = decodeBech32(text);
  assert.ok(typeof found !== 'string', text);
  return found;
};

describe('Bech32', () => {
  test('reads and writes what BIP 173 gives as valid', () => {
    const rows = [
      ['A12UEL5L', 'a', 0],
      ['abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw', 'abcdef', 20],
      ['split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w', 'split', 30],
    ] as const;
    for (const [text, prefix, length] of rows) {
      const found = decoded(text);
      assert.deepEqual([found.prefix, found.bytes.length], [prefix, length]);
      assert.equal(encodeBech32(found.prefix, found.bytes), text.toLowerCase());
    }
  });

  test('refuses what BIP 173 gives as invalid', () => {
    const invalid = ['A1G7SGD8', '10a06t8', '1qzzfhee', 'pzry9x0s0muk', 'x1b4n0q5v', 'li1dgmt3'];
    const more = ['de1lg7wt\u00ff', '\u00201nwldj5', 'split1cheo2y9e2w', 'A12uEL5L', ''];
    for (const text of [...invalid, ...more]) {
      assert.equal(typeof decodeBech32(text), 'string', text);
    }
  });

  test('gives back any bytes, and finds one to four wrong characters', () => {
    const alphabet = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
    const edits = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 31 })), {
      minLength: 1,
      maxLength: 4,
    });
    const property = fc.property(
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
      edits,
      (bytes, changed) => {
        const text = encodeBech32('age', bytes);
        assert.deepEqual(decoded(text).bytes, bytes);
        const letters = text.split('');
        const places = new Map(changed.map(([at, by]) => [4 + (at % (text.length - 4)), by]));
        for (const [at, by] of places) {
          const now = alphabet.indexOf(letters[at] ?? '');
          letters[at] = alphabet[(now + by) % 32] ?? '';
        }
        assert.equal(typeof decodeBech32(letters.join('')), 'string');
      },
    );
    fc.assert(property, { numRuns: 300 });
  });
});

describe('a recipient', () => {
  // From the manual of age, and from its project's test kit.
  const published = 'age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p';
  const kit = 'AGE-SECRET-KEY-1XMWWC06LY3EE5RYTXM9MFLAZ2U56JJJ36S0MYPDRWSVLUL66MV4QX3S7F6';

  test('of age is one', () => {
    assert.equal(checkRecipient(published), null);
    assert.equal(parseRecipient(published).text, published);
    assert.equal(parseIdentities(kit).length, 1);
  });

  test('belongs to the identity that it was made with', () => {
    const { identity, recipient } = generateIdentity();
    assert.match(identity, /^AGE-SECRET-KEY-1[A-Z0-9]{58}$/);
    const file = `# created: today\n# public key: ${recipient}\n\n${identity}\n`;
    const [found, ...others] = parseIdentities(file);
    assert.equal(found?.recipient.text, recipient);
    assert.deepEqual(others, []);
    assert.notEqual(generateIdentity().recipient, recipient);
  });

  test('is the one that age-keygen tells', { skip: whyNoAge() }, () => {
    const file = execFileSync('age-keygen', {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const recipient = execFileSync('age-keygen', ['-y'], { encoding: 'utf8', input: file }).trim();
    assert.equal(parseIdentities(file)[0]?.recipient.text, recipient);
    const own = generateIdentity();
    const told = execFileSync('age-keygen', ['-y'], { encoding: 'utf8', input: own.identity });
    assert.equal(told.trim(), own.recipient);
  });

  test('is refused in words that name what is wrong', () => {
    const { identity, recipient } = generateIdentity();
    const wrong = recipient.slice(0, -1) + (recipient.endsWith('q') ? 'p' : 'q');
    const rows: readonly (readonly [string, RegExp])[] = [
      ['', /must be the public key of an auditor/],
      ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5', /must be the public key of an auditor/],
      [wrong, /wrong checksum/],
      [recipient.toUpperCase(), /must be the public key/],
      [`A${recipient.slice(1)}`, /must be the public key/],
      [recipient.replace('1', ''), /must be the public key/],
      [identity, /is a secret key/],
      [identity.toLowerCase(), /is a secret key/],
      [encodeBech32('age', randomBytes(31)), /32 bytes/],
      [encodeBech32('age1x', randomBytes(32)), /must be the public key/],
      // Points of small order: what two sides agree on would be known to everybody.
      [encodeBech32('age', new Uint8Array(32)), /nothing can be sealed to/],
      [
        encodeBech32(
          'age',
          Uint8Array.from({ length: 32 }, (_, at) => (at === 0 ? 1 : 0)),
        ),
        /nothing can be sealed to/,
      ],
    ];
    for (const [text, words] of rows) {
      assert.match(checkRecipient(text) ?? 'none', words, text);
      if (/nothing can/.test(words.source)) continue;
      assert.throws(() => parseRecipient(text), { reason: 'malformed' }, text);
    }
  });

  test('that is a secret is never repeated in what is said of it', () => {
    const { identity } = generateIdentity();
    const broken = identity.slice(0, -1) + (identity.endsWith('Q') ? 'P' : 'Q');
    for (const text of [identity, broken, identity.toLowerCase()]) {
      const said: string[] = [];
      for (const parse of [parseRecipient, parseIdentities]) {
        try {
          parse(text);
        } catch (error) {
          said.push(String(error));
        }
      }
      for (const words of said) assert.ok(!words.includes(text.slice(16, 32)), words);
    }
    assert.throws(() => parseIdentities(`# x\n${broken}\n`), /Line 2 .* wrong checksum/);
    assert.throws(() => parseIdentities('# only a comment\n'), /has no identity/);
    assert.throws(() => parseIdentities(generateIdentity().recipient), /is a public key/);
  });
});

function whyNoAge(): string | false {
  const { status } = spawnSync('age-keygen', ['--version'], { stdio: 'ignore' });
  return status === 0 ? false : 'age-keygen is not installed';
}
