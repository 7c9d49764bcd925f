/** How bytes are made small before they are sealed: one byte says how, then they follow. */
import { promisify } from 'node:util';
import {
  constants,
  zstdCompress,
  zstdCompressSync,
  zstdDecompressSync,
  type ZstdOptions,
} from 'node:zlib';

const [raw, zstd] = [0, 1];
/** What is larger is compressed on another thread: it would hold everybody up. */
const inlineBytesMax = 32 * 1024;
/** To pack and unpack what is smaller costs more than the room that it saves. */
const worthBytesMin = 1024;
const params = { [constants.ZSTD_c_compressionLevel]: 1 };
const compressElsewhere = promisify(zstdCompress);

export async function packPayload(plain: Uint8Array): Promise<Buffer> {
  if (plain.length <= inlineBytesMax) return packNow(plain);
  return smaller(plain, await compressElsewhere(plain, optionsOf(plain)));
}

function packNow(plain: Uint8Array): Buffer {
  if (plain.length < worthBytesMin) return smaller(plain, null);
  return smaller(plain, zstdCompressSync(plain, optionsOf(plain)));
}

/** `null` where it is none of ours or is longer than `bytesMax`. */
export function unpackPayload(payload: Buffer, bytesMax: number): Buffer | null {
  const rest = payload.subarray(1);
  if (payload[0] === raw) return rest.length <= bytesMax ? rest : null;
  if (payload[0] !== zstd) return null;
  try {
    return zstdDecompressSync(rest, { maxOutputLength: bytesMax });
  } catch {
    return null;
  }
}

/**
 * That the size is known beforehand keeps the compressor's tables small. What comes out has room at
 * once, even of what cannot be made smaller (`ZSTD_compressBound`), and no more than that.
 */
function optionsOf({ length }: Uint8Array): ZstdOptions {
  return { params, pledgedSrcSize: length, chunkSize: length + (length >> 8) + 64 };
}

function smaller(plain: Uint8Array, compressed: Buffer | null): Buffer {
  const isSmaller = compressed !== null && compressed.length < plain.length;
  const [how, bytes] = isSmaller ? [zstd, compressed] : [raw, plain];
  const payload = Buffer.allocUnsafe(1 + bytes.length);
  payload[0] = how;
  payload.set(bytes, 1);
  return payload;
}
