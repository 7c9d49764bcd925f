/**
 * Signed heads of a log: C2SP `tlog-checkpoint` in a C2SP `signed-note`.
 *
 *   trl.dev/audit/0123…cdef          origin: the log
 *   42                               events that it covers
 *   NRn7F…=                          RFC 6962 root over them, base64
 *   previous 40                      events that the head before covers: removing one shows
 *                                    (empty line)
 *   — trl.dev/audit/0123…cdef 3q2…   4 bytes of key hash and the ed25519 signature, base64
 *
 * The signature is over the text above the empty line, each line with its newline.
 */
import { hash, sign, verify, type KeyObject } from 'node:crypto';
import { merkleHashBytes } from './merkle.ts';

export interface Checkpoint {
  /** 32 lower-case hex digits. */
  readonly log: string;
  readonly size: number;
  readonly root: Buffer;
  /** `size` of the head before it; 0 for the first. */
  readonly previous: number;
}

/** A head whose signature is not checked. */
export interface ParsedNote {
  readonly checkpoint: Checkpoint;
  readonly signed: Buffer;
  readonly signatures: readonly NoteSignature[];
}

export interface NoteSignature {
  readonly name: string;
  /** Of name and key, 4 bytes. */
  readonly keyHash: Buffer;
  readonly signature: Buffer;
}

const originBegin = 'trl.dev/audit/';
const ed25519 = Buffer.from([1]);
const signatureBytes = 64;
const wholeNumber = /^(?:0|[1-9]\d{0,14})$/;
/** A head has four lines and a few signatures. */
export const noteBytesMax = 16 * 1024;

export const noteOriginOf = (log: string): string => `${originBegin}${log}`;

export function signHeadNote(checkpoint: Checkpoint, key: KeyObject, keyHash: Buffer): string {
  const text = textOf(checkpoint);
  const blob = Buffer.concat([keyHash, sign(null, Buffer.from(text), key)]);
  return `${text}\n— ${noteOriginOf(checkpoint.log)} ${blob.toString('base64')}\n`;
}

/**
 * Identifies the key that signed: the first 4 bytes of SHA-256(name || 0x0A || 0x01 || public key).
 */
export function noteKeyHash(log: string, rawPublicKey: Buffer): Buffer {
  const name = Buffer.from(`${noteOriginOf(log)}\n`);
  return hash('sha256', Buffer.concat([name, ed25519, rawPublicKey]), 'buffer').subarray(0, 4);
}

/** The 32 bytes of an ed25519 public key. */
export function rawEd25519Key(publicKey: KeyObject): Buffer {
  const { x } = publicKey.export({ format: 'jwk' });
  return Buffer.from(x ?? '', 'base64url');
}

/** `null`: it is not exactly a head of this format. Signatures are not checked. */
export function parseNote(note: string): ParsedNote | null {
  if (note.length > noteBytesMax) return null;
  const [text, rest, ...more] = note.split('\n\n');
  if (text === undefined || rest === undefined || more.length > 0) return null;
  const [origin = '', size = '', root64 = '', extension = '', ...others] = text.split('\n');
  const log = /^trl\.dev\/audit\/([0-9a-f]{32})$/.exec(origin)?.[1];
  const root = exactBase64(root64);
  if (log === undefined || others.length > 0 || root?.length !== merkleHashBytes) return null;
  const previous = /^previous (\d+)$/.exec(extension)?.[1] ?? '';
  if (!wholeNumber.test(size) || !wholeNumber.test(previous)) return null;
  const lines = rest.split('\n');
  if (lines.pop() !== '' || lines.length === 0) return null;
  const signatures = lines.map(signatureOf).filter((one) => one !== null);
  if (signatures.length < lines.length) return null;
  const checkpoint = { log, size: Number(size), root, previous: Number(previous) };
  return { checkpoint, signed: Buffer.from(`${text}\n`), signatures };
}

/** The signature with the name and the hash of this key. It is not checked. */
export function findOwnSignature(parsed: ParsedNote, rawPublicKey: Buffer): Buffer | null {
  const { log } = parsed.checkpoint;
  const wanted = noteKeyHash(log, rawPublicKey);
  const own = parsed.signatures.find(
    ({ name, keyHash }) => name === noteOriginOf(log) && keyHash.equals(wanted),
  );
  return own?.signature ?? null;
}

/** The head, if this key signed it. */
export function verifyHeadNote(note: string, publicKey: KeyObject): Checkpoint | null {
  const parsed = parseNote(note);
  if (parsed === null) return null;
  const signature = findOwnSignature(parsed, rawEd25519Key(publicKey));
  if (signature === null || !verify(null, parsed.signed, publicKey, signature)) return null;
  return parsed.checkpoint;
}

function textOf({ log, size, root, previous }: Checkpoint): string {
  return `${noteOriginOf(log)}\n${size}\n${root.toString('base64')}\nprevious ${previous}\n`;
}

function signatureOf(line: string): NoteSignature | null {
  const found = /^— ([^\s+]+) (\S+)$/u.exec(line);
  const blob = exactBase64(found?.[2] ?? '');
  // Other kinds of signature have other lengths: that of a witness has a time.
  if (found === null || blob === null || blob.length < 4 + signatureBytes) return null;
  return { name: found[1] ?? '', keyHash: blob.subarray(0, 4), signature: blob.subarray(4) };
}

/** `null`: another text is the encoding of these bytes. */
function exactBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : null;
}
