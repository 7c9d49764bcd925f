/** Lines of a file, forward and in bounded memory. */
import { readSync } from 'node:fs';

const chunkBytes = 1024 * 1024;

export interface LogLine {
  /** Holds the line from `start` up to `end`; it is only good until the next line is asked for. */
  readonly buffer: Buffer;
  readonly start: number;
  readonly end: number;
  /** Of its first byte in the file. */
  readonly offset: number;
  /** `false`: the bytes end without a newline. */
  readonly isWhole: boolean;
}

/**
 * Lines from byte `begin`, the start of one, up to byte `end`. A line that is longer than
 * `lineBytesMax` is given in pieces, which are not whole. There is a byte before `start` that may
 * be written to.
 */
export function* readLogLines(
  fd: number,
  begin: number,
  end: number,
  lineBytesMax: number,
): Generator<LogLine> {
  let buffer = Buffer.allocUnsafe(Math.min(chunkBytes, Math.max(1, end - begin)) + 1);
  // Bytes of an unfinished line lie from 1 up to `filled`; byte 0 is nobody's.
  let filled = 1;
  let position = begin;
  while (position < end) {
    if (filled === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2);
    const asked = Math.min(buffer.length - filled, end - position);
    const read = readSync(fd, buffer, filled, asked, position);
    if (read === 0) break;
    position += read;
    const searchFrom = filled;
    filled += read;
    let start = 1;
    for (let at = buffer.indexOf(10, searchFrom); at >= 0 && at < filled;) {
      yield { buffer, start, end: at, offset: position - (filled - start), isWhole: true };
      start = at + 1;
      at = buffer.indexOf(10, start);
    }
    if (filled - start > lineBytesMax) {
      yield {
        buffer,
        start,
        end: filled,
        offset: position - (filled - start),
        isWhole: false,
      };
      start = filled;
    }
    buffer.copyWithin(1, start, filled);
    filled = 1 + (filled - start);
  }
  if (filled > 1) {
    const offset = position - (filled - 1);
    yield { buffer, start: 1, end: filled, offset, isWhole: false };
  }
}

/**
 * Bytes from `begin` up to `end`, or as far as the file goes.
 *
 * @param room for them, of at least so many bytes: its own unless given
 */
export function readByteRange(
  fd: number,
  begin: number,
  end: number,
  room: Buffer = Buffer.allocUnsafe(Math.max(0, end - begin)),
): Buffer {
  const wanted = Math.max(0, end - begin);
  let filled = 0;
  while (filled < wanted) {
    const read = readSync(fd, room, filled, wanted - filled, begin + filled);
    if (read === 0) break;
    filled += read;
  }
  return room.subarray(0, filled);
}
