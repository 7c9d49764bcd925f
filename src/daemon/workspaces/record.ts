/** What is kept of a command's changes: for people to see, and for the way back. */
import type { Change, ChangeMethod, Entry, StatKey, TreeId, WorkspaceMode } from '../../change.ts';
import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { ExecId, SessionId } from '../../command.ts';
import { kindOf } from '../diffs/net-changes.ts';

export interface RecordedChange extends Change {
  /** Of what applying it left in the real tree. */
  readonly key: StatKey | null;
  /** Another command that ran meanwhile has it in its record, too. */
  readonly isShared?: boolean;
  /** A person saw it and let it through. */
  readonly wasHeld?: true;
  /** What reached the real tree, where that is not the whole change, as the session saw it. */
  readonly reached?: Reached;
}

export interface Reached {
  readonly before: Entry | null;
  readonly after: Entry | null;
  readonly key: StatKey | null;
}

/** One a command that changed anything, as JSON, under its execution's id. */
export interface ChangeRecord {
  readonly exec: ExecId;
  readonly session: SessionId;
  readonly root: string;
  /** Known secrets in it are masked. */
  readonly command: string;
  readonly mode: WorkspaceMode;
  readonly method: ChangeMethod;
  readonly before: TreeId;
  readonly after: TreeId;
  /** Unix ms when the command ended, and rising with each record. */
  readonly at: number;
  readonly changes: readonly RecordedChange[];
  /** Whether everything was looked at. */
  readonly complete: boolean;
  readonly undone: boolean;
}

/** The kinds of records in the content store. */
export const recordKinds = { changes: 'changes', intent: 'intent', layer: 'layer' } as const;

/** Hashes of all contents that a record needs, without those that were never kept. */
export function contentsOf(
  changes: readonly Pick<RecordedChange, 'before' | 'after' | 'reached'>[],
): string[] {
  const hashes = changes.flatMap(({ before, after, reached }) =>
    [before, after, reached?.before, reached?.after].flatMap((entry) =>
      entry?.type === 'file' && entry.sha256 !== null ? [entry.sha256] : [],
    ),
  );
  return [...new Set(hashes)];
}

/** What was told of a command, and what came after it: one change a path. */
export function mergedChanges(
  earlier: readonly RecordedChange[],
  later: readonly RecordedChange[],
): RecordedChange[] {
  if (earlier.length === 0) return [...later];
  const all = new Map(earlier.map((change) => [change.path, change]));
  for (const change of later) {
    const first = all.get(change.path);
    all.set(change.path, first === undefined ? change : both(first, change));
  }
  return [...all.values()]
    .filter((change) => !isNothing(change))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** Neither the session nor the real tree is other than before. */
function isNothing({ before, after, reached }: RecordedChange): boolean {
  const isBack = reached === undefined || isDeepStrictEqual(reached.before, reached.after);
  return isBack && isDeepStrictEqual(before, after);
}

function both(first: RecordedChange, last: RecordedChange): RecordedChange {
  const marks = [...new Set([...first.marks, ...last.marks])];
  const { before } = first;
  const { reached: _, ...told } = last;
  const merged = { ...told, before, marks, kind: kindOf(before, last.after) };
  const [start, end] = [reachedBy(first), reachedBy(last)];
  if (start === null && end === null) return merged;
  const { after, key } = end ?? start ?? last;
  const reached = { before: (start ?? end ?? last).before, after, key };
  const isAll = merged.state === 'applied' && isDeepStrictEqual(reached.before, before);
  return isAll ? merged : { ...merged, reached };
}

/** What a change did to the real tree; `null`: nothing. */
export function reachedBy(change: RecordedChange): Reached | null {
  const { state, reached, before, after, key } = change;
  return reached ?? (state === 'applied' ? { before, after, key } : null);
}

export function isRecord(value: unknown): value is ChangeRecord {
  return (
    typeof value === 'object' && value !== null && Array.isArray(Reflect.get(value, 'changes'))
  );
}

/** For what no command of the session did, such as publishing. */
export const newRecordId = (): ExecId => `x-${randomBytes(16).toString('hex')}`;
