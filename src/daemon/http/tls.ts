/** Reads the certificate and key from files, again whenever they change. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { TrlError } from '../../errors.ts';

/** How often the files are checked, in ms. */
const lookMs = 10_000;
const fileBytesMax = 1_048_576;

export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

export interface TlsPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/**
 * @throws TrlError `INVALID_PARAMS` if the files cannot be read or do not match, or other users may
 *   read the key
 */
export function readTlsPair(files: TlsFiles): TlsPair {
  const pair = { cert: read(files.cert, 'certificate'), key: read(files.key, 'key') };
  const { mode, uid } = statSync(files.key);
  if ((mode & 0o077) !== 0) {
    const found = `mode ${(mode & 0o777).toString(8)}, wanted 600`;
    throw refuse(`the key "${files.key}" is open to others (${found})`);
  }
  const own = process.getuid?.();
  if (own !== undefined && uid !== own && uid !== 0) {
    throw refuse(`the key "${files.key}" belongs to uid ${uid}, not to uid ${own}`);
  }
  try {
    createSecureContext(pair);
    // Node accepts a key of another type than the certificate's, and then every handshake fails.
    const isOf = new X509Certificate(pair.cert).checkPrivateKey(createPrivateKey(pair.key));
    if (!isOf) throw new Error('the key is of another certificate');
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw refuse(`"${files.cert}" and "${files.key}" are no pair: ${why}`, cause);
  }
  return pair;
}

/**
 * Calls `put` with the pair whenever the files change, and at SIGHUP. Logs a pair that cannot be
 * used, and keeps the one before.
 *
 * @returns a function that stops watching
 */
export function watchTlsPair(
  files: TlsFiles,
  put: (pair: TlsPair) => void,
  log: (text: string) => void,
): () => void {
  let seen = markOf(files);
  const load = (): void => {
    try {
      put(readTlsPair(files));
    } catch (error) {
      log(error instanceof Error ? error.message : String(error));
    }
  };
  const look = (): void => {
    const now = markOf(files);
    if (now === seen) return;
    seen = now;
    load();
  };
  const timer = setInterval(look, lookMs).unref();
  process.on('SIGHUP', load);
  return () => {
    clearInterval(timer);
    process.off('SIGHUP', load);
  };
}

function markOf({ cert, key }: TlsFiles): string {
  return [cert, key]
    .map((file) => {
      const found = statSync(file, { throwIfNoEntry: false, bigint: true });
      return found === undefined ? '' : `${found.ino} ${found.size} ${found.mtimeNs}`;
    })
    .join(' ');
}

function read(file: string, what: string): Buffer {
  try {
    // Reading a pipe would block.
    const found = statSync(file);
    if (found.isFile() && found.size <= fileBytesMax) return readFileSync(file);
  } catch (cause) {
    const why = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
    throw refuse(`the ${what} "${file}" cannot be read (${why})`, cause);
  }
  throw refuse(`the ${what} "${file}" is no file of at most ${fileBytesMax} bytes`);
}

function refuse(why: string, cause?: unknown): TrlError {
  return new TrlError('INVALID_PARAMS', `Cannot open HTTP: ${why}`, { cause });
}
