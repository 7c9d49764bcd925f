import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { ChunkWriter, chunkBytesMax } from '../src/protocol/chunks.ts';
import type { StreamChunk } from '../src/api/receipt.ts';

interface Piece {
  readonly stream: 'stdout' | 'stderr';
  readonly bytes: Uint8Array;
}

/** Chunks of a journal that arrives in these pieces. */
function write(pieces: readonly Piece[], form: 'text' | 'b64' = 'text'): StreamChunk[] {
  const writer = new ChunkWriter(form);
  const chunks: StreamChunk[] = [];
  let offset = 0;
  for (const { stream, bytes } of pieces) {
    chunks.push(...writer.push(stream, offset, bytes));
    offset += bytes.length;
  }
  return [...chunks, ...writer.flush()];
}

function bytesOf(chunk: StreamChunk): Buffer {
  return 'data' in chunk ? Buffer.from(chunk.data, 'utf8') : Buffer.from(chunk.b64, 'base64');
}

function cut(bytes: Uint8Array, sizes: readonly number[]): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (let turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    pieces.push({ stream: 'stdout', bytes: bytes.subarray(at, at + size) });
    at += size;
  }
  return pieces;
}

const stream = fc.constantFrom('stdout' as const, 'stderr' as const);
/** Bytes that often are, and often nearly are, UTF-8. */
const bytes = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 4 }).map((text) => Buffer.from(text.toWellFormed())),
      fc.uint8Array({ maxLength: 3 }),
    ),
    { maxLength: 6 },
  )
  .map((parts) => Buffer.concat(parts));

test('every byte comes out once, in journal order, of its own stream', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ stream, bytes })),
      fc.constantFrom('text' as const, 'b64' as const),
      (pieces, form) => {
        const chunks = write(pieces, form);
        let next = 0;
        for (const chunk of chunks) {
          assert.equal(chunk.seq, next, 'a reader resumes at the end of any chunk');
          next += bytesOf(chunk).length;
        }
        for (const name of ['stdout', 'stderr']) {
          const sent = pieces.filter((piece) => piece.stream === name).map((piece) => piece.bytes);
          const got = chunks.filter((chunk) => chunk.stream === name).map(bytesOf);
          assert.deepEqual(Buffer.concat(got), Buffer.concat(sent));
        }
      },
    ),
    { numRuns: 1_000 },
  );
});

test('text stays text however its bytes are cut', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 });
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), sizes, (text, chunkSizes) => {
      const whole = text.toWellFormed();
      const chunks = write(cut(Buffer.from(whole), chunkSizes));
      assert.equal(chunks.map((chunk) => ('data' in chunk ? chunk.data : '?')).join(''), whole);
    }),
  );
});

test('a chunk is base64 only where its bytes are no text', () => {
  const euro = Buffer.from('€');
  const pieces: Piece[] = [
    { stream: 'stdout', bytes: Buffer.from('ok') },
    { stream: 'stdout', bytes: Uint8Array.of(0xff, 0x41) },
    { stream: 'stdout', bytes: euro.subarray(0, 2) },
    { stream: 'stderr', bytes: Buffer.from('!') },
    { stream: 'stdout', bytes: Buffer.concat([euro.subarray(2), Buffer.from('tail')]) },
  ];
  assert.deepEqual(write(pieces), [
    { seq: 0, stream: 'stdout', data: 'ok' },
    { seq: 2, stream: 'stdout', b64: '/0E=' },
    { seq: 4, stream: 'stdout', b64: '4oI=' },
    { seq: 6, stream: 'stderr', data: '!' },
    { seq: 7, stream: 'stdout', b64: 'rA==' },
    { seq: 8, stream: 'stdout', data: 'tail' },
  ]);
});

test('one large write becomes chunks of a bounded size', () => {
  const chunks = write([{ stream: 'stdout', bytes: Buffer.alloc(chunkBytesMax * 2 + 2, 'é') }]);
  assert.ok(chunks.every((chunk) => 'data' in chunk && bytesOf(chunk).length <= chunkBytesMax + 3));
  assert.equal(chunks.length, 3);
});
