/** A `.env` file as a source. It is read only while nobody but its owner can read it. */
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync } from 'node:fs';
import { parseDotenv } from './dotenv.ts';
import {
  errnoOf,
  decodeSecretText,
  secretUnavailableError,
  secretValueBytesMax,
} from './source.ts';
import type { SecretSource } from './source.ts';

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const fileBytesMax = 1024 * 1024;

export class DotenvSource implements SecretSource {
  readonly kind = 'dotenv';
  readonly origin: string;
  readonly cacheMs = 0;
  #read: { readonly mark: string; readonly values: ReadonlyMap<string, string> } | null = null;

  /** @param file absolute */
  constructor(file: string) {
    this.origin = file;
  }

  mark(): string {
    return markOf(this.origin);
  }

  async names(): Promise<readonly string[]> {
    return [...this.#values().keys()];
  }

  async read(name: string): Promise<string | null> {
    // A file that is not there has no names; a list says that it is missing.
    if (this.mark() === 'ENOENT') return null;
    const value = this.#values().get(name);
    if (value !== undefined) decodeSecretText(Buffer.from(value), `read the secret ${name}`);
    return value ?? null;
  }

  /** Reads the file again when it was replaced or has changed. */
  #values(): ReadonlyMap<string, string> {
    const mark = markOf(this.origin);
    if (this.#read?.mark !== mark) this.#read = { mark, values: readFile(this.origin) };
    return this.#read.values;
  }
}

/** A file that cannot be examined is read, and the reader reports why it cannot. */
function markOf(file: string): string {
  try {
    const found = lstatSync(file, { bigint: true });
    const { ino, mode, uid, size, mtimeNs, ctimeNs } = found;
    return [ino, mode, uid, size, mtimeNs, ctimeNs].join(' ');
  } catch (error) {
    return `${errnoOf(error)}`;
  }
}

/** @throws TrlError `SECRET_UNAVAILABLE` with what to do about it */
function readFile(file: string): ReadonlyMap<string, string> {
  const action = `read secrets from "${file}"`;
  let fd: number;
  try {
    // Not blocking: a FIFO in its place would otherwise hold the daemon.
    fd = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (cause) {
    const why: Readonly<Record<string, string>> = {
      ENOENT: 'there is no such file',
      ELOOP: 'it is a link; name the file that it points to',
      EACCES: 'this user may not read it',
    };
    throw secretUnavailableError(action, why[errnoOf(cause) ?? ''] ?? `${errnoOf(cause)}`, cause);
  }
  try {
    const found = fstatSync(fd);
    if (!found.isFile()) throw secretUnavailableError(action, 'it is no regular file');
    if (found.uid !== process.getuid?.()) {
      const wanted = `it is owned by uid ${found.uid}, and this is uid ${process.getuid?.()}`;
      throw secretUnavailableError(action, `${wanted}; run: chown ${process.getuid?.()} '${file}'`);
    }
    if ((found.mode & 0o077) !== 0) {
      const mode = (found.mode & 0o777).toString(8).padStart(4, '0');
      throw secretUnavailableError(
        action,
        `others may read it (mode ${mode}, wanted 0600); run: chmod 600 '${file}'`,
      );
    }
    if (found.size > fileBytesMax) {
      throw secretUnavailableError(action, `it is over ${fileBytesMax} bytes`);
    }
    return parse(action, readSecretBytes(fd, fileBytesMax));
  } finally {
    closeSync(fd);
  }
}

function parse(action: string, bytes: Uint8Array): ReadonlyMap<string, string> {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw secretUnavailableError(action, 'it is not UTF-8 text');
  }
  if (text.includes('\0')) throw secretUnavailableError(action, 'it holds a NUL byte');
  const found = parseDotenv(text);
  if ('reason' in found) {
    throw secretUnavailableError(action, `line ${found.line}: ${found.reason}`);
  }
  return found;
}

/** At most `bytesMax`, whatever the file says of its size. */
export function readSecretBytes(fd: number, bytesMax: number): Uint8Array {
  const pieces: Buffer[] = [];
  for (let left = bytesMax + 1; left > 0;) {
    const piece = Buffer.allocUnsafe(Math.min(left, secretValueBytesMax));
    const bytes = readSync(fd, piece);
    if (bytes === 0) break;
    pieces.push(piece.subarray(0, bytes));
    left -= bytes;
  }
  return Buffer.concat(pieces);
}
