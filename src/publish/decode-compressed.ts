/** Compressed data, within bounds. */
import zlib from 'node:zlib';
import { fieldOf } from '../json-shape.ts';
import { latin1 } from './decode-format.ts';

const MiB = 2 ** 20;
/** What one stream may give: it is inflated in one go, in about 0.1 s. */
const streamBytesMax = 64 * MiB;
/** Text compresses to a tenth, logs to a fiftieth; what is a bomb to a thousandth. */
const ratioMax = 256;
const smallBytes = 8 * MiB;

/** Each costs some microseconds, however little is in it. */
const streamsAtOnce = 512;

export type CompressionFormat = 'gzip' | 'zlib' | 'zstd' | 'deflate' | 'brotli';

const tooLarge = 'larger than may be opened';

/** Bytes that may still be unpacked. */
export interface DecompressionBudget {
  bytes: number;
}

export type DecompressionResult =
  | {
      readonly bytes: Uint8Array;
      /** Bytes of the input that were used. */
      readonly used: number;
      /** Names and comments that stand in headers. */
      readonly said: readonly string[];
    }
  | { readonly failed: 'damaged' | typeof tooLarge };

/**
 * What is inside, of all streams that follow one another. A stream that was cut off gives what
 * there is of it.
 *
 * @param room what it may have at most; of what is larger, this is taken from it for nothing
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

/** As `unpack`, with a `null` after some hundred streams. */
export function* decompressInSteps(
  kind: CompressionFormat,
  bytes: Uint8Array,
  room: DecompressionBudget,
): Generator<null, DecompressionResult> {
  const most = Math.min(room.bytes, streamBytesMax, Math.max(smallBytes, ratioMax * bytes.length));
  const pieces: Uint8Array[] = [];
  const said: string[] = [];
  let used = 0;
  let size = 0;
  for (;;) {
    const rest = bytes.subarray(used);
    if (used > 0 && !(kind === 'gzip' && isGzip(rest)) && !(kind === 'zstd' && isZstd(rest))) break;
    const header = kind === 'gzip' ? gzipHeader(rest) : { length: 0, said: [] };
    const one = stream(kind, rest.subarray(header.length), most - size);
    // What follows a good stream and is none is not its fault.
    if ('failed' in one && used > 0 && one.failed === 'damaged') break;
    if ('failed' in one) {
      // Else what is too large once could be unpacked in vain any number of times.
      if (one.failed === tooLarge) room.bytes -= Math.max(0, most);
      return one;
    }
    pieces.push(one.bytes);
    if (pieces.length % streamsAtOnce === 0) yield null;
    said.push(...header.said);
    size += one.bytes.length;
    used += Math.max(1, header.length + one.used + (kind === 'gzip' ? gzipTrailerBytes : 0));
    if (used >= bytes.length) break;
  }
  const [only] = pieces;
  const whole = pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces);
  return { bytes: whole, used: Math.min(used, bytes.length), said };
}

function stream(
  kind: CompressionFormat,
  bytes: Uint8Array,
  most: number,
): Exclude<DecompressionResult, { said: unknown }> | { bytes: Uint8Array; used: number } {
  if (most <= 0) return { failed: tooLarge };
  const options = { maxOutputLength: most, info: true };
  const cut = { ...options, finishFlush: zlib.constants.Z_SYNC_FLUSH };
  try {
    switch (kind) {
      case 'gzip':
        return resultOf(zlib.inflateRawSync(bytes, cut));
      case 'zlib':
        return resultOf(zlib.inflateSync(bytes, cut));
      case 'deflate':
        return resultOf(zlib.inflateRawSync(bytes, options));
      case 'brotli':
        return resultOf(zlib.brotliDecompressSync(bytes, options));
      case 'zstd':
        return resultOf(
          zlib.zstdDecompressSync(bytes, { ...options, finishFlush: zlib.constants.ZSTD_e_flush }),
        );
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    const isLarge = code === 'ERR_BUFFER_TOO_LARGE';
    return { failed: isLarge ? tooLarge : 'damaged' };
  }
}

/** With `info`, zlib answers `{buffer, engine}`, which its types do not say. */
function resultOf(
  answer: object,
): { readonly failed: 'damaged' } | { readonly bytes: Uint8Array; readonly used: number } {
  const bytes = fieldOf(answer, 'buffer');
  const engine = fieldOf(answer, 'engine');
  const used = fieldOf(engine, 'bytesWritten');
  if (!(bytes instanceof Uint8Array) || typeof used !== 'number') return { failed: 'damaged' };
  return { bytes, used };
}

const gzipTrailerBytes = 8;

const isGzip = ([a, b, c]: Uint8Array): boolean => a === 0x1f && b === 0x8b && c === 8;
const isZstd = ([a, b, c, d]: Uint8Array): boolean =>
  a === 0x28 && b === 0xb5 && c === 0x2f && d === 0xfd;

/** RFC 1952: ten bytes, then what the flags say. */
function gzipHeader(bytes: Uint8Array): { length: number; said: string[] } {
  const flags = bytes[3] ?? 0;
  let at = 10;
  const said: string[] = [];
  if ((flags & 4) !== 0) {
    const extra = (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);
    said.push(latin1(bytes.subarray(at + 2, at + 2 + extra)));
    at += 2 + extra;
  }
  for (const flag of [8, 16]) {
    if ((flags & flag) === 0) continue;
    const end = bytes.indexOf(0, at);
    if (end === -1) return { length: bytes.length, said };
    said.push(latin1(bytes.subarray(at, end)));
    at = end + 1;
  }
  return { length: at + ((flags & 2) === 0 ? 0 : 2), said };
}
