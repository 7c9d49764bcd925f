/**
 * Where a log stands, by its end alone: the last head that our key signed, and what follows it.
 */
import { closeSync, fstatSync } from 'node:fs';
import { limits } from '../limits.ts';
import { readByteRange } from './line-reader.ts';
import { headLinePrefix, parseHeadLine } from './line-format.ts';
import type { Checkpoint } from './signed-note.ts';
import { openForReading, type LogSegment } from './segments.ts';
import { LogLostError, type VerifyHead } from './store.ts';

/** All that one write that never ended can have left. */
export const tornBytesMax = limits.auditGroupBytes.max + 64 * 1024;
/** A signature takes 0.15 ms: an end that is full of false heads is no torn write. */
const falseHeadsMax = 1000;
const firstLook = 64 * 1024;

export interface LogTail {
  readonly note: string;
  readonly checkpoint: Checkpoint;
  /** Bytes of the head line in its segment. */
  readonly begin: number;
  readonly end: number;
}

/**
 * The last trusted head in the first `length` bytes; `null`: there is none, and they are few enough
 * for one write.
 *
 * @throws LogLost when none is as near to the end as it must be
 */
export function findLastHead(fd: number, length: number, trusts: VerifyHead): LogTail | null {
  let tries = falseHeadsMax;
  let unseen = length;
  for (let look = firstLook; ; look *= 4) {
    const begin = Math.max(0, length - Math.min(look, tornBytesMax));
    const bytes = readByteRange(fd, begin, length);
    for (const line of headLines(bytes, begin, unseen)) {
      tries -= 1;
      if (tries < 0) throw new LogLostError('its end is full of heads that were not signed here');
      const note = parseHeadLine(line.text);
      const checkpoint = note === null ? null : trusts(note);
      if (note !== null && checkpoint !== null) {
        return { note, checkpoint, begin: line.begin, end: line.end };
      }
    }
    if (begin === 0) return null;
    if (look >= tornBytesMax) throw new LogLostError(`its last ${tornBytesMax} bytes have no head`);
    // Lines that begin behind this were looked at.
    unseen = begin + 1;
  }
}

interface HeadText {
  readonly text: string;
  readonly begin: number;
  readonly end: number;
}

/** From last to first, those that begin before byte `unseen` of the file. */
function* headLines(bytes: Buffer, begin: number, unseen: number): Generator<HeadText> {
  const mark = Buffer.from(headLinePrefix);
  let from = Math.min(bytes.length, unseen - begin - 1);
  while (from >= 0) {
    const at = bytes.lastIndexOf(mark, from);
    if (at < 0) return;
    from = at - 1;
    // At the very start of the look it is not known what is before.
    const startsLine = at === 0 ? begin === 0 : bytes[at - 1] === 10;
    const end = startsLine ? bytes.indexOf(10, at) : -1;
    if (end >= 0) {
      const text = bytes.toString('utf8', at, end);
      yield { text, begin: begin + at, end: begin + end + 1 };
    }
    if (at === 0) return;
  }
}

/** The last event line before byte `end` of the last of `segments`; `null`: there is none. */
export function findLastEventLine(segments: readonly LogSegment[], end: number): string | null {
  const segment = segments.at(-1);
  if (segment === undefined) return null;
  const fd = openForReading(segment.file);
  try {
    const line = lineBefore(fd, end);
    // Heads follow each other only where a segment begins.
    if (line !== null && !line.startsWith(headLinePrefix)) return line;
  } finally {
    closeSync(fd);
  }
  const before = segments.slice(0, -1);
  const last = before.at(-1);
  if (last === undefined) return null;
  return withOpenFile(last.file, (one, length) => {
    const head = lineBefore(one, length);
    return head === null ? null : lineBefore(one, length - Buffer.byteLength(head) - 1);
  });
}

/** The whole line that ends right before byte `end`; `null` where the file begins there. */
function lineBefore(fd: number, end: number): string | null {
  if (end === 0) return null;
  for (let look = firstLook; ; look *= 4) {
    const begin = Math.max(0, end - look);
    // Without its newline.
    const bytes = readByteRange(fd, begin, end - 1);
    const at = bytes.lastIndexOf(10);
    if (at >= 0 || begin === 0) return bytes.toString('utf8', at + 1);
    if (look > tornBytesMax) throw new LogLostError('its last line is longer than any is');
  }
}

export function withOpenFile<T>(file: string, use: (fd: number, length: number) => T): T {
  const fd = openForReading(file);
  try {
    return use(fd, fstatSync(fd).size);
  } finally {
    closeSync(fd);
  }
}
