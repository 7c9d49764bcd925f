/**
 * Whose changes are, of commands that run together in one layer: of each that had begun when a path
 * was written. Which of those did it, the layer cannot tell: each tells it.
 */
import type { BytePath } from '../change.ts';
import type { CapturedChange } from '../workspace/changes/capture.ts';
import type { RecordedChange } from './change-record.ts';
import type { RunningCommand } from './session-dependencies.ts';
import { clockTickMs } from './file-versions.ts';

/** Unix ms when the first and the last command began that may have written something. */
export interface CommandStartRange {
  readonly first: number;
  readonly last: number;
}

/** Unix ms, to the µs, when a change was written to the layer; 0: nobody knows. */
export function layerWriteTimeMs({ upperKey }: Pick<CapturedChange, 'upperKey'>): number {
  return Number(BigInt(upperKey?.split(':')[4] ?? '0') / 1_000n) / 1_000;
}

/** What one command tells. */
export interface AttributedChanges {
  readonly run: RunningCommand;
  readonly changes: readonly RecordedChange[];
  /** Some of it is in nobody else's record but as shared. */
  readonly isOwner: boolean;
}

/**
 * Divides changes that `finder` came upon. What several tell is shared but with the first.
 *
 * @param running the oldest first; with `finder` or without
 * @returns the part of `finder`, then of others that tell anything
 */
export function attributeChanges(
  changes: readonly RecordedChange[],
  found: readonly CapturedChange[],
  finder: RunningCommand,
  running: Iterable<RunningCommand>,
): [AttributedChanges, ...AttributedChanges[]] {
  const others = [...running].filter((run) => run !== finder);
  const times = new Map<BytePath, number>(found.map((one) => [one.path, layerWriteTimeMs(one)]));
  const own: RecordedChange[] = [];
  const parts = others.map((run) => ({ run, changes: Array.of<RecordedChange>(), isOwner: false }));
  for (const change of changes) {
    const at = times.get(change.path) ?? 0;
    const had = (run: RunningCommand): boolean => at === 0 || run.begunAt <= at + clockTickMs;
    const able = parts.filter(({ run }) => had(run));
    let isTold = had(finder) || able.length === 0;
    if (isTold) own.push(change);
    for (const part of able) {
      const concurrentWith = [...part.run.overlapping];
      part.changes.push({ ...change, concurrentWith, ...(isTold ? { isShared: true } : {}) });
      part.isOwner ||= !isTold;
      isTold = true;
    }
  }
  const telling = parts.filter((part) => part.changes.length > 0);
  return [{ run: finder, changes: own, isOwner: true }, ...telling];
}
