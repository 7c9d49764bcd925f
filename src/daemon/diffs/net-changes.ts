/** What several commands changed in all. */
import { isDeepStrictEqual } from 'node:util';
import type { BytePath, Change } from '../../change.ts';
import { netChangeKindOf } from '../../workspace/changes/change-kind.ts';

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
  return { ...last, before, after, kind: netChangeKindOf(before, after), marks, concurrentWith };
}
