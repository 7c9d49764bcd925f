/**
 * The status of a log that is opened, from its end: the last head that our key signed, and what
 * follows it.
 */
import { limits } from '../limits.ts';
import { firstPrevHash, headLinePrefix, parseHeadLine } from './line-format.ts';
import { readByteRange, withOpenFile } from './line-reader.ts';
import { listSegments, preserveTornWrite, type LogSegment } from './log-files.ts';
import { leafHash, type MerkleTree } from './merkle.ts';
import type { NodeHashFile } from './node-hash-file.ts';
import type { Checkpoint } from './signed-note.ts';
import { LogLostError, type VerifyHead } from './store.ts';

/** The most that one unfinished write can have left. */
const tornBytesMax = limits.auditGroupBytes.max + 64 * 1024;
/** To check a signature takes 0.15 ms; an end full of invalid heads is no torn write. */
const falseHeadsMax = 1000;
/** Bytes of the first search from the end; each further one reads four times as many. */
const firstSearchBytes = 64 * 1024;

/** The last trusted head. */
export interface LogTail {
  readonly note: string;
  readonly checkpoint: Checkpoint;
  /** Bytes of its line in the segment, from `begin` up to `end`. */
  readonly begin: number;
  readonly end: number;
}

export interface LogStatus {
  /** The segment that is written. */
  readonly segment: LogSegment;
  readonly tail: LogTail;
  readonly tree: MerkleTree;
  readonly prev: string;
}

/**
 * `null`: the log is empty. A torn write is preserved, and cut off.
 *
 * @throws LogLost when the end is not that of a log with at most one torn write behind it
 */
export async function readLogStatus(
  directory: string,
  nodes: NodeHashFile,
  verifyHead: VerifyHead,
): Promise<LogStatus | null> {
  const segments = listSegments(directory);
  const tail = await repairedTail(directory, segments, verifyHead);
  const segment = segments.at(-1);
  if (tail === null || segment === undefined) return null;
  const { checkpoint, end } = tail;
  const line = findLastEventLine(segments, tail.begin);
  if ((line === null) !== (checkpoint.size === 0)) {
    throw new LogLostError('its last head does not follow an event');
  }
  const prev = line === null ? firstPrevHash : leafHash(line).toString('hex');
  const stored = await nodes.tree(checkpoint, prev);
  const tree = stored ?? (await nodes.rebuild({ segments, end, checkpoint, verifyHead }));
  return { segment, tail, tree, prev };
}

/** Removes a segment that has nothing but a torn write from `segments`. */
async function repairedTail(
  directory: string,
  segments: LogSegment[],
  verifyHead: VerifyHead,
): Promise<LogTail | null> {
  const segment = segments.at(-1);
  if (segment === undefined) return null;
  const { tail, length } = tailOf(segment, verifyHead);
  if (tail === null) {
    await preserveTornWrite(directory, { file: segment.file, begin: 0, seq: segment.first });
    segments.pop();
    return completeTail(segments.at(-1), verifyHead);
  }
  if (length - tail.end > tornBytesMax) {
    throw new LogLostError(`behind its last head are ${length - tail.end} bytes`);
  }
  if (length > tail.end) {
    const torn = { file: segment.file, begin: tail.end, seq: tail.checkpoint.size };
    await preserveTornWrite(directory, torn);
  }
  return tail;
}

/** A segment that another one follows ends with a head. */
function completeTail(segment: LogSegment | undefined, verifyHead: VerifyHead): LogTail | null {
  if (segment === undefined) return null;
  const { tail, length } = tailOf(segment, verifyHead);
  if (tail === null || tail.end !== length) {
    throw new LogLostError(`"${segment.file}" does not end with a head`);
  }
  return tail;
}

const tailOf = (
  segment: LogSegment,
  verifyHead: VerifyHead,
): { readonly tail: LogTail | null; readonly length: number } =>
  withOpenFile(segment.file, (fd, length) => ({
    tail: findLastHead(fd, length, verifyHead),
    length,
  }));

/**
 * The last trusted head in the first `length` bytes; `null`: there is none, and one write can have
 * left that many bytes.
 *
 * @throws LogLost when there is none where one must be
 */
export function findLastHead(fd: number, length: number, verifyHead: VerifyHead): LogTail | null {
  let tries = falseHeadsMax;
  let searchedFrom = length;
  for (let search = firstSearchBytes; ; search *= 4) {
    const begin = Math.max(0, length - Math.min(search, tornBytesMax));
    const bytes = readByteRange(fd, begin, length);
    for (const line of headLines(bytes, begin, searchedFrom)) {
      tries -= 1;
      if (tries < 0) throw new LogLostError('its end is full of heads that were not signed here');
      const note = parseHeadLine(line.text);
      const checkpoint = note === null ? null : verifyHead(note);
      if (note !== null && checkpoint !== null) {
        return { note, checkpoint, begin: line.begin, end: line.end };
      }
    }
    if (begin === 0) return null;
    if (search >= tornBytesMax) {
      throw new LogLostError(`its last ${tornBytesMax} bytes have no head`);
    }
    searchedFrom = begin + 1;
  }
}

interface HeadText {
  readonly text: string;
  readonly begin: number;
  readonly end: number;
}

/** From last to first, those that begin before byte `before` of the file. */
function* headLines(bytes: Buffer, begin: number, before: number): Generator<HeadText> {
  const mark = Buffer.from(headLinePrefix);
  let from = Math.min(bytes.length, before - begin - 1);
  while (from >= 0) {
    const at = bytes.lastIndexOf(mark, from);
    if (at < 0) return;
    from = at - 1;
    // What precedes the bytes is unknown.
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
function findLastEventLine(segments: readonly LogSegment[], end: number): string | null {
  const [previous, segment] = [segments.at(-2), segments.at(-1)];
  if (segment === undefined) return null;
  const line = withOpenFile(segment.file, (fd) => lineBefore(fd, end));
  // Two heads follow each other only where a segment begins.
  if (line !== null && !line.startsWith(headLinePrefix)) return line;
  if (previous === undefined) return null;
  return withOpenFile(previous.file, (fd, length) => {
    const head = lineBefore(fd, length);
    return head === null ? null : lineBefore(fd, length - Buffer.byteLength(head) - 1);
  });
}

/** The whole line that ends right before byte `end`; `null`: the file begins there. */
function lineBefore(fd: number, end: number): string | null {
  if (end === 0) return null;
  for (let search = firstSearchBytes; ; search *= 4) {
    const begin = Math.max(0, end - search);
    // Without its newline.
    const bytes = readByteRange(fd, begin, end - 1);
    const at = bytes.lastIndexOf(10);
    if (at >= 0 || begin === 0) return bytes.toString('utf8', at + 1);
    if (search > tornBytesMax) throw new LogLostError('its last line is longer than any is');
  }
}
