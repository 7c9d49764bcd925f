/** What several commands changed in all. */
import { isDeepStrictEqual } from 'node:util';
import type { BytePath, Change, ChangeKind, Entry } from '../change.ts';

/**
 * One change a path: from what stood there before the first to what stands there after the last.
 * What was undone on the way is not in it. A change that is over, by conflict or thrown away, does
 * not count: the tree never had it.
 *
 * @param runs the changes of each command, oldest first
 */
export function netChanges(runs: readonly (readonly Change[])[]): Change[] {
  const net = new Map<BytePath, Change>();
  for (const change of runs.flat()) {
    if (change.state === 'conflict' || change.state === 'discarded') continue;
    const first = net.get(change.path);
    net.set(change.path, first === undefined ? change : both(first, change));
  }
  return [...net.values()]
    .filter(({ before, after }) => !isDeepStrictEqual(before, after))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

function both(first: Change, last: Change): Change {
  const { before } = first;
  const { after } = last;
  const marks = [...new Set([...first.marks, ...last.marks])];
  const concurrentWith = [...new Set([...first.concurrentWith, ...last.concurrentWith])];
  return { ...last, before, after, kind: kindOf(before, after), marks, concurrentWith };
}

/** What became of a path that is not as before. */
export function kindOf(before: Entry | null, after: Entry | null): ChangeKind {
  if (after === null) return 'deleted';
  if (after.type === 'fifo' || after.type === 'socket' || after.type === 'device') return 'special';
  if (before === null) return 'added';
  if (before.type !== after.type) return 'type';
  if (before.type === 'symlink') return 'symlink';
  if (before.type === 'file' && after.type === 'file') {
    const isKnown = before.sha256 !== null && after.sha256 !== null;
    const isOther = before.size !== after.size || before.sha256 !== after.sha256;
    if (isOther) return 'modified';
    if (before.mode !== after.mode) return 'mode';
    return isKnown ? 'metadata-only' : 'modified';
  }
  return modeOf(before) === modeOf(after) ? 'metadata-only' : 'mode';
}

const modeOf = (entry: Entry): number | null => (entry.type === 'symlink' ? null : entry.mode);
