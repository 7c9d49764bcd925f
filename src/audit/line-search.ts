/**
 * Finds lines of a file by bytes that they hold: most of a log is passed over without a look at
 * where its lines begin.
 */
import { readByteRange } from './line-reader.ts';

export type EventOrder = 'newest' | 'oldest';

/** What a line has to hold: one of each list. */
export type RequiredBytes = readonly (readonly Buffer[])[];

const chunkBytes = 256 * 1024;

/**
 * Lines in the first `length` bytes of a file, which end with a newline, without theirs. The first
 * list is what is looked for, so it should be the rarest. A line is only good until the next one
 * is asked for.
 */
export function* findLinesWith(
  fd: number,
  length: number,
  marks: RequiredBytes,
  order: EventOrder,
): Generator<Buffer> {
  const [first = []] = marks;
  for (const chunk of order === 'newest' ? chunksBackward(fd, length) : chunks(fd, length)) {
    const begins = beginsOf(chunk, first);
    for (const begin of order === 'newest' ? begins.toReversed() : begins) {
      const line = chunk.subarray(begin, chunk.indexOf(10, begin));
      if (marks.every((any) => any.some((mark) => line.includes(mark)))) yield line;
    }
  }
}

/** Where the lines begin that hold one of the marks, from first to last. */
function beginsOf(chunk: Buffer, marks: readonly Buffer[]): number[] {
  const begins = new Set<number>();
  for (const mark of marks) {
    for (let at = chunk.indexOf(mark); at >= 0;) {
      begins.add(at === 0 ? 0 : chunk.lastIndexOf(10, at - 1) + 1);
      const end = chunk.indexOf(10, at);
      at = end < 0 ? -1 : chunk.indexOf(mark, end + 1);
    }
  }
  return marks.length === 1 ? [...begins] : [...begins].toSorted((a, b) => a - b);
}

/** Whole lines with their newlines, as many as are in a read; each in place of those before. */
function* chunks(fd: number, length: number): Generator<Buffer> {
  let room = Buffer.allocUnsafe(chunkBytes);
  for (let begin = 0; begin < length;) {
    const bytes = readByteRange(fd, begin, Math.min(length, begin + room.length), room);
    const end = bytes.lastIndexOf(10) + 1;
    if (bytes.length === 0 || (end === 0 && begin + room.length >= length)) return;
    if (end === 0) room = Buffer.allocUnsafe(room.length * 2);
    begin += end;
    if (end > 0) yield bytes.subarray(0, end);
  }
}

/** The same from the end. */
function* chunksBackward(fd: number, length: number): Generator<Buffer> {
  let room = Buffer.allocUnsafe(chunkBytes);
  for (let end = length; end > 0;) {
    const from = Math.max(0, end - room.length);
    const bytes = readByteRange(fd, from, end, room);
    // The line that the first bytes are the rest of comes with what is before them.
    const begin = from === 0 ? 0 : bytes.indexOf(10) + 1;
    const isPart = from > 0 && (begin === 0 || begin === bytes.length);
    if (isPart) {
      room = Buffer.allocUnsafe(room.length * 2);
      continue;
    }
    end = from + begin;
    yield bytes.subarray(begin);
  }
}
