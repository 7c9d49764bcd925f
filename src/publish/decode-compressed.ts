/** Unpacks compressed data within bounds. */
import {
  gzipTrailerBytes,
  isGzip,
  isZstd,
  readGzipHeader,
  unpackStream,
  type UnpackResult,
} from '../encodings/compression.ts';
import { fieldOf } from '../json-shape.ts';

const MiB = 2 ** 20;
/** The most that one stream gives: it is unpacked in one call, in about 0.1 s. */
const streamBytesMax = 64 * MiB;
/** Text compresses to a tenth, logs to a fiftieth; a bomb to a thousandth. */
const ratioMax = 256;
const smallBytes = 8 * MiB;

/** Streams between two pauses: each costs some microseconds, however little it contains. */
const streamsAtOnce = 512;

export type CompressionFormat = 'gzip' | 'zlib' | 'zstd' | 'deflate' | 'brotli';

const tooLarge = 'larger than may be opened';

/** Bytes that can still be unpacked. */
export interface DecompressionBudget {
  bytes: number;
}

export type DecompressionResult =
  | {
      readonly bytes: Uint8Array;
      readonly used: number;
      /** Names and comments from the headers. */
      readonly headerTexts: readonly string[];
    }
  | { readonly failed: 'damaged' | typeof tooLarge };

/**
 * Unpacks all streams that follow one another. A stream that is cut off gives the part that it has.
 *
 * @param room the most that it may give; a larger stream uses up that much and gives nothing
 */
export function decompress(
  kind: CompressionFormat,
  bytes: Uint8Array,
  room: DecompressionBudget,
): DecompressionResult {
  const steps = decompressInSteps(kind, bytes, room);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** As {@link decompress}, with a `null` after some hundred streams. */
export function* decompressInSteps(
  kind: CompressionFormat,
  bytes: Uint8Array,
  room: DecompressionBudget,
): Generator<null, DecompressionResult> {
  const most = Math.min(room.bytes, streamBytesMax, Math.max(smallBytes, ratioMax * bytes.length));
  const chunks: Uint8Array[] = [];
  const headerTexts: string[] = [];
  let used = 0;
  let size = 0;
  for (;;) {
    const rest = bytes.subarray(used);
    if (used > 0 && !(kind === 'gzip' && isGzip(rest)) && !(kind === 'zstd' && isZstd(rest))) break;
    const header = kind === 'gzip' ? readGzipHeader(rest) : { length: 0, texts: [] };
    const one = unpackOne(kind, rest.subarray(header.length), most - size);
    // Other data can follow a good stream.
    if ('failed' in one && used > 0 && one.failed === 'damaged') break;
    if ('failed' in one) {
      if (one.failed === 'damaged') return { failed: 'damaged' };
      // Otherwise the same large stream could be unpacked in vain any number of times.
      room.bytes -= Math.max(0, most);
      return { failed: tooLarge };
    }
    chunks.push(one.bytes);
    if (chunks.length % streamsAtOnce === 0) yield null;
    headerTexts.push(...header.texts);
    size += one.bytes.length;
    used += Math.max(1, header.length + one.used + (kind === 'gzip' ? gzipTrailerBytes : 0));
    if (used >= bytes.length) break;
  }
  const [only] = chunks;
  const whole = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks);
  return { bytes: whole, used: Math.min(used, bytes.length), headerTexts };
}

function unpackOne(kind: CompressionFormat, bytes: Uint8Array, bytesMax: number): UnpackResult {
  if (bytesMax <= 0) return { failed: 'too large' };
  const stream = kind === 'gzip' ? 'deflate' : kind;
  // These have no mark, so only a complete stream shows that the bytes are one.
  return unpackStream(stream, bytes, bytesMax, kind === 'deflate' ? 'fail' : 'unpack');
}
