/**
 * The key that signs the heads of every log of this user and the statements of commands: ed25519.
 *
 *   audit/key       PKCS #8, PEM, 0600
 *   audit/key.pub   SPKI, PEM: who checks a log takes this one along
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, hash } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { TrlError } from '../errors.ts';
import { rawEd25519Key } from './signed-note.ts';

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
const pemBytesMax = 4096;

export interface AuditKey {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  /** The 32 bytes of `publicKey`. */
  readonly rawPublicKey: Buffer;
  /** SHA-256 of `publicKey` as SPKI DER, hex. */
  readonly id: string;
}

/**
 * The key of `directory`, made at first use with the directory itself (0700).
 *
 * @throws TrlError `AUDIT_UNAVAILABLE` when key or directory are not the user's own or are open to
 *   others, or it is not an ed25519 key
 */
export function openAuditKey(directory: string): AuditKey {
  const file = path.join(directory, 'key');
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    mustBeOwn(directory);
    const text = readPrivate(file) ?? makePrivate(file);
    const key = toAuditKey(createPrivateKey(text));
    publish(path.join(directory, 'key.pub'), key);
    return key;
  } catch (cause) {
    if (cause instanceof TrlError) throw cause;
    throw unusable(file, String(cause), cause);
  }
}

/**
 * A public key out of its PEM file: what a log is checked with.
 *
 * @throws TrlError `AUDIT_UNAVAILABLE` when it cannot be read or is not an ed25519 key
 */
export function readPublicKey(file: string): KeyObject {
  try {
    const key = createPublicKey(readFileSync(file));
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch (cause) {
    throw unusable(file, String(cause), cause);
  }
  throw unusable(file, 'it is not an ed25519 key');
}

/** A public key as SPKI, PEM. */
export const publicKeyPem = (key: KeyObject): string =>
  String(key.export({ type: 'spki', format: 'pem' }));

/** SHA-256 of a public key as SPKI DER, hex. */
export const auditKeyIdOf = (publicKey: KeyObject): string =>
  hash('sha256', publicKey.export({ type: 'spki', format: 'der' }), 'hex');

/** An opened key as the log takes it. */
export function toAuditKey(privateKey: KeyObject): AuditKey {
  if (privateKey.asymmetricKeyType !== 'ed25519') throw new Error('it is not an ed25519 key');
  const publicKey = createPublicKey(privateKey);
  return {
    privateKey,
    publicKey,
    rawPublicKey: rawEd25519Key(publicKey),
    id: auditKeyIdOf(publicKey),
  };
}

/** Who can write there can put other logs, and another key, in the place of these. */
function mustBeOwn(directory: string): void {
  const { uid, mode } = statSync(directory);
  if (uid === process.getuid?.() && (mode & 0o022) === 0) return;
  throw unusable(directory, 'it belongs to another user or others can write there (chmod 700)');
}

/** `null`: there is none. */
function readPrivate(file: string): Buffer | null {
  const fd = openIfThere(file);
  if (fd === null) return null;
  try {
    const found = fstatSync(fd);
    if (!found.isFile() || found.size > pemBytesMax) throw unusable(file, 'it is not a key');
    if (found.uid !== process.getuid?.() || (found.mode & 0o077) !== 0) {
      throw unusable(file, 'it belongs to another user or is open to others');
    }
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}

function openIfThere(file: string): number | null {
  try {
    return openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

function makePrivate(file: string): Buffer {
  const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' });
  return placeOnce(file, Buffer.from(pem), 0o600) ? Buffer.from(pem) : theOther(file);
}

function theOther(file: string): Buffer {
  const text = readPrivate(file);
  if (text === null) throw unusable(file, 'it comes and goes');
  return text;
}

/** What lies beside it must be the same key, else somebody checks with a wrong one. */
function publish(file: string, key: AuditKey): void {
  const pem = publicKeyPem(key.publicKey);
  if (openedText(file) === pem || placeOnce(file, Buffer.from(pem), 0o644)) return;
  if (openedText(file) === pem) return;
  throw unusable(file, 'it is not the public half of the key beside it; move it away');
}

function openedText(file: string): string | null {
  const fd = openIfThere(file);
  if (fd === null) return null;
  try {
    return fstatSync(fd).isFile() ? readFileSync(fd, 'utf8') : '';
  } finally {
    closeSync(fd);
  }
}

/** Whole and on disk, or not at all; `false`: there is one already. */
function placeOnce(file: string, bytes: Buffer, mode: number): boolean {
  const draft = `${file}.${randomBytes(8).toString('hex')}`;
  try {
    const fd = openSync(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    try {
      writeFileSync(fd, bytes);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    linkSync(draft, file);
    syncDirectory(path.dirname(file));
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function syncDirectory(directory: string): void {
  const fd = openSync(directory, O_RDONLY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function unusable(file: string, reason: string, cause?: unknown): TrlError {
  const message = `Cannot use the audit key "${file}": ${reason}`;
  return new TrlError('AUDIT_UNAVAILABLE', message, { cause });
}
