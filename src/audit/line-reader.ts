/** Reads ranges and lines of a file, in bounded memory: forward, backward, or those with a mark. */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { limits } from '../limits.ts';

const forwardBytes = 1024 * 1024;
const blockBytes = 256 * 1024;

/** An event of the largest size with its position in the chain. */
export const lineBytesMax = limits.auditEventBytes.max + 1024;

export const openForReading = (file: string): number =>
  openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW);

/** @param use gets the descriptor and the length of the file */
export function withOpenFile<T>(file: string, use: (fd: number, length: number) => T): T {
  const fd = openForReading(file);
  try {
    return use(fd, fstatSync(fd).size);
  } finally {
    closeSync(fd);
  }
}

/**
 * Bytes from `begin` up to `end`, fewer only where the file ends.
 *
 * @param room for at least so many bytes; default: a new buffer
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

export interface LogLine {
  /** Holds the line from `start` up to `end`; valid until the next line is read. */
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
 * {@link lineBytesMax} comes in slices, which are not whole. The byte before `start` may be
 * overwritten.
 */
export function* readLogLines(fd: number, begin: number, end: number): Generator<LogLine> {
  let buffer = Buffer.allocUnsafe(Math.min(forwardBytes, Math.max(1, end - begin)) + 1);
  // Bytes of an unfinished line are from 1 up to `filled`; byte 0 is unused.
  let filled = 1;
  let position = begin;
  while (position < end) {
    if (filled === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2);
    const wanted = Math.min(buffer.length - filled, end - position);
    const read = readSync(fd, buffer, filled, wanted, position);
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
      const offset = position - (filled - start);
      yield { buffer, start, end: filled, offset, isWhole: false };
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
 * Whole lines in the first `length` bytes, from the last to the first, without their newlines. An
 * unfinished line at the end is skipped.
 */
export function* readLinesBackward(fd: number, length: number): Generator<Buffer> {
  let position = length;
  // The beginning of a line whose end was read before.
  let rest: Buffer | null = null;
  while (position > 0) {
    const begin = Math.max(0, position - blockBytes);
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

export type EventOrder = 'newest' | 'oldest';

/** What a line must contain: one of each list. */
export type RequiredBytes = readonly (readonly Buffer[])[];

/**
 * Whole lines with these bytes in the first `length` bytes of a file, without their newlines. The
 * first list is searched for and should be the rarest: most of a log is skipped without finding
 * where its lines begin. A line is valid until the next one is read.
 */
export function* findLinesWith(
  fd: number,
  length: number,
  marks: RequiredBytes,
  order: EventOrder,
): Generator<Buffer> {
  const [first = []] = marks;
  for (const block of order === 'newest' ? blocksBackward(fd, length) : blocks(fd, length)) {
    const begins = beginsOf(block, first);
    for (const begin of order === 'newest' ? begins.toReversed() : begins) {
      const line = block.subarray(begin, block.indexOf(10, begin));
      if (marks.every((any) => any.some((mark) => line.includes(mark)))) yield line;
    }
  }
}

/** Where the lines that contain one of the marks begin, from first to last. */
function beginsOf(block: Buffer, marks: readonly Buffer[]): number[] {
  const begins = new Set<number>();
  for (const mark of marks) {
    for (let at = block.indexOf(mark); at >= 0;) {
      begins.add(at === 0 ? 0 : block.lastIndexOf(10, at - 1) + 1);
      const end = block.indexOf(10, at);
      at = end < 0 ? -1 : block.indexOf(mark, end + 1);
    }
  }
  return marks.length === 1 ? [...begins] : [...begins].toSorted((a, b) => a - b);
}

/** Whole lines with their newlines, as many as one read gives; each block reuses the buffer. */
function* blocks(fd: number, length: number): Generator<Buffer> {
  let room = Buffer.allocUnsafe(blockBytes);
  for (let begin = 0; begin < length;) {
    const bytes = readByteRange(fd, begin, Math.min(length, begin + room.length), room);
    const end = bytes.lastIndexOf(10) + 1;
    if (bytes.length === 0 || (end === 0 && begin + room.length >= length)) return;
    if (end === 0) room = Buffer.allocUnsafe(room.length * 2);
    begin += end;
    if (end > 0) yield bytes.subarray(0, end);
  }
}

/** The same from the end of the file. */
function* blocksBackward(fd: number, length: number): Generator<Buffer> {
  let room = Buffer.allocUnsafe(blockBytes);
  for (let end = length; end > 0;) {
    const from = Math.max(0, end - room.length);
    const bytes = readByteRange(fd, from, end, room);
    // The first bytes belong to a line that the next block contains as a whole.
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
