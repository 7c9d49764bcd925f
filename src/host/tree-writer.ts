/** Applies changes to the real tree, after recording the intent in the store. */
import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { BytePath, Change } from '../change.ts';
import type { ContentStore } from '../content-store.ts';
import type { SnapshotStore } from '../snapshot/store.ts';
import { parentPathOf } from '../workspace/byte-path.ts';
import type { CapturedChange, LayerCapture } from '../workspace/changes/capture.ts';
import { applyChanges } from '../workspace/commit/apply.ts';
import type { AtomicRenames } from '../workspace/commit/atomic-renames.ts';
import type { CommitFilter, FilterLookup, HeldReason } from '../workspace/commit/commit-filter.ts';
import type { CommitItem, CommitSource, ItemResult } from '../workspace/commit/commit-item.ts';
import { TreeLookup } from '../workspace/commit/tree-path-resolver.ts';
import type { FileEntry } from '../workspace/merge/current-file.ts';
import { type RecordedChange, recordKinds } from './change-record.ts';
import type { AppliedEntries, PendingChanges, PendingEntry } from './pending-changes.ts';
import type { WorkspaceTree } from './workspace-tree.ts';

export interface CommitterDependencies {
  readonly tree: WorkspaceTree;
  /** Whose files in the real tree are. */
  readonly owner: { readonly uid: number; readonly gid: number };
  readonly store: SnapshotStore;
  readonly renames: AtomicRenames;
  /** With an overlay, `capture` of its upper layer; `null`: commands write to the real tree. */
  readonly layer: LayerCapture | null;
  /** What earlier commits of this view applied; the layer's capture reads it, too. */
  readonly applied: AppliedEntries;
  /** Called when the pending changes differ. Must not throw. */
  readonly onPendingChange: () => void;
  /** A directory of the runtime's own, for git. */
  readonly scratch: string;
  /** Makes the overlay show the current content of its layers, above all in these directories. */
  readonly refresh: (directories: readonly BytePath[] | 'all') => Promise<void>;
  /** Must not throw. */
  readonly log: (text: string) => void;
}

type PuttingParts = Pick<CommitterDependencies, 'tree' | 'owner' | 'store' | 'renames'>;

export class TreeWriter {
  /** Intents that were carried out, and whose outcome is in no record yet. */
  readonly carriedOut: string[] = [];
  /** What changes are judged by before they are put there. */
  readonly filterCheck: Omit<FilterCheckDependencies, 'filter'>;
  readonly #parts: PuttingParts;

  constructor(parts: PuttingParts) {
    this.#parts = parts;
    const { tree, store } = parts;
    const isKept = (path: BytePath, before: FileEntry): boolean =>
      (before.sha256 !== null && store.has(before.sha256)) || tree.made.has(path, before);
    this.filterCheck = { root: tree.root, contents: store, isKept };
  }

  /** How it went was appended to the store: recovery has nothing to find out. */
  markRecorded(): void {
    for (const id of this.carriedOut.splice(0)) this.#parts.store.drop(recordKinds.intent, id);
  }

  async put(items: readonly CommitItem[]): Promise<Map<BytePath, ItemResult>> {
    const { tree, owner, store, renames } = this.#parts;
    const id = randomBytes(4).toString('hex');
    const place = { root: tree.root, ...owner };
    if (items.length > 0) store.append(recordKinds.intent, id, { id, tree: place, items });
    const atHand = collectUnwrittenContents(items, store);
    try {
      await store.sync();
    } catch (error) {
      store.drop(recordKinds.intent, id);
      throw error;
    }
    if (items.length === 0) return new Map();
    const input = { tree: place, id, items, contents: store, atHand, renames };
    const results = await tree.exclusive(() => applyChanges(input));
    this.carriedOut.push(id);
    const done = new Map(results.map((result) => [result.path, result]));
    tree.made.note(items.filter(({ path }) => done.get(path)?.state === 'applied'));
    return done;
  }
}

// Small contents that were read just now: a commit does not read and compare them again.

/** Of one file, and of a commit. */
const [smallBytesMax, atHandBytesMax] = [64 * 1024, 1024 * 1024];

