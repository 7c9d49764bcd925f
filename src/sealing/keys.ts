/**
 * The keys that raw logs are sealed to: X25519 in the notation of age, so that auditors can use
 * their existing keys. A recipient (`age1…`) is public; an identity (`AGE-SECRET-KEY-1…`) is a
 * secret of an auditor, and no message repeats a character of one.
 */
import {
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto';
import { decodeBech32, encodeBech32 } from './bech32.ts';

/** Why a raw log cannot be read, or a key not be used. */
export type SealingReason =
  /** A key, an identity file or a header is invalid. */
  | 'malformed'
  /** There is no raw log. */
  | 'absent'
  /** Its key was destroyed, so it cannot be read any more. */
  | 'shredded'
  /** It was sealed to other recipients. */
  | 'wrong-identity'
  /** It is incomplete: its writer was killed, the disk was full, or it was cut. */
  | 'truncated'
  /** It, or its header, was changed after it was written. */
  | 'altered';

/** The message is a sentence for people, without any part of a secret. */
export class SealingError extends Error {
  readonly reason: SealingReason;

  constructor(reason: SealingReason, message: string) {
    super(message);
    this.name = 'SealingError';
    this.reason = reason;
  }
}

const keyBytes = 32;
const recipientPrefix = 'age';
const identityPrefix = 'age-secret-key-';

/** The public key of an auditor who can read a log. */
export interface AgeRecipient {
  /** `age1…` */
  readonly text: string;
  readonly key: KeyObject;
}

/** The secret key of an auditor. */
export interface AgeIdentity {
  /** Its public half. */
  readonly recipient: AgeRecipient;
  readonly key: KeyObject;
}

/** What is wrong with a recipient, as a clause after its name; `null`: nothing. */
export function checkRecipient(text: string): string | null {
  const key = keyOf(text);
  if (typeof key === 'string') return key;
  return isUsable(key) ? null : 'is a key that nothing can be sealed to';
}

/** @throws SealingError `malformed` */
export function parseRecipient(text: string): AgeRecipient {
  const key = keyOf(text);
  if (typeof key !== 'string') return { text, key };
  const shown = text.startsWith('age1') ? `"${text.slice(0, 80)}"` : 'A recipient';
  throw new SealingError('malformed', `${shown} ${key}`);
}

function keyOf(text: string): KeyObject | string {
  if (/^age-secret-key-/i.test(text)) {
    return 'is a secret key: recipients are public ("age1…"), and this one should be replaced';
  }
  const found = decodeBech32(text);
  if (!text.startsWith('age1')) return 'must be the public key of an auditor: "age1…"';
  if (typeof found === 'string') return found;
  if (found.prefix !== recipientPrefix) return 'must be the public key of an auditor: "age1…"';
  if (found.bytes.length !== keyBytes) return 'is not an X25519 key of 32 bytes';
  return x25519PublicKey(found.bytes);
}

/**
 * The identities in a file as `age-keygen` writes it: one per line, with empty lines and comments
 * (`#`).
 *
 * @throws SealingError `malformed` with the number of the line
 */
export function parseIdentities(text: string): readonly AgeIdentity[] {
  const lines = text.split('\n').map((line) => line.trim());
  const identities = lines.flatMap((line, at) =>
    line === '' || line.startsWith('#') ? [] : [parseIdentity(line, at + 1)],
  );
  if (identities.length > 0) return identities;
  throw new SealingError('malformed', 'The file has no identity ("AGE-SECRET-KEY-1…")');
}

function parseIdentity(text: string, line: number): AgeIdentity {
  const refuse = (why: string): never => {
    throw new SealingError('malformed', `Line ${line} of the identities ${why}`);
  };
  if (/^age1/i.test(text)) return refuse('is a public key, and reading needs the secret one');
  const found = decodeBech32(text);
  if (typeof found === 'string') return refuse(found);
  if (found.prefix !== identityPrefix || found.bytes.length !== keyBytes) {
    return refuse('is not an X25519 identity: "AGE-SECRET-KEY-1…"');
  }
  // PKCS #8 of RFC 8410 with 32 bytes at its end.
  const der = Buffer.concat([Buffer.from('302e020100300506032b656e04220420', 'hex'), found.bytes]);
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  der.fill(0);
  const own = createPublicKey(key);
  return { key, recipient: { text: recipientText(own), key: own } };
}

/** A new pair: `identity` is only for the auditor, `recipient` for the configuration. */
export function generateIdentity(): { readonly identity: string; readonly recipient: string } {
  const pair = generateKeyPairSync('x25519');
  const secret = rawOf(pair.privateKey.export({ format: 'jwk' }).d);
  const identity = encodeBech32(identityPrefix, secret).toUpperCase();
  secret.fill(0);
  return { identity, recipient: recipientText(pair.publicKey) };
}

/** The 32 bytes of a public key. */
export function rawX25519Key(key: KeyObject): Uint8Array {
  return rawOf(key.export({ format: 'jwk' }).x);
}

export function x25519PublicKey(bytes: Uint8Array): KeyObject {
  const x = Buffer.from(bytes).toString('base64url');
  return createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x }, format: 'jwk' });
}

const recipientText = (key: KeyObject): string => encodeBech32(recipientPrefix, rawX25519Key(key));
const rawOf = (base64: string | undefined): Buffer => Buffer.from(base64 ?? '', 'base64url');

/** With a point of small order the shared secret is public. */
function isUsable(key: KeyObject): boolean {
  try {
    const { privateKey } = generateKeyPairSync('x25519');
    return diffieHellman({ privateKey, publicKey: key }).some((byte) => byte !== 0);
  } catch {
    return false;
  }
}
