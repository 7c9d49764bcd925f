/**
 * `EXEC.key`: how the raw log of one execution is sealed, and its data key, wrapped to each
 * recipient. Without this file the log cannot be read. Canonical JSON and a line feed:
 *
 *   {"algorithm":"X25519-HKDF-SHA256-A256GCM-STREAM-zstd","exec":"x-…","nonce":"<14 hex>",
 *    "recipients":[{"ephemeral":"<64 hex>","recipient":"age1…","wrapped":"<96 hex>"}],"version":1}
 *
 *   wrapping key = HKDF-SHA256(X25519(ephemeral, recipient), salt = ephemeral ‖ recipient,
 *                              info = "trl raw log v1", 32 bytes)
 *   wrapped      = AES-256-GCM(wrapping key, nonce = 12 zero bytes, data key of 32 bytes,
 *                              associated data = exec), the tag of 16 bytes at its end
 *
 * An ephemeral key is used once, so a wrapping key encrypts once.
 */
import { createCipheriv, createDecipheriv, diffieHellman, hash } from 'node:crypto';
import { generateKeyPairSync, hkdfSync, type KeyObject } from 'node:crypto';
import { fieldOf } from '../json-shape.ts';
import { canonicalJson } from '../canonical.ts';
import { rawX25519Key, SealingError, x25519PublicKey } from './keys.ts';
import type { AgeIdentity, AgeRecipient } from './keys.ts';

/** @param base path of both files of a log without their extensions: `DIRECTORY/EXEC` */
export const rawLogKeyPath = (base: string): string => `${base}.key`;

const algorithm = 'X25519-HKDF-SHA256-A256GCM-STREAM-zstd';
const info = 'trl raw log v1';
const tagBytes = 16;
const zeroNonce = Buffer.alloc(12);
export const dataKeyBytes = 32;
/** The rest of a chunk's 12 bytes is its number and whether it is the last. */
export const noncePrefixBytes = 7;

interface WrappedKey {
  readonly recipient: string;
  readonly ephemeral: string;
  readonly wrapped: string;
}

interface Header {
  readonly exec: string;
  readonly nonce: string;
  readonly recipients: readonly WrappedKey[];
}

/** What seals and opens each chunk of a log. */
export interface ChunkKeys {
  readonly dataKey: Uint8Array;
  readonly noncePrefix: Uint8Array;
  /** SHA-256 of the header that each chunk is bound to. */
  readonly digest: Uint8Array;
}

/** The bytes of a header. */
export function sealHeader(
  exec: string,
  recipients: readonly AgeRecipient[],
  keys: Omit<ChunkKeys, 'digest'>,
): Buffer {
  const header = {
    version: 1,
    algorithm,
    exec,
    nonce: Buffer.from(keys.noncePrefix).toString('hex'),
    recipients: recipients.map((recipient) => wrap(exec, recipient, keys.dataKey)),
  };
  return Buffer.from(`${canonicalJson(header)}\n`);
}

export const headerDigest = (bytes: Uint8Array): Buffer => hash('sha256', bytes, 'buffer');

/**
 * Opens a header with the first identity that it was sealed to.
 *
 * @param exec the execution that it must belong to
 * @throws SealingError `malformed`, `altered`, `wrong-identity`
 */
export function decryptHeader(
  bytes: Uint8Array,
  exec: string,
  identities: readonly AgeIdentity[],
): ChunkKeys {
  const header = readHeader(bytes);
  if (header.exec !== exec) {
    throw new SealingError('altered', `The key is that of ${header.exec.slice(0, 64)}`);
  }
  for (const identity of identities) {
    const own = header.recipients.find(({ recipient }) => recipient === identity.recipient.text);
    if (own === undefined) continue;
    const dataKey = unwrap(exec, own, identity);
    const noncePrefix = Buffer.from(header.nonce, 'hex');
    return { dataKey, noncePrefix, digest: headerDigest(bytes) };
  }
  const names = header.recipients.map(({ recipient }) => recipient).join(', ');
  throw new SealingError('wrong-identity', `It was sealed to others: ${names}`);
}

function wrap(exec: string, { text, key }: AgeRecipient, dataKey: Uint8Array): WrappedKey {
  const { privateKey, publicKey: ephemeral } = generateKeyPairSync('x25519');
  const cipher = createCipheriv(
    'aes-256-gcm',
    wrappingKey({ privateKey, publicKey: key }, ephemeral, key),
    zeroNonce,
  ).setAAD(Buffer.from(exec));
  const wrapped = Buffer.concat([cipher.update(dataKey), cipher.final(), cipher.getAuthTag()]);
  return {
    recipient: text,
    ephemeral: Buffer.from(rawX25519Key(ephemeral)).toString('hex'),
    wrapped: wrapped.toString('hex'),
  };
}

function unwrap(exec: string, own: WrappedKey, { key, recipient }: AgeIdentity): Uint8Array {
  try {
    const ephemeral = x25519PublicKey(Buffer.from(own.ephemeral, 'hex'));
    const wrapped = Buffer.from(own.wrapped, 'hex');
    const agreed = { privateKey: key, publicKey: ephemeral };
    const decipher = createDecipheriv(
      'aes-256-gcm',
      wrappingKey(agreed, ephemeral, recipient.key),
      zeroNonce,
    )
      .setAAD(Buffer.from(exec))
      .setAuthTag(wrapped.subarray(dataKeyBytes));
    return Buffer.concat([decipher.update(wrapped.subarray(0, dataKeyBytes)), decipher.final()]);
  } catch {
    throw new SealingError('altered', 'The wrapped key is not the one that was written');
  }
}

function wrappingKey(
  agreed: { readonly privateKey: KeyObject; readonly publicKey: KeyObject },
  ephemeral: KeyObject,
  recipient: KeyObject,
): Uint8Array {
  const shared = diffieHellman(agreed);
  // With a point of small order it is public.
  if (shared.every((byte) => byte === 0)) throw new SealingError('malformed', 'The key is invalid');
  const salt = Buffer.concat([rawX25519Key(ephemeral), rawX25519Key(recipient)]);
  const key = Buffer.from(hkdfSync('sha256', shared, salt, info, 32));
  shared.fill(0);
  return key;
}

function readHeader(bytes: Uint8Array): Header {
  const found = parsed(bytes);
  const exec = fieldOf(found, 'exec');
  const nonce = fieldOf(found, 'nonce');
  const recipients = fieldOf(found, 'recipients');
  const isKnown = fieldOf(found, 'version') === 1 && fieldOf(found, 'algorithm') === algorithm;
  const isWhole =
    typeof exec === 'string' &&
    isHex(nonce, noncePrefixBytes) &&
    Array.isArray(recipients) &&
    recipients.every(isWrapped);
  if (isKnown && isWhole) return { exec, nonce, recipients };
  throw new SealingError('malformed', 'The key file is not one that this version writes');
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    return null;
  }
}

const isHex = (value: unknown, bytes: number): value is string =>
  typeof value === 'string' && value.length === bytes * 2 && /^[0-9a-f]*$/.test(value);

const isWrapped = (value: unknown): value is WrappedKey =>
  typeof fieldOf(value, 'recipient') === 'string' &&
  isHex(fieldOf(value, 'ephemeral'), 32) &&
  isHex(fieldOf(value, 'wrapped'), dataKeyBytes + tagBytes);
