import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import type { MaskedChunk } from '../src/redaction/secret-finding.ts';
import { KnownIndex } from '../src/redaction/known/known-index.ts';
import { KnownMasker } from '../src/redaction/known/known-masker.ts';
import { StreamDecompressor } from '../src/redaction/known/stream-decompressor.ts';

const token = 'Zq7TfKx2pLw9VbRd4Nc8';
const index = new KnownIndex([{ name: 'KEY', value: token, tag: '[KEY]' }]);

/** The output with tags, however the bytes come. */
function masked(bytes: Uint8Array, chunk = bytes.length): string {
  const masker = new KnownMasker(index);
  const pieces: MaskedChunk[] = [];
  for (let at = 0; at < bytes.length; at += chunk) {
    pieces.push(...masker.push(bytes.subarray(at, at + chunk)));
  }
  return [...pieces, ...masker.end()]
    .map((piece) =>
      piece.kind === 'text' ? Buffer.from(piece.bytes).toString('latin1') : piece.tag,
    )
    .join('');
}

const bomb = gzipSync('Z'.repeat(1024 * 1024), { level: 9 });

test('a stream unpacks to no more than it pays for', () => {
  const unpacker = new StreamDecompressor();
  let read = 0;
  let seen = 0;
  let refused = 0;
  for (let turn = 0; turn < 200; turn += 1) {
    read += bomb.length;
    const unpacked = unpacker.decompress(bomb, read);
    if (unpacked === 'too much') refused += 1;
    else seen += unpacked?.length ?? 0;
  }
  assert.ok(seen <= 8 * read + 1024 * 1024, `${seen} of ${read}`);
  assert.ok(refused > 150, `${refused}`);
});

test('what is not looked into is hidden as a whole, however it comes', () => {
  const line = `${bomb.toString('base64')}=\n`;
  const holds = `${gzipSync(token).toString('base64')}\n`;
  const bytes = Buffer.from(line.repeat(40) + holds);
  const text = masked(bytes);
  assert.equal(masked(bytes, 1_000), text);
  assert.equal(
    text.split('\n').filter((one) => one.startsWith('[HIDDEN:000000]')).length >= 35,
    true,
  );
  assert.ok(text.endsWith('[KEY]\n'));
});

test('ordinary packed text passes, any number of it', () => {
  const log = Array.from({ length: 40 }, (_, at) => `line ${at} of an ordinary log, ${at * at}`);
  const line = `${gzipSync(log.join('\n')).toString('base64')}\n`;
  const bytes = Buffer.from(line.repeat(400));
  assert.equal(masked(bytes), bytes.toString('latin1'));
});

test('raw gzip and zstd are hidden where they hold a value, and what is around is not', () => {
  for (const packed of [gzipSync(`export KEY=${token}\n`), zstdCompressSync(token)]) {
    const isGzip = packed[0] === 0x1f;
    const bytes = Buffer.concat([
      Buffer.from('before '),
      packed,
      Buffer.from(isGzip ? ' behind' : ''),
    ]);
    const wanted = isGzip ? 'before [KEY] behind' : 'before [KEY]';
    for (const chunk of [1, 7, bytes.length]) assert.equal(masked(bytes, chunk), wanted);
  }
  const two = Buffer.concat([gzipSync('nothing'), gzipSync(token), gzipSync('nothing')]);
  const plain = gzipSync('nothing').toString('latin1');
  for (const chunk of [1, two.length]) assert.equal(masked(two, chunk), `${plain}[KEY]${plain}`);
});

test('archives without a value stay as they are', () => {
  const archives = [
    gzipSync(randomBytes(200_000)),
    gzipSync('Z'.repeat(5_000_000)),
    Buffer.concat([Buffer.from('\x1f\x8b\x08', 'latin1'), randomBytes(150_000)]),
    zstdCompressSync(randomBytes(100_000)),
  ];
  for (const bytes of archives) assert.equal(masked(bytes, 10_000), bytes.toString('latin1'));
});
