/**
 * DSSE v1: a payload, its type, and signatures over both.
 *
 *   {"payload":"<base64>","payloadType":"application/vnd.in-toto+json",
 *    "signatures":[{"keyid":"<hex>","sig":"<base64>"}]}
 *
 * The signed bytes are `DSSEv1 <bytes of type> <type> <bytes of payload> <payload>`, so type and
 * payload cannot be confused. Source: secure-systems-lab/dsse, `protocol.md` and `envelope.md`.
 */
import { createPublicKey, hash, sign, verify, type KeyObject } from 'node:crypto';

export const inTotoPayload = 'application/vnd.in-toto+json';

export interface DsseEnvelope {
  /** Base64; the bytes that were signed. */
  readonly payload: string;
  readonly payloadType: string;
  readonly signatures: readonly DsseSignature[];
}
export interface DsseSignature {
  /** A hint at the key; nothing depends on it. */
  readonly keyid: string;
  /** Base64. */
  readonly sig: string;
}

/** Signs bytes; returns the raw signature. */
export interface DsseSigner {
  readonly keyid: string;
  sign(bytes: Uint8Array): Uint8Array;
}

/** The bytes that are signed for a payload. */
export function preAuthEncoding(type: string, payload: Uint8Array): Buffer {
  const head = `DSSEv1 ${Buffer.byteLength(type)} ${type} ${payload.length} `;
  return Buffer.concat([Buffer.from(head), payload]);
}

/** @param key private, ed25519 */
export function ed25519Signer(key: KeyObject): DsseSigner {
  const keyid = dsseKeyId(createPublicKey(key));
  return { keyid, sign: (bytes) => sign(null, bytes, key) };
}

/** SHA-256 (hex) of the public key in DER (SPKI). */
export const dsseKeyId = (key: KeyObject): string =>
  hash('sha256', key.export({ type: 'spki', format: 'der' }));

/** An envelope signed by all of `signers`. */
export function signEnvelope(
  type: string,
  payload: Uint8Array,
  signers: readonly DsseSigner[],
): DsseEnvelope {
  const signed = preAuthEncoding(type, payload);
  return {
    payload: Buffer.from(payload).toString('base64'),
    payloadType: type,
    signatures: signers.map((one) => ({
      keyid: one.keyid,
      sig: Buffer.from(one.sign(signed)).toString('base64'),
    })),
  };
}

/**
 * The payload if at least `threshold` (default 1) distinct keys of `keys` signed it.
 *
 * @param keys public: ed25519, or ECDSA P-256 with raw signatures
 * @returns `null` if they did not, it has another type, or it is not an envelope
 */
export function verifyEnvelope(
  envelope: unknown,
  wanted: {
    readonly keys: readonly KeyObject[];
    readonly type?: string;
    readonly threshold?: number;
  },
): Buffer | null {
  const { keys, type = inTotoPayload, threshold = 1 } = wanted;
  if (!isDsseEnvelope(envelope) || envelope.payloadType !== type) return null;
  const payload = bytesOf(envelope.payload);
  if (payload === null || threshold < 1) return null;
  const signed = preAuthEncoding(envelope.payloadType, payload);
  const signatures = envelope.signatures
    .map(({ sig }) => bytesOf(sig))
    .filter((sig) => sig !== null);
  // A key that occurs twice counts once.
  const distinct = new Map(keys.map((key) => [dsseKeyId(key), key]));
  const accepted = [...distinct.values()].filter((key) =>
    signatures.some((signature) => isSignedBy(key, signed, signature)),
  );
  return accepted.length >= threshold ? payload : null;
}

export function isDsseEnvelope(value: unknown): value is DsseEnvelope {
  if (typeof value !== 'object' || value === null) return false;
  const { payload, payloadType, signatures }: Partial<Record<keyof DsseEnvelope, unknown>> = value;
  return (
    typeof payload === 'string' &&
    typeof payloadType === 'string' &&
    Array.isArray(signatures) &&
    signatures.every(isSignature)
  );
}

function isSignature(value: unknown): value is DsseSignature {
  if (typeof value !== 'object' || value === null) return false;
  const { sig, keyid }: Partial<Record<keyof DsseSignature, unknown>> = value;
  return typeof sig === 'string' && (keyid === undefined || typeof keyid === 'string');
}

function isSignedBy(key: KeyObject, signed: Buffer, signature: Buffer): boolean {
  const type = key.asymmetricKeyType;
  if (type === 'ed25519') return verify(null, signed, key, signature);
  return type === 'ec' && verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, signature);
}

/** Either alphabet, with or without padding; `null`: the text is not base64. */
function bytesOf(base64: string): Buffer | null {
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(base64)) return null;
  const bytes = Buffer.from(base64, 'base64');
  // Bits after the last byte would be a second encoding of the same bytes.
  const again = bytes.toString('base64url');
  const given = base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  return again === given ? bytes : null;
}
