/**
 * Output bytes as chunks for a text protocol. A chunk is `data` where its bytes are whole UTF-8
 * characters, `b64` otherwise. A character that the end of a chunk cuts is buffered and joined with
 * the bytes that follow it in the journal, so that text stays text. Chunks come out in journal
 * order and without holes: a client that received one resumes at its `seq` plus its bytes.
 */
import { isUtf8 } from 'node:buffer';

type StreamName = 'stdout' | 'stderr';
type Chunk = { readonly seq: number; readonly stream: StreamName } & (
  | { readonly data: string }
  | { readonly b64: string }
);

/** The encoding of bytes: `b64` is cheaper than text on both sides. */
export type ChunkEncoding = 'text' | 'b64';

/** Bytes in one chunk, so that one event line stays far below a megabyte. */
export const chunkBytesMax = 131_072;

interface Held {
  readonly stream: StreamName;
  readonly seq: number;
  readonly bytes: Uint8Array;
}

export class ChunkWriter {
  readonly #form: ChunkEncoding;
  #held: Held | null = null;

  constructor(form: ChunkEncoding) {
    this.#form = form;
  }

  /** Chunks for `bytes` of `stream`, the first of which has journal offset `seq`. */
  *push(stream: StreamName, seq: number, bytes: Uint8Array): Generator<Chunk> {
    for (let at = 0; at < bytes.length; at += chunkBytesMax) {
      const part = bytes.subarray(at, at + chunkBytesMax);
      if (this.#form === 'b64') yield inBase64(stream, seq + at, part);
      else yield* this.#text(stream, seq + at, part);
    }
  }

  /** The buffered bytes. Call it before anything that is not more output of the same stream. */
  *flush(): Generator<Chunk> {
    const held = this.#held;
    this.#held = null;
    if (held !== null) yield inBase64(held.stream, held.seq, held.bytes);
  }

  *#text(stream: StreamName, offset: number, part: Uint8Array): Generator<Chunk> {
    let seq = offset;
    let bytes = part;
    const held = this.#held;
    if (held !== null && held.stream === stream && held.seq + held.bytes.length === offset) {
      this.#held = null;
      seq = held.seq;
      bytes = Buffer.concat([held.bytes, part]);
    } else {
      // Interleaved output of the other stream must not overtake these bytes.
      yield* this.flush();
    }
    const end = bytes.length - cutAtEnd(bytes);
    const start = cutAtStart(bytes);
    if (start <= end && isUtf8(bytes.subarray(start, end))) {
      if (start > 0) yield inBase64(stream, seq, bytes.subarray(0, start));
      if (end > start) yield inText(stream, seq + start, bytes.subarray(start, end));
      if (end < bytes.length) {
        this.#held = { stream, seq: seq + end, bytes: Uint8Array.from(bytes.subarray(end)) };
      }
    } else {
      yield inBase64(stream, seq, bytes);
    }
  }
}

function inBase64(stream: StreamName, seq: number, bytes: Uint8Array): Chunk {
  return { seq, stream, b64: asBuffer(bytes).toString('base64') };
}

function inText(stream: StreamName, seq: number, bytes: Uint8Array): Chunk {
  return { seq, stream, data: asBuffer(bytes).toString('utf8') };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** Number (0–3) of bytes at the end of `bytes` of a character that is not complete yet. */
function cutAtEnd(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return back < lengthOf(byte) ? back : 0;
  }
  return 0;
}

/** Number (0–3) of bytes at the start of `bytes` of a character that was begun as `b64`. */
function cutAtStart(bytes: Uint8Array): number {
  let count = 0;
  while (count < 3 && count < bytes.length && ((bytes[count] ?? 0) & 0xc0) === 0x80) count += 1;
  return count;
}

function lengthOf(leadByte: number): number {
  if (leadByte >= 0xf0) return 4;
  return leadByte >= 0xe0 ? 3 : 2;
}
