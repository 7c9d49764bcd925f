/** Reads a raw log back, with an identity that it was sealed to. */
import { createHash } from 'node:crypto';
import { open, readFile, type FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import { cipherBytesMax, lengthBytes, openChunk, tagBytes } from './chunk.ts';
import { SealingError } from './error.ts';
import { errorCode, keyPath, logPath } from './files.ts';
import { openHeader } from './header.ts';
import type { Identity } from './keys.ts';
import { readPieces, type RevealedPiece } from './pieces.ts';

/**
 * Gives what is there in the order in which it was printed; a log that ends too soon or was altered
 * gives all that comes before, and then throws. Bytes are what the command printed, control
 * sequences and all, with known values masked.
 *
 * Nothing is said of who wrote it: compare {@link sealedDigest} with what the audit log holds.
 *
 * @param base `DIRECTORY/EXEC`
 * @throws SealingError `absent`, `shredded`, `wrong-identity`, `malformed`: before anything is
 *   given; `truncated`, `altered`: also after
 */
export async function* reveal(
  base: string,
  identities: readonly Identity[],
): AsyncGenerator<RevealedPiece, void, undefined> {
  const log = await openLog(base);
  try {
    const header = await readFile(keyPath(base)).catch((error: unknown) => {
      if (errorCode(error) !== 'ENOENT') throw error;
      throw new SealingError('shredded', 'Its key was destroyed, so nobody can read it');
    });
    const opened = openHeader(header, basename(base), identities);
    let at = 0;
    for (let number = 0; ; number += 1) {
      const chunk = await readChunk(log, at, number);
      at += lengthBytes + chunk.length;
      const plain = openChunk(chunk, { number, last: false }, opened);
      const last = plain === null ? openChunk(chunk, { number, last: true }, opened) : null;
      const pieces = readPieces(plain ?? last ?? altered(number));
      if (pieces === null) {
        throw new SealingError('malformed', `Chunk ${number} holds what no redactor wrote`);
      }
      yield* pieces;
      if (last === null) continue;
      const { size } = await log.stat();
      if (size > at) throw new SealingError('altered', 'Something follows its last chunk');
      return;
    }
  } finally {
    await log.close();
  }
}

/** What the file of a raw log is now, to be compared with what was recorded of it. */
export async function sealedDigest(
  base: string,
): Promise<{ readonly sha256: string; readonly bytes: number }> {
  const log = await openLog(base);
  const digest = createHash('sha256');
  let bytes = 0;
  for await (const part of log.createReadStream()) {
    digest.update(part);
    bytes += part.length;
  }
  return { sha256: digest.digest('hex'), bytes };
}

async function openLog(base: string): Promise<FileHandle> {
  try {
    return await open(logPath(base), 'r');
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    throw new SealingError('absent', `There is no raw log of ${basename(base)}`);
  }
}

/** Ciphertext and tag of the chunk at byte `at`. */
async function readChunk(log: FileHandle, at: number, number: number): Promise<Buffer> {
  const length = await readFully(log, at, lengthBytes);
  if (length.length < lengthBytes) return truncated(number);
  const bytes = length.readUInt32LE();
  if (bytes === 0 || bytes > cipherBytesMax) return altered(number);
  const chunk = await readFully(log, at + lengthBytes, bytes + tagBytes);
  return chunk.length < bytes + tagBytes ? truncated(number) : chunk;
}

/** Fewer bytes than asked for only at the end of the file. */
async function readFully(log: FileHandle, at: number, bytes: number): Promise<Buffer> {
  const buffer = Buffer.alloc(bytes);
  let done = 0;
  while (done < bytes) {
    const { bytesRead } = await log.read(buffer, done, bytes - done, at + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return buffer.subarray(0, done);
}

function truncated(number: number): never {
  const what = 'whoever wrote it was ended, a bound or the disk was full, or somebody cut it';
  throw new SealingError('truncated', `It ends after ${number} chunks without an end: ${what}`);
}

function altered(number: number): never {
  const what = 'its bytes, their order or the key file are not those that were written';
  throw new SealingError('altered', `Chunk ${number} cannot be opened: ${what}`);
}
