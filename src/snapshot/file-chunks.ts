/** Reads open files in chunks. Small files are read synchronously: to wait would cost more. */
import { fstatSync, read, readSync } from 'node:fs';

/** Bytes of a chunk; a longer content is stored as several. */
export const contentChunkBytes = 256 * 1024;
/** Files up to this size are read synchronously. */
const smallBytesMax = 64 * 1024;

/** Buffer for one small file at a time; nothing else runs while it is in use. */
const scratch = Buffer.alloc(smallBytesMax + 1);

/** All bytes of a small file, valid until the next call; `null`: it is not small. */
export function readSmallFile(fd: number): Buffer | null {
  let length = 0;
  while (length <= smallBytesMax) {
    const count = readSync(fd, scratch, length, scratch.length - length, length);
    if (count === 0) return scratch.subarray(0, length);
    length += count;
  }
  return null;
}

/** Whole chunks, then the rest; the buffers belong to the caller. */
export async function* readFileChunks(fd: number): AsyncGenerator<Buffer> {
  let position = 0;
  for (;;) {
    const chunk = Buffer.allocUnsafeSlow(contentChunkBytes);
    let length = 0;
    while (length < contentChunkBytes) {
      const count = await readSome(fd, chunk, length, position + length);
      if (count === 0) break;
      length += count;
    }
    if (length > 0) {
      yield length === contentChunkBytes ? chunk : Buffer.from(chunk.subarray(0, length));
    }
    if (length < contentChunkBytes) return;
    position += length;
  }
}

function readSome(fd: number, into: Buffer, offset: number, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    read(fd, into, offset, into.length - offset, position, (error, count) => {
      if (error === null) resolve(count);
      else reject(error);
    });
  });
}

/** Equal texts mean that the file was not written in between. */
export function fileStampOf(fd: number): string {
  const { size, mtimeNs, ctimeNs } = fstatSync(fd, { bigint: true });
  return `${size} ${mtimeNs} ${ctimeNs}`;
}
