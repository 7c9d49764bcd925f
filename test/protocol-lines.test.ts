import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { LineReader } from '../src/protocol/lines.ts';
import { heldBytes } from './support/cost.ts';

const bound = 64;

/** Everything a reader says about `chunks`: lines as text, `null` for one that was too long. */
function read(chunks: readonly Uint8Array[], lineBytesMax = bound): (string | null)[] {
  const reader = new LineReader(lineBytesMax);
  const lines: (string | null)[] = [];
  for (const chunk of chunks) {
    reader.feed(chunk);
    for (let line = reader.take(); line !== null; line = reader.take()) {
      lines.push(line.kind === 'line' ? Buffer.from(line.bytes).toString('latin1') : null);
    }
  }
  return lines;
}

function cut(bytes: Uint8Array, sizes: readonly number[]): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  let at = 0;
  for (let turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

test('lines come out the same however the bytes are cut', () => {
  const line = fc.string({ unit: fc.constantFrom('a', 'b', '\r', '\0'), maxLength: bound * 2 });
  const sizes = fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 10 });
  fc.assert(
    fc.property(fc.array(line), sizes, (lines, chunkSizes) => {
      const bytes = Buffer.from(lines.map((each) => `${each}\n`).join(''), 'latin1');
      const expected = lines.map((each) => (each.length > bound ? null : each));
      assert.deepEqual(read(cut(bytes, chunkSizes)), expected);
      assert.deepEqual(read(cut(bytes, [1])), expected);
    }),
  );
});

test('a line of 100 MB is reported at the bound, once, and the next line is read', () => {
  const reader = new LineReader(2 ** 20);
  const chunk = Buffer.alloc(2 ** 16, 'x');
  const reported: number[] = [];
  const before = heldBytes();
  let most = 0;
  for (let sent = 0; sent < 100 * 2 ** 20; sent += chunk.length) {
    reader.feed(chunk);
    for (let line = reader.take(); line !== null; line = reader.take()) {
      assert.deepEqual(line, { kind: 'long' });
      reported.push(sent);
    }
    if (sent % (8 * 2 ** 20) === 0) most = Math.max(most, heldBytes() - before);
  }
  assert.deepEqual(reported, [2 ** 20]);
  assert.ok(most < 16 * 2 ** 20, `${most} bytes held`);
  reader.feed(Buffer.from('end of it\nnext\n'));
  assert.deepEqual(reader.take(), { kind: 'line', bytes: Buffer.from('next') });
  assert.equal(reader.take(), null);
});

test('single bytes up to the bound cost little more than the line', () => {
  const reader = new LineReader(2 ** 20);
  const before = heldBytes();
  for (let sent = 0; sent < 2 ** 20; sent += 1) {
    reader.feed(Buffer.alloc(1, 'x'));
    assert.equal(reader.take(), null);
  }
  assert.ok(heldBytes() - before < 32 * 2 ** 20);
  reader.feed(Buffer.from('\n'));
  const line = reader.take();
  assert.equal(line?.kind === 'line' && line.bytes.length, 2 ** 20);
});

test('what follows a line can be taken unread, and what has no end at the end', () => {
  const reader = new LineReader(bound);
  reader.feed(Buffer.from('first\nsecond\nthi'));
  assert.deepEqual(reader.take(), { kind: 'line', bytes: Buffer.from('first') });
  assert.deepEqual(Buffer.from(reader.takeUnread()).toString(), 'second\nthi');
  assert.equal(reader.take(), null);
  reader.feed(Buffer.from('cut'));
  assert.equal(reader.take(), null);
  assert.equal(Buffer.from(reader.takeRest()).toString(), 'cut');
  assert.equal(reader.takeRest().length, 0);
});
