/** Formats of compression: their marks, the gzip header, and unpacking within a bound. */
import zlib from 'node:zlib';
import { latin1 } from './text.ts';
import { fieldOf } from '../json-shape.ts';

/** What zlib reads as one stream. A gzip member is `deflate` between its header and trailer. */
export type CompressedStream = 'deflate' | 'zlib' | 'brotli' | 'zstd';

export type UnpackResult =
  | {
      readonly bytes: Uint8Array;
      /** Bytes of the input that were used. */
      readonly used: number;
    }
  | { readonly failed: 'damaged' | 'too large' };

/**
 * Unpacks one stream to at most `bytesMax` bytes.
 *
 * @param onCutOff what an input that ends too early gives: the part that it has, or `damaged`
 */
export function unpackStream(
  kind: CompressedStream,
  packed: Uint8Array,
  bytesMax: number,
  onCutOff: 'unpack' | 'fail',
): UnpackResult {
  const options = { maxOutputLength: bytesMax, info: true };
  const isPartial = onCutOff === 'unpack';
  const inflating = isPartial ? { ...options, finishFlush: zlib.constants.Z_SYNC_FLUSH } : options;
  try {
    switch (kind) {
      case 'deflate':
        return resultOf(zlib.inflateRawSync(packed, inflating));
      case 'zlib':
        return resultOf(zlib.inflateSync(packed, inflating));
      case 'brotli':
        return resultOf(zlib.brotliDecompressSync(packed, options));
      case 'zstd': {
        const finishFlush = zlib.constants.ZSTD_e_flush;
        return resultOf(
          zlib.zstdDecompressSync(packed, isPartial ? { ...options, finishFlush } : options),
        );
      }
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    return { failed: code === 'ERR_BUFFER_TOO_LARGE' ? 'too large' : 'damaged' };
  }
}

/** With `info`, zlib answers `{buffer, engine}`, which its types do not say. */
function resultOf(answer: object): UnpackResult {
  const bytes = fieldOf(answer, 'buffer');
  const used = fieldOf(fieldOf(answer, 'engine'), 'bytesWritten');
  if (!(bytes instanceof Uint8Array) || typeof used !== 'number') return { failed: 'damaged' };
  return { bytes, used };
}

export const gzipTrailerBytes = 8;

export const isGzip = ([a, b, c]: Uint8Array): boolean => a === 0x1f && b === 0x8b && c === 8;
export const isZstd = ([a, b, c, d]: Uint8Array): boolean =>
  a === 0x28 && b === 0xb5 && c === 0x2f && d === 0xfd;

export interface GzipHeader {
  readonly length: number;
  /** Extra field, file name and comment, where the header has them. */
  readonly texts: readonly string[];
}

/** RFC 1952: ten bytes, then what the flags announce. */
export function readGzipHeader(bytes: Uint8Array): GzipHeader {
  const flags = bytes[3] ?? 0;
  let at = 10;
  const texts: string[] = [];
  if ((flags & 4) !== 0) {
    const extra = (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);
    texts.push(latin1(bytes.subarray(at + 2, at + 2 + extra)));
    at += 2 + extra;
  }
  for (const flag of [8, 16]) {
    if ((flags & flag) === 0) continue;
    const end = bytes.indexOf(0, at);
    if (end === -1) return { length: bytes.length, texts };
    texts.push(latin1(bytes.subarray(at, end)));
    at = end + 1;
  }
  return { length: at + ((flags & 2) === 0 ? 0 : 2), texts };
}
