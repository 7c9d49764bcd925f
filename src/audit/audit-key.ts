/**
 * The key that signs the heads of every log of this user and the statements of commands: ed25519.
 *
 *   audit/key       PKCS #8, PEM, 0600
 *   audit/key.pub   SPKI, PEM: the key to check a log with
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, hash } from 'node:crypto';
import { randomBytes, type KeyObject } from 'node:crypto';
import { closeSync, constants, fstatSync, linkSync, mkdirSync, openSync } from 'node:fs';
import { readFileSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { TrlError } from '../errors.ts';
import { syncDirectoryNow, systemErrorCode, writeDurableFile } from '../segment-files.ts';
import { rawEd25519Key } from './signed-note.ts';

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
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
 * The key of `directory`, created at first use with the directory itself (0700).
 *
 * @throws TrlError `AUDIT_UNAVAILABLE` if key or directory belong to another user or are open to
 *   others, or it is not an ed25519 key
 */
export function openAuditKey(directory: string): AuditKey {
  const file = path.join(directory, 'key');
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    mustBePrivate(directory);
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
 * A public key from its PEM file, to check a log with.
 *
 * @throws TrlError `AUDIT_UNAVAILABLE` if it cannot be read or is not an ed25519 key
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

/** Adds what is derived from a private key. */
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

/** Anyone who can write there can replace the logs and the key. */
function mustBePrivate(directory: string): void {
  const { uid, mode } = statSync(directory);
  if (uid === process.getuid?.() && (mode & 0o022) === 0) return;
  throw unusable(directory, 'it belongs to another user or others can write there (chmod 700)');
}

/** `null`: there is none. */
function readPrivate(file: string): Buffer | null {
  const fd = openIfExists(file);
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

function openIfExists(file: string): number | null {
  try {
    return openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return null;
    throw error;
  }
}

function makePrivate(file: string): Buffer {
  const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' });
  return createOnce(file, Buffer.from(pem), 0o600) ? Buffer.from(pem) : readConcurrent(file);
}

function readConcurrent(file: string): Buffer {
  const text = readPrivate(file);
  if (text === null) throw unusable(file, 'it was created and removed again meanwhile');
  return text;
}

/** An existing public key must be this one, or logs would be checked with a wrong key. */
function publish(file: string, key: AuditKey): void {
  const pem = publicKeyPem(key.publicKey);
  if (publicTextOf(file) === pem || createOnce(file, Buffer.from(pem), 0o644)) return;
  if (publicTextOf(file) === pem) return;
  throw unusable(file, 'it is not the public half of the key next to it; move it away');
}

function publicTextOf(file: string): string | null {
  const fd = openIfExists(file);
  if (fd === null) return null;
  try {
    return fstatSync(fd).isFile() ? readFileSync(fd, 'utf8') : '';
  } finally {
    closeSync(fd);
  }
}

/** Creates the file on disk, whole or not at all; `false`: it exists already. */
function createOnce(file: string, bytes: Buffer, mode: number): boolean {
  const draft = `${file}.${randomBytes(8).toString('hex')}`;
  try {
    writeDurableFile(draft, bytes, { mode });
    linkSync(draft, file);
    syncDirectoryNow(path.dirname(file));
    return true;
  } catch (error) {
    if (systemErrorCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function unusable(file: string, reason: string, cause?: unknown): TrlError {
  const message = `Cannot use the audit key "${file}": ${reason}`;
  return new TrlError('AUDIT_UNAVAILABLE', message, { cause });
}