/** @returns by SHA-256 (hex) */
function collectUnwrittenContents(
  items: readonly CommitItem[],
  store: Pick<SnapshotStore, 'getUnwritten'>,
): ReadonlyMap<string, Uint8Array> {
  const found = new Map<string, Uint8Array>();
  let room = atHandBytesMax;
  for (const { after } of items) {
    if (after?.type !== 'file' || after.sha256 === null) continue;
    const bytes = store.getUnwritten(after.sha256);
    if (bytes === null || bytes.length > Math.min(room, smallBytesMax)) continue;
    found.set(after.sha256, bytes);
    room -= bytes.length;
  }
  return found;
}

// Runs the commit filter on changes, based on the state of the real tree.

/** A change for the filter, and where its content is. */
export interface FilterCandidate extends Pick<Change, 'path' | 'before' | 'after'> {
  readonly source: CommitSource | null;
}

interface FilterCheckDependencies {
  readonly filter: CommitFilter;
  readonly root: string;
  readonly contents: Pick<ContentStore, 'read'>;
  /** Default: every earlier content is. */
  readonly isKept?: FilterLookup['isKept'];
}

/** The changes that need approval, and why. They are checked as applied all at once. */
export async function findHeldChanges(
  { filter, root, contents, isKept }: FilterCheckDependencies,
  changes: readonly FilterCandidate[],
): Promise<Map<BytePath, HeldReason>> {
  const all = new Map(changes.map((change) => [change.path, change]));
  const written = (path: BytePath) => {
    const change = all.get(path);
    if (change === undefined) return null;
    const { source, after } = change;
    return { source, sha256: after?.type === 'file' ? after.sha256 : null };
  };
  using look = new TreeLookup({
    root,
    written,
    contents,
    ...(isKept === undefined ? {} : { isKept }),
  });
  return await filter.judge(changes, look);
}

/** Pending and captured changes, as the filter takes them. */
export const candidateFromPending = ({
  change: { path, before, after },
  source,
}: PendingEntry): FilterCandidate => {
  return { path, before, after, source };
};
export function candidatesFromCapture(
  changes: readonly CapturedChange[],
  pending: PendingChanges,
): FilterCandidate[] {
  return changes.map(({ path, before, after, sourceAt: source }) => {
    return { path, before: filterBaseOf(pending, { path, before }), after, source };
  });
}

/**
 * Deletions that were held and may pass now, as what holds them goes whole: a look heard of
 * `sub/.git` before `sub` was gone.
 */
export async function findReleasedDeletions(
  changes: readonly CapturedChange[],
  pending: PendingChanges,
  judge: (changes: readonly FilterCandidate[]) => Promise<ReadonlyMap<BytePath, string>>,
): Promise<PendingEntry[]> {
  const gone = new Set(
    changes.flatMap(({ path, before, after }) => {
      return after === null && before?.type === 'directory' ? [path] : [];
    }),
  );
  if (gone.size === 0) return [];
  const isGone = (path: BytePath): boolean =>
    path !== '' && (gone.has(parentPathOf(path)) || isGone(parentPathOf(path)));
  const known = new Set(changes.map(({ path }) => path));
  const waiting = pending
    .all('held')
    .filter(({ change: { path, after } }) => after === null && !known.has(path) && isGone(path));
  if (waiting.length === 0) return [];
  const held = await judge([
    ...candidatesFromCapture(changes, pending),
    ...waiting.map(candidateFromPending),
  ]);
  return waiting.filter(({ change }) => !held.has(change.path));
}

/**
 * What a change is judged by: not what the session saw before, which may be something that was
 * held, but what the real tree has.
 */
function filterBaseOf(pending: PendingChanges, { path, before }: Pick<Change, 'path' | 'before'>) {
  const waiting = pending.find(path);
  // In a conflict the other writer's version stays, and the session sees it.
  const isSeen = waiting === null || waiting.change.state === 'conflict';
  return isSeen ? before : waiting.change.before;
}

/** The nearest directory above a path that is itself pending; `null`: none. */
export function findPendingParent(pending: PendingChanges, path: BytePath): Change | null {
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
    const change = pending.find(path.slice(0, end))?.change;
    if (change === undefined || change.state === 'conflict') continue;
    if (change.after?.type === 'directory' && change.before?.type !== 'directory') return change;
  }
  return null;
}

/** Notes the state of the real tree, if the session saw a pending change there. */
export function withRealBase(pending: PendingChanges, change: RecordedChange): RecordedChange {
  const { state, after, key } = change;
  const before = filterBaseOf(pending, change);
  if (state !== 'applied' || isDeepStrictEqual(before, change.before)) return change;
  return { ...change, reached: { before, after, key } };
}
