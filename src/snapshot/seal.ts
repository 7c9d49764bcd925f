/**
 * How what is kept is sealed: AES-256-GCM with a key for each segment, bound to the place where it
 * stands, so that nothing can be read, changed, or moved without the store's key.
 *
 *   sealed = nonce (12 random bytes) | ciphertext | tag (16)
 */
import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hash,
  hkdfSync,
  randomFillSync,
  type KeyObject,
} from 'node:crypto';

/** Names a content inside the store: a content that is guessed cannot be confirmed by it. */
export type ContentId = string;

export interface StoreKeys {
  /** `sha256`: lower-case hex. */
  idOf(sha256: string): ContentId;
  /** The key of the segment with this salt. */
  keyOf(salt: Uint8Array): KeyObject;
}

export const sealOverheadBytes = 12 + 16;
const [nonceBytes, tagBytes, idBytes] = [12, 16, 16];
/** Each content is asked for several times in a row: so many ids are not computed anew. */
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
      // 128 bits: without the key nobody can look for two contents of one id; reads are verified.
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
 * HMAC-SHA-256 by two hashes, at a third of the cost of an object for each: a command that makes
 * many files asks for as many.
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

/** What a sealed thing is; with its position it is what the seal is bound to. */
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

/** The pieces in order; together they are `plain.length + sealBytes` long. */
export function sealPayload(key: KeyObject, bound: Uint8Array, plain: Uint8Array): Buffer[] {
  const nonce = freshNonce();
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  cipher.setAAD(bound);
  const sealed = cipher.update(plain);
  cipher.final();
  return [nonce, sealed, cipher.getAuthTag()];
}

/** `null`: it is not what was sealed there. */
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
