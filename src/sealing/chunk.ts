/**
 * `EXEC.log`: chunks, one after the other (STREAM of Hoang, Reyhanitabar, Rogaway and Vizár).
 *
 *   0        4                       4+n          4+n+16
 *   +--------+-----------------------+------------+---- next chunk
 *   | n      | ciphertext            | tag        |
 *   +--------+-----------------------+------------+----
 *     u32 LE   n bytes, 1 to 66,560    16 bytes
 *
 * Each is AES-256-GCM with the data key, the nonce `prefix (7) ‖ number from 0 (u32 BE) ‖ last (1:
 * nothing follows, else 0)` and the header's SHA-256 as associated data. So a chunk cannot be
 * moved, also not to another log, and a log without a last chunk was cut. The plaintext of a chunk
 * is one zstd frame of at most 64 KiB of records; those of all chunks are one zstd stream.
 *
 * A record is output of one stream. Records are in the order of the output, whole within a chunk:
 *
 *   0        1        5          13         21
 *   +--------+--------+----------+----------+----------
 *   | stream | length | offset   | at       | bytes
 *   +--------+--------+----------+----------+----------
 *     u8       u32 LE   u64 LE     u64 LE     length bytes
 *
 * `stream` is 1 for stdout, 2 for stderr; `offset` counts the bytes of that stream in the log
 * before this record; `at` is Unix milliseconds of when it came out of the redactor.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { ChunkKeys } from './header.ts';
import { SealingError } from './keys.ts';

/** @param base path of both files of a log without their extensions: `DIRECTORY/EXEC` */
export const rawLogPath = (base: string): string => `${base}.log`;

const chunkPlainBytesMax = 64 * 1024;
export const chunkLengthBytes = 4;
export const chunkTagBytes = 16;
/** Incompressible output grows by a few bytes. */
export const chunkCipherBytesMax = chunkPlainBytesMax + 1024;
/** Above, a number would repeat. */
const chunksMax = 2 ** 32;
/** The fastest: time matters more than size. */
const level = 1;

export interface ChunkPosition {
  readonly number: number;
  readonly last: boolean;
}

/** The bytes of one chunk as they are in the file. */
export function sealChunk(plain: Uint8Array, position: ChunkPosition, keys: ChunkKeys): Buffer {
  if (position.number >= chunksMax) throw new RangeError('too many chunks for one key');
  const packed = zstdCompressSync(plain, {
    params: { [constants.ZSTD_c_compressionLevel]: level },
  });
  const cipher = createCipheriv('aes-256-gcm', keys.dataKey, nonceOf(position, keys));
  cipher.setAAD(keys.digest);
  const length = Buffer.alloc(chunkLengthBytes);
  length.writeUInt32LE(packed.length);
  const sealed = cipher.update(packed);
  return Buffer.concat([length, sealed, cipher.final(), cipher.getAuthTag()]);
}

/**
 * @param sealed ciphertext and tag, without the length
 * @returns `null`: these are not the bytes that were written for this position
 * @throws SealingError `malformed` if its writer did not follow this format
 */
export function openChunk(
  sealed: Uint8Array,
  position: ChunkPosition,
  keys: ChunkKeys,
): Buffer | null {
  const decipher = createDecipheriv('aes-256-gcm', keys.dataKey, nonceOf(position, keys));
  decipher.setAAD(keys.digest).setAuthTag(sealed.subarray(-chunkTagBytes));
  const packed = decipher.update(sealed.subarray(0, -chunkTagBytes));
  try {
    decipher.final();
  } catch {
    return null;
  }
  try {
    return zstdDecompressSync(packed, { maxOutputLength: chunkPlainBytesMax });
  } catch {
    throw new SealingError('malformed', `Chunk ${position.number} was not written by a redactor`);
  }
}

function nonceOf({ number, last }: ChunkPosition, { noncePrefix }: ChunkKeys): Buffer {
  const rest = Buffer.alloc(5);
  rest.writeUInt32BE(number);
  rest.writeUInt8(last ? 1 : 0, 4);
  return Buffer.concat([noncePrefix, rest]);
}

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

const recordHeaderBytes = 21;
const numberOf = { stdout: 1, stderr: 2 } as const;
/** Output of one stream within this time is one record. */
const togetherMs = 20;

/** Records that will become a chunk. */
export class RawLogChunkBuffer {
  readonly #bytes = Buffer.alloc(chunkPlainBytesMax);
  readonly #offsets = { stdout: 0, stderr: 0 };
  #length = 0;
  /** The record that may still grow. */
  #open: { readonly from: number; readonly stream: RawLogStream; readonly at: number } | null =
    null;

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  /** Bytes of output that were added. */
  get total(): number {
    return this.#offsets.stdout + this.#offsets.stderr;
  }

  /** Adds the first bytes; returns those that did not fit. */
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

  /** Removes all records; returns a view, valid until the next {@link add}. */
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

/** The records of a chunk; `null`: it is not made of whole ones. */
export function parseRawLogRecords(plain: Buffer): RawLogRecord[] | null {
  const records: RawLogRecord[] = [];
  for (let at = 0; at < plain.length;) {
    if (plain.length - at < recordHeaderBytes) return null;
    const number = plain.readUInt8(at);
    const length = plain.readUInt32LE(at + 1);
    const from = at + recordHeaderBytes;
    if ((number !== 1 && number !== 2) || length > plain.length - from) return null;
    records.push({
      stream: number === 1 ? 'stdout' : 'stderr',
      offset: Number(plain.readBigUInt64LE(at + 5)),
      at: Number(plain.readBigUInt64LE(at + 13)),
      bytes: plain.subarray(from, from + length),
    });
    at = from + length;
  }
  return records;
}
