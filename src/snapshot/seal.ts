/**
 * How contents are packed and sealed. A seal is AES-256-GCM with a key per segment, bound to the
 * position in it, so that nothing can be read, changed, or moved without the store's key.
 *
 *   sealed  = nonce (12 random bytes) | ciphertext | tag (16)
 *   payload = 0 (raw) or 1 (zstd) | bytes
 */
import { createCipheriv, createDecipheriv, createSecretKey, hash, hkdfSync } from 'node:crypto';
import { randomFillSync, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, zstdCompress, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { ZstdOptions } from 'node:zlib';

/** Names a content inside the store; it cannot confirm a guess of the content. */
export type ContentId = string;

export interface StoreKeys {
  /** `sha256`: lower-case hex. */
  idOf(sha256: string): ContentId;
  /** The key of the segment with this salt. */
  keyOf(salt: Uint8Array): KeyObject;
}

export const sealOverheadBytes = 12 + 16;
const [nonceBytes, tagBytes, idBytes] = [12, 16, 16];
/** Ids in the cache: each content is looked up several times in a row. */
const knownMax = 32_768;

export function deriveKeys(key: Uint8Array): StoreKeys {
  const derive = (salt: Uint8Array, info: string): KeyObject =>
    createSecretKey(new Uint8Array(hkdfSync('sha256', key, salt, `trl snapshot ${info}`, 32)));
  const macOf = hmacWith(derive(new Uint8Array(), 'ids').export());
  const known = new Map<string, ContentId>();
  return {
    idOf: (sha256) => {
      const found = known.get(sha256);
      if (found !== undefined) return found;
      // 128 bits are enough: a collision cannot be searched without the key, and reads are
      // verified.
      const id = macOf(sha256).toString('base64url', 0, idBytes);
      if (known.size === knownMax) known.clear();
      known.set(sha256, id);
      return id;
    },
    keyOf: (salt) => derive(salt, 'segment'),
  };
}

const blockBytes = 64;

/**
 * HMAC-SHA-256 by two hashes, at a third of the cost of an object per call: a command that creates
 * many files needs as many.
 *
 * @param key of at most 64 bytes
 */
export function hmacWith(key: Uint8Array): (text: string) => Buffer {
  const padded = (byte: number): Buffer => {
    const block = Buffer.alloc(blockBytes, byte);
    for (const [at, one] of key.entries()) block[at] = one ^ byte;
    return block;
  };
  const [inner, outer] = [padded(0x36), padded(0x5c)];
  return (text) => {
    const message = hash('sha256', Buffer.concat([inner, Buffer.from(text)]), 'buffer');
    return hash('sha256', Buffer.concat([outer, message]), 'buffer');
  };
}

/** The role of a sealed part; the seal is bound to it and to the position. */
export const sealRoles = { header: 1, directory: 2, body: 3, index: 4 } as const;

export function associatedDataOf(role: number, position: number, head?: Uint8Array): Buffer {
  const bound = Buffer.alloc(9);
  bound.writeUInt8(role, 0);
  bound.writeBigUInt64LE(BigInt(position), 1);
  return head === undefined ? bound : Buffer.concat([bound, head]);
}

const nonces = Buffer.alloc(nonceBytes * 256);
let noncesUsed = nonces.length;

function freshNonce(): Buffer {
  if (noncesUsed === nonces.length) {
    randomFillSync(nonces);
    noncesUsed = 0;
  }
  noncesUsed += nonceBytes;
  return Buffer.from(nonces.subarray(noncesUsed - nonceBytes, noncesUsed));
}

/** The parts in order; together they are `plain.length + sealOverheadBytes` long. */
export function sealPayload(key: KeyObject, bound: Uint8Array, plain: Uint8Array): Buffer[] {
  const nonce = freshNonce();
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  cipher.setAAD(bound);
  const sealed = cipher.update(plain);
  cipher.final();
  return [nonce, sealed, cipher.getAuthTag()];
}

/** `null`: it was not sealed there. */
export function unsealPayload(key: KeyObject, bound: Uint8Array, sealed: Buffer): Buffer | null {
  if (sealed.length < sealOverheadBytes) return null;
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  });
  decipher.setAAD(bound);
  decipher.setAuthTag(sealed.subarray(sealed.length - tagBytes));
  const plain = decipher.update(sealed.subarray(nonceBytes, sealed.length - tagBytes));
  try {
    decipher.final();
  } catch {
    return null;
  }
  return plain;
}

/** The first byte of a payload: how the rest is packed. */
const [raw, zstd] = [0, 1];
/** Larger contents are compressed on another thread, so that they do not block the event loop. */
const inlineBytesMax = 32 * 1024;
/** Smaller contents are not compressed: that costs more than the room that it saves. */
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

/** `null`: it is not a payload, or is longer than `bytesMax`. */
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
 * A size that is known beforehand keeps the compressor's tables small. The output buffer has room
 * for incompressible contents (`ZSTD_compressBound`), and no more.
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
