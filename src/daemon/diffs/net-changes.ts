/** The net changes of several commands. */
import { isDeepStrictEqual } from 'node:util';
import type { BytePath, Change } from '../../change.ts';
import { netChangeKindOf } from '../../workspace/changes/change-kind.ts';

/**
 * One change per path: from the entry before the first command to the entry after the last one.
 * Changes that a later command reverted are left out. Changes in conflict and discarded changes do
 * not count, because the tree never had them.
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
