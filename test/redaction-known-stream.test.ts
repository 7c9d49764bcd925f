import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { isTrlError } from '../src/errors.ts';
import type { MaskedChunk } from '../src/redaction/secret-finding.ts';
import type { KnownValue } from '../src/redacted.ts';
import { KnownIndex } from '../src/redaction/known/known-index.ts';
import { checkMaskable, findKnownValues, maskText } from '../src/redaction/known/maskable.ts';
import { KnownMasker } from '../src/redaction/known/known-masker.ts';
import { applied, transforms } from './support/transforms.ts';

const known = (value: string, name = 'KEY'): KnownValue => ({ name, value, tag: `[${name}]` });
const token = 'ghp_9fKq2LxWv7RbT0cYzN4mJhU6sDaE1PgVtXoQ';
const password = 'Tr0ub4dor&3!';

/** Texts that follow each other put together. */
function merged(pieces: readonly MaskedChunk[]): (string | readonly [string, number])[] {
  const all: (string | readonly [string, number])[] = [];
  for (const piece of pieces) {
    const last = all.at(-1);
    if (piece.kind === 'hidden') {
      if (Array.isArray(last) && last[0] === piece.tag) {
        all[all.length - 1] = [piece.tag, Number(last[1]) + piece.bytes];
      } else all.push([piece.tag, piece.bytes]);
      continue;
    }
    const text = Buffer.from(piece.bytes).toString('latin1');
    if (typeof last === 'string') all[all.length - 1] = last + text;
    else all.push(text);
  }
  return all;
}

function inPieces(index: KnownIndex, bytes: Buffer, sizes: readonly number[]): MaskedChunk[] {
  const masker = new KnownMasker(index);
  const pieces: MaskedChunk[] = [];
  let at = 0;
  for (let turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    pieces.push(...masker.push(bytes.subarray(at, at + size)));
    at += size;
  }
  return [...pieces, ...masker.end()];
}

const shown = (pieces: readonly MaskedChunk[]): string =>
  merged(pieces)
    .map((piece) => (typeof piece === 'string' ? piece : piece[0]))
    .join('');

const secrets = [
  token,
  password,
  '7f3a9c51e08b4d26b7c9f1035ad84e62',
  'Hq4+Tz/9vLk2+Xw8Rb1/Nc6Ys3==',
  '!v7KqWzTm2',
  'pä55wörd-ünïcode-ключ-2024',
  'a b"c\'d\\e$f`g%h&i 12345 xyz',
];

const noise = fc.oneof(
  fc.string({ maxLength: 60 }),
  fc.constantFrom(
    '\n',
    '0x',
    '\\x4',
    '%2',
    '&#10',
    '\x1b[3',
    '\x1b]0;t',
    '\x07',
    '\x1bM',
    '\x1f\x8b\x08',
    'H4sI',
    'eJ',
    '00000010: 5741 ',
    '  12\t',
  ),
  fc.constantFrom('The quick brown fox\n', '[INFO] 12:00:01 done\n', 'ghp_9fKq', 'Tr0ub'),
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
);
const embedded = fc
  .tuple(fc.constantFrom(...secrets), fc.constantFrom(...transforms))
  .map(([secret, transform]) => applied(transform, secret).bytes.toString('latin1'));
const stream = fc
  .array(fc.oneof(noise, embedded), { minLength: 1, maxLength: 8 })
  .map((parts) => Buffer.from(parts.join(''), 'latin1'));

/** A line that begins as a dump's and is longer than one: how much had come decided what it is. */
const longLine = Buffer.from(
  `00000010: 5741 ${Array.from(token).join('","')}` +
    Array.from(token, (c) => `\\U${c.charCodeAt(0).toString(16).padStart(8, '0')}`).join('') +
    token,
);

test('any split of the stream, down to single bytes, gives the same output', () => {
  const index = new KnownIndex(secrets.map((value, at) => known(value, `S${at}`)));
  fc.assert(
    fc.property(
      stream,
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
      (bytes, sizes) => {
        const whole = inPieces(index, bytes, [bytes.length]);
        const length = (pieces: readonly MaskedChunk[]): number =>
          pieces.reduce((n, p) => n + (p.kind === 'text' ? p.bytes.length : p.bytes), 0);
        assert.equal(length(whole), bytes.length);
        assert.deepEqual(merged(inPieces(index, bytes, sizes)), merged(whole));
        assert.deepEqual(merged(inPieces(index, bytes, [1])), merged(whole));
      },
    ),
    { numRuns: 400, examples: [[longLine, [1]]] },
  );
});

