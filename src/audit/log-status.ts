/** Where a log in files stands when it is opened. */
import { leafHash, type MerkleTree } from './merkle.ts';
import type { NodeHashFile } from './node-hash-file.ts';
import { listSegments, type LogSegment } from './segments.ts';
import { LogLostError, type VerifyHead } from './store.ts';
import {
  findLastEventLine,
  findLastHead,
  tornBytesMax,
  withOpenFile,
  type LogTail,
} from './log-tail.ts';
import { preserveTornWrite } from './torn-writes.ts';
import { firstPrevHash } from './line-format.ts';

export interface LogStatus {
  /** The segment that is written, and the last head in it. */
  readonly segment: LogSegment;
  readonly tail: LogTail;
  readonly tree: MerkleTree;
  readonly prev: string;
}

/**
 * `null`: there is nothing yet. What one write left unfinished is set aside.
 *
 * @throws LogLost when the end is not that of a log with at most one unfinished write behind it
 */
export async function readLogStatus(
  directory: string,
  nodes: NodeHashFile,
  trusts: VerifyHead,
): Promise<LogStatus | null> {
  const segments = listSegments(directory);
  const tail = endOf(directory, segments, trusts);
  const segment = segments.at(-1);
  if (tail === null || segment === undefined) return null;
  const { checkpoint, end } = tail;
  const line = findLastEventLine(segments, tail.begin);
  if ((line === null) !== (checkpoint.size === 0)) {
    throw new LogLostError('its last head does not follow an event');
  }
  const prev = line === null ? firstPrevHash : leafHash(line).toString('hex');
  const known = await nodes.tree(checkpoint, prev);
  const tree = known ?? (await nodes.rebuild({ segments, end, checkpoint, trusts }));
  return { segment, tail, tree, prev };
}

/** Takes a segment that holds nothing but an unfinished write out of `segments`. */
function endOf(directory: string, segments: LogSegment[], trusts: VerifyHead): LogTail | null {
  const segment = segments.at(-1);
  if (segment === undefined) return null;
  const { tail, length } = endIn(segment, trusts);
  if (tail === null) {
    preserveTornWrite(directory, segment.file, 0, segment.first);
    segments.pop();
    return wholeEnd(segments.at(-1), trusts);
  }
  if (length - tail.end > tornBytesMax) {
    throw new LogLostError(`behind its last head lie ${length - tail.end} bytes`);
  }
  if (length > tail.end) preserveTornWrite(directory, segment.file, tail.end, tail.checkpoint.size);
  return tail;
}

/** A segment behind which another was begun ends with a head. */
function wholeEnd(segment: LogSegment | undefined, trusts: VerifyHead): LogTail | null {
  if (segment === undefined) return null;
  const { tail, length } = endIn(segment, trusts);
  if (tail === null || tail.end !== length) {
    throw new LogLostError(`"${segment.file}" does not end with a head`);
  }
  return tail;
}

function endIn(
  segment: LogSegment,
  trusts: VerifyHead,
): { readonly tail: LogTail | null; readonly length: number } {
  return withOpenFile(segment.file, (fd, length) => ({
    tail: findLastHead(fd, length, trusts),
    length,
  }));
}
