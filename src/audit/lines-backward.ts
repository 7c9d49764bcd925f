/** Lines of a file from its end, in bounded memory. */
import { readByteRange } from './line-reader.ts';

const chunkBytes = 256 * 1024;

/**
 * Whole lines in the first `length` bytes, from the last to the first, without their newlines. A
 * line without an end, at the end, is none.
 */
export function* readLinesBackward(fd: number, length: number): Generator<Buffer> {
  let position = length;
  // The beginning of a line whose end was read before.
  let rest: Buffer | null = null;
  while (position > 0) {
    const begin = Math.max(0, position - chunkBytes);
    const chunk = readByteRange(fd, begin, position);
    position = begin;
    let end = chunk.length;
    for (let at = chunk.lastIndexOf(10, end - 1); at >= 0; at = chunk.lastIndexOf(10, end - 1)) {
      const line: Buffer = chunk.subarray(at + 1, end);
      if (rest !== null) yield rest.length === 0 ? line : Buffer.concat([line, rest]);
      rest = Buffer.alloc(0);
      end = at;
      if (end === 0) break;
    }
    if (rest !== null) rest = Buffer.concat([chunk.subarray(0, end), rest]);
  }
  if (rest !== null) yield rest;
}
