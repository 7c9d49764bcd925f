/**
 * `EXEC.log`: chunks, one behind the other (STREAM of Hoang, Reyhanitabar, Rogaway and Vizár).
 *
 *   0        4                       4+n          4+n+16
 *   +--------+-----------------------+------------+---- next chunk
 *   | n      | ciphertext            | tag        |
 *   +--------+-----------------------+------------+----
 *     u32 LE   n bytes, 1 to 66,560    16 bytes
 *
 * Each is AES-256-GCM with the data key, the nonce `prefix (7) ‖ number from 0 (u32 BE) ‖ last (1:
 * nothing follows, else 0)` and the header's SHA-256 as associated data. So a chunk is of this log
 * and stands at its place, and a log without a last chunk was cut. The plaintext of a chunk is one
 * zstd frame of at most 64 KiB of pieces (`pieces.ts`); those of all chunks are one zstd stream.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { SealingError } from './sealing-error.ts';
import type { ChunkKeys } from './header.ts';

export const chunkPlainBytesMax = 64 * 1024;
export const chunkLengthBytes = 4;
export const chunkTagBytes = 16;
/** What does not compress grows by a few bytes. */
export const chunkCipherBytesMax = chunkPlainBytesMax + 1024;
/** Beyond, a number would come twice. */
const chunksMax = 2 ** 32;
/** The fastest: what is sealed is text, and time matters more. */
const level = 1;

export interface ChunkPosition {
  readonly number: number;
  readonly last: boolean;
}

/** The bytes of one chunk as they lie in the file. */
export function sealChunk(plain: Uint8Array, place: ChunkPosition, opened: ChunkKeys): Buffer {
  if (place.number >= chunksMax) throw new RangeError('too many chunks for one key');
  const packed = zstdCompressSync(plain, {
    params: { [constants.ZSTD_c_compressionLevel]: level },
  });
  const cipher = createCipheriv('aes-256-gcm', opened.dataKey, nonceOf(place, opened));
  cipher.setAAD(opened.digest);
  const length = Buffer.alloc(chunkLengthBytes);
  length.writeUInt32LE(packed.length);
  const sealed = cipher.update(packed);
  return Buffer.concat([length, sealed, cipher.final(), cipher.getAuthTag()]);
}

/**
 * @param sealed ciphertext and tag, without the length
 * @returns `null`: these are not the bytes that were written for this place
 * @throws SealingError `malformed` for what whoever sealed it did not write as this format has it
 */
export function openChunk(
  sealed: Uint8Array,
  place: ChunkPosition,
  opened: ChunkKeys,
): Buffer | null {
  const decipher = createDecipheriv('aes-256-gcm', opened.dataKey, nonceOf(place, opened));
  decipher.setAAD(opened.digest).setAuthTag(sealed.subarray(-chunkTagBytes));
  const packed = decipher.update(sealed.subarray(0, -chunkTagBytes));
  try {
    decipher.final();
  } catch {
    return null;
  }
  try {
    return zstdDecompressSync(packed, { maxOutputLength: chunkPlainBytesMax });
  } catch {
    throw new SealingError('malformed', `Chunk ${place.number} holds what no redactor wrote`);
  }
}

function nonceOf({ number, last }: ChunkPosition, { noncePrefix }: ChunkKeys): Buffer {
  const rest = Buffer.alloc(5);
  rest.writeUInt32BE(number);
  rest.writeUInt8(last ? 1 : 0, 4);
  return Buffer.concat([noncePrefix, rest]);
}
