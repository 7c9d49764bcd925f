// npm run prove: a secret printed for 1 GB leaks nothing and memory stays flat, and any split of
// random streams gives the same output, for longer than the tests have time for.
import assert from 'node:assert/strict';
import { createHash, randomBytes, randomInt } from 'node:crypto';
import type { MaskedChunk } from '../../src/redaction/secret-finding.ts';
import { KnownIndex } from '../../src/redaction/known/known-index.ts';
import { KnownMasker } from '../../src/redaction/known/known-masker.ts';
import { applied, transforms } from '../support/transforms.ts';

const full = process.env['TRL_PROVE'] === 'full';
const MB = 1e6;
const secret = 'ghp_9fKq2LxWv7RbT0cYzN4mJhU6sDaE1PgVtXoQ';
const index = new KnownIndex([{ name: 'KEY', value: secret, tag: '[HIDDEN:0a1b2c]' }]);

endless(`${secret}\n`, 1);
endless(secret, 0);
splits(full ? 20_000 : 3_000);

/** `left`: bytes of each line that are to stay. */
function endless(line: string, left: number): void {
  const bytes = 1_000 * MB;
  const masker = new KnownMasker(index);
  const lines = Math.floor((64 * 1024) / line.length);
  // Chunks that end anywhere in a line.
  const chunk = Buffer.from(line.repeat(lines + 1)).subarray(0, lines * line.length + 7);
  let given = 0;
  let shown = 0;
  let phase = 0;
  const take = (pieces: readonly MaskedChunk[]): void => {
    for (const piece of pieces) {
      given += piece.kind === 'text' ? piece.bytes.length : piece.bytes;
      if (piece.kind === 'text') shown += piece.bytes.length;
    }
  };
  let sent = 0;
  let most = 0;
  while (sent < bytes) {
    const part = Buffer.from(line.repeat(lines + 2)).subarray(phase, phase + chunk.length);
    take(masker.push(part));
    sent += part.length;
    phase = (phase + part.length) % line.length;
    most = Math.max(most, process.memoryUsage().rss);
  }
  take(masker.end());
  assert.equal(given, sent);
  const wanted = left === 0 ? 0 : Math.floor(sent / line.length);
  assert.ok(Math.abs(shown - wanted) <= line.length, `${shown} bytes are left`);
  assert.ok(most < 600 * MB, `${most} bytes of memory`);
  process.stdout.write(
    `${sent} bytes, ${shown} of them left, ${Math.round(most / MB)} MB at most\n`,
  );
}

function splits(count: number): void {
  const secrets = ['Tr0ub4dor&3!', secret, randomBytes(16).toString('hex'), 'пароль-сложный-2024'];
  const known = new KnownIndex(
    secrets.map((value, at) => ({ name: `K${at}`, value, tag: `[${at}]` })),
  );
  for (let turn = 0; turn < count; turn += 1) {
    const parts = Array.from({ length: randomInt(1, 6) }, () => {
      const transform = transforms[randomInt(transforms.length)];
      const value = secrets[randomInt(secrets.length)];
      if (transform === undefined || value === undefined || randomInt(3) === 0) {
        return randomInt(2) === 0 ? randomBytes(randomInt(40)) : Buffer.from('a line of text\n');
      }
      return applied(transform, value).bytes;
    });
    const bytes = Buffer.concat(parts);
    const whole = digest(known, bytes, () => bytes.length);
    assert.equal(
      digest(known, bytes, () => 1),
      whole,
      bytes.toString('base64'),
    );
    assert.equal(
      digest(known, bytes, () => randomInt(1, 60)),
      whole,
      bytes.toString('base64'),
    );
  }
  process.stdout.write(`${count} streams, each cut in three ways\n`);
}

function digest(known: KnownIndex, bytes: Buffer, size: () => number): string {
  const masker = new KnownMasker(known);
  const pieces: MaskedChunk[] = [];
  for (let at = 0; at < bytes.length;) {
    const next = at + Math.max(1, size());
    pieces.push(...masker.push(bytes.subarray(at, next)));
    at = next;
  }
  pieces.push(...masker.end());
  const hash = createHash('sha256');
  let tag = '';
  for (const piece of pieces) {
    const here = piece.kind === 'text' ? '' : piece.tag;
    if (piece.kind === 'text') hash.update(piece.bytes);
    else if (here !== tag) hash.update(`\0${piece.tag}\0`);
    tag = piece.kind === 'text' && piece.bytes.length === 0 ? tag : here;
  }
  return hash.digest('hex');
}
