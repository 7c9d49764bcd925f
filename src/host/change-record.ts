/** What is kept of a command's changes: for people to see, and for the way back. */
import { fieldOf } from '../json-shape.ts';
import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type {
  BytePath,
  Change,
  ChangeMethod,
  Entry,
  StatKey,
  TreeId,
  WorkspaceMode,
} from '../change.ts';
import type { ExecId, SessionId } from '../command.ts';
import type { SnapshotStore } from '../snapshot/store.ts';
import { netChangeKindOf } from '../workspace/changes/change-kind.ts';
import type { CommitItem } from '../workspace/commit/commit-item.ts';
import { isEqualEntry } from '../workspace/commit/entry-match.ts';

export interface RecordedChange extends Change {
  /** Of what applying it left in the real tree. */
  readonly key: StatKey | null;
  /** Another command that ran meanwhile has it in its record, too. */
  readonly isShared?: boolean;
  /** It was written to a file that had left the layer, open, and has a record of its own. */
  readonly isOpen?: true;
  /** A person saw and approved it. */
  readonly wasHeld?: true;
  /** What reached the real tree, where that is not the whole change, as the session saw it. */
  readonly reached?: AppliedState;
  /** The same in parts, the oldest first, if another writer changed the path in between. */
  readonly steps?: readonly AppliedState[];
}

export interface AppliedState {
  readonly before: Entry | null;
  readonly after: Entry | null;
  readonly key: StatKey | null;
}

/** One a command that changed anything, as JSON, under its execution's id. */
export interface ChangeRecord {
  readonly exec: ExecId;
  readonly session: SessionId;
  /** The view that it ran in; absent in records from before views: the session's own. */
  readonly view?: string;
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
  /** It published what earlier commands of the session changed. */
  readonly isPublication?: boolean;
}

/** The kinds of records in the content store. */
export const recordKinds = {
  changes: 'changes',
  intent: 'intent',
  layer: 'layer',
  sync: 'sync',
} as const;

/** Hashes of all contents that a record needs, without those that were never kept. */
export function recordedContents(
  changes: readonly Pick<RecordedChange, 'before' | 'after' | 'reached' | 'steps'>[],
): string[] {
  const entries = changes.flatMap((change) => {
    const parts = [change, change.reached, ...(change.steps ?? [])];
    return parts.flatMap((part) => (part === undefined ? [] : [part.before, part.after]));
  });
  return [...new Set(entries.flatMap(hashesOf))];
}

function hashesOf(entry: Entry | null): readonly string[] {
  if (entry?.type === 'directory') return entry.whole?.manifest ?? [];
  return entry?.type === 'file' && entry.sha256 !== null ? [entry.sha256] : [];
}

/** Hashes of what changes took from the real tree that no command had left there. */
export function originalHashesOf(
  changes: readonly RecordedChange[],
  made: Pick<CommandMadePaths, 'has'>,
): string[] {
  return changes.flatMap((change) =>
    appliedStepsOf(change).flatMap(({ before }) =>
      made.has(change.path, before) ? [] : hashesOf(before),
    ),
  );
}