test('no byte of what is not secret is lost, moved or changed', () => {
  const index = new KnownIndex(secrets.map((value, at) => known(value, `S${at}`)));
  fc.assert(
    fc.property(stream, (bytes) => {
      let at = 0;
      for (const piece of inPieces(index, bytes, [7])) {
        if (piece.kind === 'text') {
          const there = bytes.subarray(at, at + piece.bytes.length);
          assert.ok(there.equals(piece.bytes));
        }
        at += piece.kind === 'text' ? piece.bytes.length : piece.bytes;
      }
      assert.equal(at, bytes.length);
    }),
    { numRuns: 300 },
  );
});

test('a prompt is given out at a flush, and a secret behind one is still hidden', () => {
  const masker = new KnownMasker(new KnownIndex([known(token), known(password, 'PW')]));
  const before = masker.push(Buffer.from('Continue? [y/N] '));
  assert.ok(masker.pendingSymbols < 6);
  assert.equal(shown([...before, ...masker.flush()]), 'Continue? [y/N] ');
  const start = masker.push(Buffer.from(token.slice(0, 9)));
  assert.ok(masker.pendingSymbols >= 6, 'so much of a secret is not to be given out');
  const rest = [...masker.push(Buffer.from(token.slice(9))), ...masker.end()];
  assert.equal(shown([...start, ...rest]), '[KEY]');
});

test('a prompt that ends with a word of a value can be given out, one of its key cannot', () => {
  const dsn = 'postgresql://app:Zk3mQ9xTw7Lp@db.example.com:5432/orders';
  const masker = new KnownMasker(new KnownIndex([known(dsn)]));
  masker.push(Buffer.from('Password for user postgres: '));
  assert.ok(masker.pendingSymbols < 6);
  masker.push(Buffer.from('Zk3mQ9xT'));
  assert.ok(masker.pendingSymbols >= 6);
});

test('after a forced flush in the middle of a secret its rest is hidden', () => {
  for (let cut = 1; cut < token.length - 12; cut += 1) {
    const masker = new KnownMasker(new KnownIndex([known(token)]));
    const pieces = [...masker.push(Buffer.from(token.slice(0, cut))), ...masker.flush()];
    pieces.push(...masker.push(Buffer.from(token.slice(cut))), ...masker.end());
    const left = shown(pieces).replaceAll('[KEY]', '');
    assert.equal(left, token.slice(0, cut <= 10 ? cut : 0), `cut at ${cut}`);
  }
});

test('what stands behind the digits of a dump is hidden, unless they say the same', () => {
  const index = new KnownIndex([known(token)]);
  const lines = [
    '00000010: 5741 ',
    '00000010  57 41  |',
    '0000: 12 34 56 78 ',
    '0000020 040527 066545 ',
    '1700000000: 12 login ',
    '2024001 12 34 user root, token ',
    '00000018: 01110011 01101111  ',
  ];
  for (const line of lines) {
    for (const end of ['', '\n', '|\n', ' and more\n']) {
      assert.equal(maskText(index, `${line}${token}${end}`).text, `${line}[KEY]${end}`);
    }
  }
  const innocent = '00000000: 736f 6d65 2074 6578 74  some text\n';
  assert.equal(maskText(index, innocent).text, innocent);
});

test('a value of digits is hidden in what looks like a control sequence', () => {
  const index = new KnownIndex([known('839201745566471')]);
  for (const [before, after] of [
    ['', 'm'],
    ['?', 'h'],
    ['1;', ';4H'],
  ]) {
    for (const size of [1, 7, 100]) {
      const bytes = Buffer.from(`a\x1b[${before}839201745566471${after}b`);
      assert.equal(shown(inPieces(index, bytes, [size])), `a\x1b[${before}[KEY]${after}b`);
    }
  }
});

test('a second secret on a line, and the same again, each has its tag', () => {
  const index = new KnownIndex([known(token), known(password, 'PW')]);
  assert.equal(maskText(index, `${token} ${password}\n${token}\n`).text, '[KEY] [PW]\n[KEY]\n');
  assert.deepEqual(maskText(index, `-u x:${password} ${token}`), {
    text: '-u x:[PW] [KEY]',
    hits: ['PW', 'KEY'],
  });
  assert.deepEqual(
    findKnownValues(index, Buffer.from(`a ${password} b`)).map(({ start, end, key }) => [
      start,
      end,
      key,
    ]),
    [[2, 2 + password.length, 'PW']],
  );
});

test('hashes of a secret, and texts that share a few characters with it, stay as they are', () => {
  const index = new KnownIndex(secrets.map((value, at) => known(value, `S${at}`)));
  const lines = secrets.flatMap((secret) => [
    ...['md5', 'sha1', 'sha256', 'sha512'].map((name) =>
      createHash(name).update(secret).digest('hex'),
    ),
    createHash('sha256').update(secret).digest('base64'),
    secret.slice(0, 7),
    `prefix-${secret.slice(-6)}-suffix`,
  ]);
  const text = lines.join('\n');
  assert.equal(maskText(index, text).text, text);
});

