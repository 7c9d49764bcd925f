/** Unpacks gzip, zlib and zstd, as far as it is there and within a stream's budget. */
import { constants, inflateRawSync, zstdDecompressSync } from 'node:zlib';

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
  decompress(packed: Buffer, read: number): Buffer | 'too much' | null {
    const start = startOf(packed);
    if (start === null) return null;
    const open = start === 'zstd' ? unzstd : inflate;
    const from = start === 'zstd' ? 0 : start;
    for (let end = packed.length; end > from; end = from + ((end - from) >> 1)) {
      const left = freeBytes + bytesPerByte * read - this.#unpacked;
      const most = Math.max(unpackedBytesMin, Math.min(unpackedBytesMax, left));
      try {
        const unpacked = open(packed.subarray(from, end), most);
        this.#unpacked += unpacked.length;
        return unpacked;
      } catch (error) {
        // Too much of it: less of the input gives its beginning.
        if (!(error instanceof RangeError)) return null;
        this.#unpacked += most;
        if (most < unpackedBytesMax) return 'too much';
      }
    }
    return null;
  }
}

/** Where deflated data starts; `null`: the bytes are nothing that was packed. */
function startOf(packed: Buffer): number | 'zstd' | null {
  if (packed[0] === 0x1f && packed[1] === 0x8b) return afterGzipHeader(packed);
  if (packed[0] === 0x28 && packed[1] === 0xb5) return 'zstd';
  return ((packed[0] ?? 0) * 256 + (packed[1] ?? 0)) % 31 === 0 ? 2 : null;
}

/** Without the checksum: a wrong one does not make the text unreadable. */
const inflate = (deflated: Buffer, maxOutputLength: number): Buffer =>
  inflateRawSync(deflated, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength });

const unzstd = (packed: Buffer, maxOutputLength: number): Buffer =>
  zstdDecompressSync(packed, { maxOutputLength });

const gzipTrailerBytes = 8;

/** How many of the bytes are the gzip member that starts them; all, if its end is not here. */
export function gzipMemberLength(bytes: Uint8Array): number {
  const packed = Buffer.from(bytes);
  const from = startOf(packed);
  if (from === null || from === 'zstd') return bytes.length;
  try {
    const result: unknown = inflateRawSync(packed.subarray(from), {
      finishFlush: constants.Z_SYNC_FLUSH,
      maxOutputLength: unpackedBytesMax,
      info: true,
    });
    const used = bytesRead(result);
    return used === null ? bytes.length : Math.min(bytes.length, from + used + gzipTrailerBytes);
  } catch {
    return bytes.length;
  }
}

/** What `info` of zlib tells of the input. */
function bytesRead(result: unknown): number | null {
  if (typeof result !== 'object' || result === null || !('engine' in result)) return null;
  const { engine } = result;
  if (typeof engine !== 'object' || engine === null || !('bytesWritten' in engine)) return null;
  return typeof engine.bytesWritten === 'number' ? engine.bytesWritten : null;
}

function afterGzipHeader(packed: Buffer): number {
  const flags = packed[3] ?? 0;
  let at = 10;
  if ((flags & 4) !== 0) at += 2 + (packed[at] ?? 0) + 256 * (packed[at + 1] ?? 0);
  for (const flag of [8, 16]) {
    if ((flags & flag) === 0) continue;
    while (at < packed.length && packed[at] !== 0) at += 1;
    at += 1;
  }
  return (flags & 2) === 0 ? at : at + 2;
}
