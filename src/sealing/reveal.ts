/** Reads a raw log with an identity that it was sealed to. */
import { createHash } from 'node:crypto';
import { open, readFile, type FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import { readRange, systemErrorCode } from '../segment-files.ts';
import { chunkCipherBytesMax, chunkLengthBytes, chunkTagBytes, openChunk } from './chunk.ts';
import { parseRawLogRecords, rawLogPath, type RawLogRecord } from './chunk.ts';
import { decryptHeader, rawLogKeyPath } from './header.ts';
import { SealingError, type AgeIdentity } from './keys.ts';

/**
 * Yields the output in its order; if the log is incomplete or was altered, it yields everything
 * before that, and then throws. Bytes are as the command printed them, including control sequences,
 * with known values masked.
 *
 * This does not prove who wrote it: compare {@link digestRawLog} with what the audit log records.
 *
 * @param base `DIRECTORY/EXEC`
 * @throws SealingError `absent`, `shredded`, `wrong-identity`, `malformed`: before the first
 *   record; `truncated`, `altered`: also later
 */
export async function* revealRawLog(
  base: string,
  identities: readonly AgeIdentity[],
): AsyncGenerator<RawLogRecord, void, undefined> {
  const log = await openLog(base);
  try {
    const header = await readFile(rawLogKeyPath(base)).catch((error: unknown) => {
      if (systemErrorCode(error) !== 'ENOENT') throw error;
      throw new SealingError('shredded', 'Its key was destroyed, so it cannot be read');
    });
    const keys = decryptHeader(header, basename(base), identities);
    let at = 0;
    for (let number = 0; ; number += 1) {
      const chunk = await readChunk(log, at, number);
      at += chunkLengthBytes + chunk.length;
      const plain = openChunk(chunk, { number, last: false }, keys);
      const last = plain === null ? openChunk(chunk, { number, last: true }, keys) : null;
      const records = parseRawLogRecords(plain ?? last ?? altered(number));
      if (records === null) {
        throw new SealingError('malformed', `Chunk ${number} was not written by a redactor`);
      }
      yield* records;
      if (last === null) continue;
      const { size } = await log.stat();
      if (size > at) throw new SealingError('altered', 'Something follows its last chunk');
      return;
    }
  } finally {
    await log.close();
  }
}

/** Digest and size of the file, to be compared with the audit log. */
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
  const length = await readRange(log.fd, at, at + chunkLengthBytes);
  if (length.length < chunkLengthBytes) return truncated(number);
  const bytes = length.readUInt32LE();
  if (bytes === 0 || bytes > chunkCipherBytesMax) return altered(number);
  const [begin, size] = [at + chunkLengthBytes, bytes + chunkTagBytes];
  const chunk = await readRange(log.fd, begin, begin + size);
  return chunk.length < size ? truncated(number) : chunk;
}

function truncated(number: number): never {
  const what = 'its writer was killed, a limit was reached, the disk was full, or it was cut';
  throw new SealingError('truncated', `It ends after ${number} chunks without an end: ${what}`);
}

function altered(number: number): never {
  const what = 'its bytes, their order or the key file were changed';
  throw new SealingError('altered', `Chunk ${number} cannot be opened: ${what}`);
}