test('each line of a key in PEM is hidden, and words like BEGIN are not by themselves', () => {
  const body = randomBytes(600)
    .toString('base64')
    .replaceAll(/(.{64})/g, '$1\n');
  const pem = `-----BEGIN RSA PRIVATE KEY-----\n${body}\n-----END RSA PRIVATE KEY-----\n`;
  const index = new KnownIndex([known(pem)]);
  for (const line of body.split('\n').filter((one) => one.length >= 16)) {
    assert.match(maskText(index, `- ${line} -`).text, /^- .{0,3}\[KEY\].{0,3} -$/);
  }
  const other = '-----BEGIN RSA PRIVATE KEY-----\n-----END RSA PRIVATE KEY-----\n';
  assert.equal(maskText(index, other).text, other);
  assert.doesNotMatch(maskText(index, pem).text, /[A-Za-z0-9+/]{20}/);
  assert.equal(maskText(index, pem.replaceAll('\n', '\\n')).text.includes('BEGIN'), false);
});

test('each field of a value that has several is hidden, words among them are not', () => {
  const dsn = 'postgresql://app_user:k9Zq3LmT7w@db.internal.example.com:5432/orders';
  const index = new KnownIndex([known(dsn)]);
  assert.equal(maskText(index, 'PGPASSWORD=k9Zq3LmT7w psql').text, 'PGPASSWORD=[KEY] psql');
  const words = 'connecting to db.internal.example.com:5432 as app_user, postgresql 16';
  assert.equal(maskText(index, words).text, words);
  assert.equal(maskText(index, dsn).text, '[KEY]');
});

test('letters beyond ASCII count as letters', () => {
  const value = 'пароль-сложный';
  assert.deepEqual(checkMaskable(value), { ok: true, isWeak: false });
  const index = new KnownIndex([known(value)]);
  for (const text of [value, value.toUpperCase(), Array.from(value).join(' ')]) {
    assert.equal(maskText(index, `a ${text} b`).text, 'a [KEY] b');
  }
  const json = Array.from(value, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
  assert.equal(maskText(index, json.join('')).text, '[KEY]');
  assert.equal(maskText(index, 'другой текст').text, 'другой текст');
});

test('values of 64 KiB are hidden in any form, from any of their parts', () => {
  const value = randomBytes(48 * 1024).toString('base64');
  const index = new KnownIndex([known(value)]);
  const start = 20_000;
  const part = Buffer.from(value.slice(start, start + 200));
  for (const form of [part.toString(), part.toString('hex'), part.toString('base64')]) {
    assert.match(maskText(index, `- ${form} -`).text, /^- .{0,4}\[KEY\].{0,4} -$/);
  }
  assert.equal(maskText(index, value).text, '[KEY]');
});

test('a value that is ordinary text is weak, and none is refused for it', () => {
  const weak = ['', 'a', '/', '12345', 'a-b-c-d-e', '!!!!!!!!!!', '☃☃☃☃☃☃☃', '000000'];
  const words = ['postgres', 'root', 'localhost', 'Production1', 'changeme', 'acme-web', 'TESTING'];
  for (const value of [...weak, ...words]) {
    assert.deepEqual(checkMaskable(value), { ok: true, isWeak: true }, value);
  }
  const strong = [
    token,
    'p4ssw0rdPostgres',
    'correct horse battery staple',
    'xkqzjvwpqd',
    'Ab3dEf',
  ];
  for (const value of strong) {
    assert.deepEqual(checkMaskable(value), { ok: true, isWeak: false }, value);
  }
  assert.equal(checkMaskable('x'.repeat(64 * 1024 + 1)).ok, false);
});

test('257 values are too many', () => {
  const values = Array.from({ length: 257 }, (_, at) => known(`value-${at}-${at * 7919}`));
  assert.throws(
    () => new KnownIndex(values),
    (error) => isTrlError(error, 'QUOTA_EXCEEDED'),
  );
  assert.equal(new KnownIndex(values.slice(1)).values.length, 256);
});

test('endless repetition of a secret keeps nothing in memory', () => {
  const masker = new KnownMasker(new KnownIndex([known(token)]));
  const line = Buffer.from(`${token}\n`.repeat(1_000));
  let text = 0;
  let hidden = 0;
  for (let turn = 0; turn < 100; turn += 1) {
    for (const piece of masker.push(line)) {
      if (piece.kind === 'text') text += piece.bytes.length;
      else hidden += piece.bytes;
    }
  }
  for (const piece of masker.end()) {
    if (piece.kind === 'text') text += piece.bytes.length;
    else hidden += piece.bytes;
  }
  assert.deepEqual({ text, hidden }, { text: 100_000, hidden: 100_000 * token.length });
});