/** The recorded changes of a command, merged with later ones: one change for each path. */
export function mergeRecordedChanges(
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
function isNothing({ before, after, reached, steps }: RecordedChange): boolean {
  if (steps !== undefined) return false;
  const isBack = reached === undefined || isSame(reached.before, reached.after);
  return isBack && isSame(before, after);
}

/** Most came or went: that costs nothing to see, of however many. */
function isSame(before: Entry | null, after: Entry | null): boolean {
  return before === null || after === null ? before === after : isDeepStrictEqual(before, after);
}

function both(first: RecordedChange, last: RecordedChange): RecordedChange {
  // Both versions are kept: this one here.
  if (first.state === 'conflict' && first.isOpen !== true && last.isOpen === true) return first;
  const marks = [...new Set([...first.marks, ...last.marks])];
  const { before } = first;
  const { reached: _, steps: __, ...reported } = last;
  const steps = joined([...appliedStepsOf(first), ...appliedStepsOf(last)]);
  const parts = steps.length > 1 ? { steps } : {};
  const merged = {
    ...reported,
    before,
    marks,
    kind: netChangeKindOf(before, last.after),
    ...parts,
  };
  const [start, end] = [appliedStateOf(first), appliedStateOf(last)];
  if (start === null && end === null) return merged;
  const { after, key } = end ?? start ?? last;
  const reached = { before: (start ?? end ?? last).before, after, key };
  const isAll = merged.state === 'applied' && isDeepStrictEqual(reached.before, before);
  return isAll ? merged : { ...merged, reached };
}

/** What a change did to the real tree; `null`: nothing. */
export function appliedStateOf(change: RecordedChange): AppliedState | null {
  const { state, reached, before, after, key } = change;
  return reached ?? (state === 'applied' ? { before, after, key } : null);
}

/** The same part by part, the oldest first. */
export function appliedStepsOf(change: RecordedChange): readonly AppliedState[] {
  const whole = appliedStateOf(change);
  return change.steps ?? (whole === null ? [] : [whole]);
}

/** Parts that follow each other as one. */
function joined(steps: readonly AppliedState[]): AppliedState[] {
  const out: AppliedState[] = [];
  for (const step of steps) {
    const last = out.at(-1);
    const isNext = last !== undefined && isEqualEntry(last.after, step.before);
    if (isNext) out[out.length - 1] = { ...step, before: last.before };
    else out.push(step);
  }
  return out;
}

export function isChangeRecord(value: unknown): value is ChangeRecord {
  return Array.isArray(fieldOf(value, 'changes'));
}

/** What a view's commands changed, the oldest first. */
export function changeRecordsOf(
  store: Pick<SnapshotStore, 'records'>,
  view: string,
): ChangeRecord[] {
  const records = [...store.records(recordKinds.changes)].map(({ value }) => value);
  const own = records.filter(isChangeRecord).filter((one) => (one.view ?? one.session) === view);
  return own.toSorted((a, b) => a.at - b.at);
}

/** For what no command of the session did, such as publishing. */
export const newRecordId = (): ExecId => `x-${randomBytes(16).toString('hex')}`;

/** Of a command that ran alone, and has no record yet. */
export const soleCommand = { begunAt: 0, overlapping: new Set<ExecId>(), earlier: [] };

// What commands of this runtime wrote to the real tree. They may change it again, even if undo does
// not have it, and it is dropped before another writer's content.

/** Beyond this bound everything counts as another writer's. */
const knownMax = 50_000;

export class CommandMadePaths {
  readonly #known = new Set<string>();

  has(path: BytePath, entry: Entry | null): boolean {
    const name = nameOf(path, entry);
    return name !== null && this.#known.has(name);
  }

  /** Whether a command had moved a directory there as one. */
  isWhole(path: BytePath): boolean {
    return this.#known.has(wholeName(path));
  }

  /** These have reached the real tree. */
  note(items: readonly Pick<CommitItem, 'path' | 'base' | 'after'>[]): void {
    for (const { path, base, after } of items) {
      const name = nameOf(path, after);
      // With new times or a new mode it stays what it was.
      if (name === null || name === nameOf(path, base)) continue;
      if (this.#known.size >= knownMax) this.#known.clear();
      this.#known.add(name);
    }
  }
}

/** `null`: it cannot be distinguished from the earlier content. */
function nameOf(path: BytePath, entry: Entry | null): string | null {
  if (entry?.type === 'file') return entry.sha256 === null ? null : `${entry.sha256} ${path}`;
  return entry?.type === 'directory' && entry.whole !== undefined ? wholeName(path) : null;
}

const wholeName = (path: BytePath): string => `whole ${path}`;
