/** Unpacks gzip, zlib and zstd, also incomplete, within the budget of a stream. */
import { gzipTrailerBytes, readGzipHeader, unpackStream } from '../../encodings/compression.ts';

/** The most bytes that one run gives. */
const unpackedBytesMax = 1024 * 1024;
/** The bytes that each run may give even without a budget. */
const unpackedBytesMin = 1_024;
/** The budget of a stream: a fixed part, and a part for each of its bytes. */
const freeBytes = 1024 * 1024;
const bytesPerByte = 8;

/**
 * Unpacks for one stream at most 8 bytes for each byte read, and 1 MiB. A bomb would otherwise
 * delay everyone whose output waits behind it.
 */
export class StreamDecompressor {
  #unpacked = 0;

  /**
   * The unpacked bytes, at most the first 1 MiB; `null`: the input is not compressed; `'too much'`:
   * it is, but the budget is too small.
   *
   * @param read bytes of the stream so far
   */
  decompress(packed: Buffer, read: number): Uint8Array | 'too much' | null {
    const start = startOf(packed);
    if (start === null) return null;
    const from = start === 'zstd' ? 0 : start;
    for (let end = packed.length; end > from; end = from + ((end - from) >> 1)) {
      const left = freeBytes + bytesPerByte * read - this.#unpacked;
      const most = Math.max(unpackedBytesMin, Math.min(unpackedBytesMax, left));
      const part = packed.subarray(from, end);
      const result =
        start === 'zstd'
          ? unpackStream('zstd', part, most, 'fail')
          : // Without the checksum: a wrong one does not make the text unreadable.
            unpackStream('deflate', part, most, 'unpack');
      if ('bytes' in result) {
        this.#unpacked += result.bytes.length;
        return result.bytes;
      }
      // If the output is too long, less input gives its beginning.
      if (result.failed === 'damaged') return null;
      this.#unpacked += most;
      if (most < unpackedBytesMax) return 'too much';
    }
    return null;
  }
}

/** The start of the deflated data; `null`: the input is not compressed. */
function startOf(packed: Buffer): number | 'zstd' | null {
  if (packed[0] === 0x1f && packed[1] === 0x8b) return readGzipHeader(packed).length;
  if (packed[0] === 0x28 && packed[1] === 0xb5) return 'zstd';
  return ((packed[0] ?? 0) * 256 + (packed[1] ?? 0)) % 31 === 0 ? 2 : null;
}

/** The length of the gzip member at the start of the bytes; all of them if it does not end here. */
export function gzipMemberLength(bytes: Uint8Array): number {
  const packed = Buffer.from(bytes);
  const from = startOf(packed);
  if (from === null || from === 'zstd') return bytes.length;
  const result = unpackStream('deflate', packed.subarray(from), unpackedBytesMax, 'unpack');
  if ('failed' in result) return bytes.length;
  return Math.min(bytes.length, from + result.used + gzipTrailerBytes);
}
