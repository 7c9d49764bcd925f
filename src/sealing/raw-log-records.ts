/**
 * What is sealed: pieces of output in the order in which they came, whole within a chunk.
 *
 *   0        1        5          13         21
 *   +--------+--------+----------+----------+----------
 *   | stream | length | offset   | at       | bytes
 *   +--------+--------+----------+----------+----------
 *     u8       u32 LE   u64 LE     u64 LE     length bytes
 *
 * `stream` is 1 for stdout, 2 for stderr; `offset` counts the bytes of that stream in the log
 * before this piece; `at` is Unix milliseconds of when it came through the redactor.
 */
import { chunkPlainBytesMax } from './chunk.ts';

export type RawLogStream = 'stdout' | 'stderr';

/** Output of one stream. */
export interface RawLogRecord {
  readonly stream: RawLogStream;
  /** Bytes of this stream before it; a known value counts as its tag. */
  readonly offset: number;
  /** Unix milliseconds. */
  readonly at: number;
  readonly bytes: Uint8Array;
}

export const recordHeaderBytes = 21;
const numberOf = { stdout: 1, stderr: 2 } as const;
/** Output of one stream within this time is one piece. */
const togetherMs = 20;

/** Pieces that wait to become a chunk. */
export class RawLogChunkBuffer {
  readonly #bytes = Buffer.alloc(chunkPlainBytesMax);
  readonly #offsets = { stdout: 0, stderr: 0 };
  #length = 0;
  /** The piece that may still grow. */
  #open: { readonly from: number; readonly stream: RawLogStream; readonly at: number } | null =
    null;

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  /** Bytes of output that were added. */
  get total(): number {
    return this.#offsets.stdout + this.#offsets.stderr;
  }

  /** Takes the beginning of `bytes`, and answers what did not fit. */
  add(stream: RawLogStream, bytes: Uint8Array, at: number): Uint8Array {
    const open = this.#open;
    const grows = open !== null && open.stream === stream && at - open.at < togetherMs;
    const room = this.#bytes.length - this.#length - (grows ? 0 : recordHeaderBytes);
    if (room <= 0) return bytes;
    const part = bytes.subarray(0, room);
    const from = grows ? open.from : this.#begin(stream, at);
    this.#bytes.set(part, this.#length);
    this.#length += part.length;
    this.#offsets[stream] += part.length;
    this.#bytes.writeUInt32LE(this.#length - from - recordHeaderBytes, from + 1);
    return bytes.subarray(part.length);
  }

  /** What waits, as it is sealed; a view, valid until the next {@link add}. */
  take(): Uint8Array {
    const bytes = this.#bytes.subarray(0, this.#length);
    this.#length = 0;
    this.#open = null;
    return bytes;
  }

  #begin(stream: RawLogStream, at: number): number {
    const from = this.#length;
    this.#bytes.writeUInt8(numberOf[stream], from);
    this.#bytes.writeBigUInt64LE(BigInt(this.#offsets[stream]), from + 5);
    this.#bytes.writeBigUInt64LE(BigInt(at), from + 13);
    this.#length += recordHeaderBytes;
    this.#open = { from, stream, at };
    return from;
  }
}

/** The pieces of a chunk; `null`: it is not made of whole ones. */
export function parseRawLogRecords(plain: Buffer): RawLogRecord[] | null {
  const pieces: RawLogRecord[] = [];
  for (let at = 0; at < plain.length;) {
    if (plain.length - at < recordHeaderBytes) return null;
    const number = plain.readUInt8(at);
    const length = plain.readUInt32LE(at + 1);
    const from = at + recordHeaderBytes;
    if ((number !== 1 && number !== 2) || length > plain.length - from) return null;
    pieces.push({
      stream: number === 1 ? 'stdout' : 'stderr',
      offset: Number(plain.readBigUInt64LE(at + 5)),
      at: Number(plain.readBigUInt64LE(at + 13)),
      bytes: plain.subarray(from, from + length),
    });
    at = from + length;
  }
  return pieces;
}
