/** Reads a raw log back, with an identity that it was sealed to. */
import { createHash } from 'node:crypto';
import { open, readFile, type FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import { chunkCipherBytesMax, chunkLengthBytes, openChunk, chunkTagBytes } from './chunk.ts';
import { SealingError } from './sealing-error.ts';
import { systemErrorCode, rawLogKeyPath, rawLogPath } from './raw-log-files.ts';
import { decryptHeader } from './header.ts';
import type { AgeIdentity } from './keys.ts';
import { parseRawLogRecords, type RawLogRecord } from './raw-log-records.ts';

/**
 * Gives what is there in the order in which it was printed; a log that ends too soon or was altered
 * gives all that comes before, and then throws. Bytes are what the command printed, control
 * sequences and all, with known values masked.
 *
 * Nothing is said of who wrote it: compare {@link digestRawLog} with what the audit log holds.
 *
 * @param base `DIRECTORY/EXEC`
 * @throws SealingError `absent`, `shredded`, `wrong-identity`, `malformed`: before anything is
 *   given; `truncated`, `altered`: also after
 */
export async function* revealRawLog(
  base: string,
  identities: readonly AgeIdentity[],
): AsyncGenerator<RawLogRecord, void, undefined> {
  const log = await openLog(base);
  try {
    const header = await readFile(rawLogKeyPath(base)).catch((error: unknown) => {
      if (systemErrorCode(error) !== 'ENOENT') throw error;
      throw new SealingError('shredded', 'Its key was destroyed, so nobody can read it');
    });
    const opened = decryptHeader(header, basename(base), identities);
    let at = 0;
    for (let number = 0; ; number += 1) {
      const chunk = await readChunk(log, at, number);
      at += chunkLengthBytes + chunk.length;
      const plain = openChunk(chunk, { number, last: false }, opened);
      const last = plain === null ? openChunk(chunk, { number, last: true }, opened) : null;
      const pieces = parseRawLogRecords(plain ?? last ?? altered(number));
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
export async function digestRawLog(
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
    return await open(rawLogPath(base), 'r');
  } catch (error) {
    if (systemErrorCode(error) !== 'ENOENT') throw error;
    throw new SealingError('absent', `There is no raw log of ${basename(base)}`);
  }
}

/** Ciphertext and tag of the chunk at byte `at`. */
async function readChunk(log: FileHandle, at: number, number: number): Promise<Buffer> {
  const length = await readFully(log, at, chunkLengthBytes);
  if (length.length < chunkLengthBytes) return truncated(number);
  const bytes = length.readUInt32LE();
  if (bytes === 0 || bytes > chunkCipherBytesMax) return altered(number);
  const chunk = await readFully(log, at + chunkLengthBytes, bytes + chunkTagBytes);
  return chunk.length < bytes + chunkTagBytes ? truncated(number) : chunk;
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
