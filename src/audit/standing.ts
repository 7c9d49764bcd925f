/** Where a log in files stands when it is opened. */
import { leafHash, type Tree } from './merkle.ts';
import type { Nodes } from './nodes.ts';
import { segmentsOf, type Segment } from './segments.ts';
import { LogLost, type Trusts } from './store.ts';
import { lastEventLine, lastHead, tornBytesMax, withFile, type Tail } from './tail.ts';
import { setAside } from './torn.ts';
import { firstPrev } from './line.ts';

export interface Standing {
  /** The segment that is written, and the last head in it. */
  readonly segment: Segment;
  readonly tail: Tail;
  readonly tree: Tree;
  readonly prev: string;
}

/**
 * `null`: there is nothing yet. What one write left unfinished is set aside.
 *
 * @throws LogLost when the end is not that of a log with at most one unfinished write behind it
 */
export async function standingOf(
  directory: string,
  nodes: Nodes,
  trusts: Trusts,
): Promise<Standing | null> {
  const segments = segmentsOf(directory);
  const tail = endOf(directory, segments, trusts);
  const segment = segments.at(-1);
  if (tail === null || segment === undefined) return null;
  const { checkpoint, end } = tail;
  const line = lastEventLine(segments, tail.begin);
  if ((line === null) !== (checkpoint.size === 0)) {
    throw new LogLost('its last head does not follow an event');
  }
  const prev = line === null ? firstPrev : leafHash(line).toString('hex');
  const known = await nodes.tree(checkpoint, prev);
  const tree = known ?? (await nodes.rebuild({ segments, end, checkpoint, trusts }));
  return { segment, tail, tree, prev };
}

/** Takes a segment that holds nothing but an unfinished write out of `segments`. */
function endOf(directory: string, segments: Segment[], trusts: Trusts): Tail | null {
  const segment = segments.at(-1);
  if (segment === undefined) return null;
  const { tail, length } = endIn(segment, trusts);
  if (tail === null) {
    setAside(directory, segment.file, 0, segment.first);
    segments.pop();
    return wholeEnd(segments.at(-1), trusts);
  }
  if (length - tail.end > tornBytesMax) {
    throw new LogLost(`behind its last head lie ${length - tail.end} bytes`);
  }
  if (length > tail.end) setAside(directory, segment.file, tail.end, tail.checkpoint.size);
  return tail;
}

/** A segment behind which another was begun ends with a head. */
function wholeEnd(segment: Segment | undefined, trusts: Trusts): Tail | null {
  if (segment === undefined) return null;
  const { tail, length } = endIn(segment, trusts);
  if (tail === null || tail.end !== length) {
    throw new LogLost(`"${segment.file}" does not end with a head`);
  }
  return tail;
}

function endIn(
  segment: Segment,
  trusts: Trusts,
): { readonly tail: Tail | null; readonly length: number } {
  return withFile(segment.file, (fd, length) => ({ tail: lastHead(fd, length, trusts), length }));
}
