/** Unpacks gzip, zlib and zstd, as far as it is there and within a stream's budget. */
import { gzipTrailerBytes, readGzipHeader, unpackStream } from '../../encodings/compression.ts';

/** The most that one run is unpacked to. */
const unpackedBytesMax = 1024 * 1024;
/** Whatever was unpacked before, so much of each run is. */
const unpackedBytesMin = 1_024;
/** What a stream may unpack to, however short it is, and for each of its bytes. */
const freeBytes = 1024 * 1024;
const bytesPerByte = 8;

/**
 * One stream's unpacking: to at most 8 bytes for each one read, and 1 MiB. A bomb would else take
 * the time of everyone whose output waits behind it.
 */
export class StreamDecompressor {
  #unpacked = 0;

  /**
   * What the bytes unpack to, their beginning if that is over 1 MiB; `null`: they are nothing that
   * was packed; `'too much'`: they are, but the budget does not allow for it. `read`: bytes of the
   * stream so far.
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
      // If there is too much of it, less of the input gives its beginning.
      if (result.failed === 'damaged') return null;
      this.#unpacked += most;
      if (most < unpackedBytesMax) return 'too much';
    }
    return null;
  }
}

/** Where deflated data starts; `null`: the bytes are nothing that was packed. */
function startOf(packed: Buffer): number | 'zstd' | null {
  if (packed[0] === 0x1f && packed[1] === 0x8b) return readGzipHeader(packed).length;
  if (packed[0] === 0x28 && packed[1] === 0xb5) return 'zstd';
  return ((packed[0] ?? 0) * 256 + (packed[1] ?? 0)) % 31 === 0 ? 2 : null;
}

/** How many of the bytes are the gzip member that starts them; all, if its end is not here. */
export function gzipMemberLength(bytes: Uint8Array): number {
  const packed = Buffer.from(bytes);
  const from = startOf(packed);
  if (from === null || from === 'zstd') return bytes.length;
  const result = unpackStream('deflate', packed.subarray(from), unpackedBytesMax, 'unpack');
  if ('failed' in result) return bytes.length;
  return Math.min(bytes.length, from + result.used + gzipTrailerBytes);
}
