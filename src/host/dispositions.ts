/** Decides where a change of a command goes, before anything is applied. */
import { setImmediate as turn } from 'node:timers/promises';
import type { BytePath, Change, StatKey } from '../change.ts';
import type { SnapshotStore } from '../snapshot/store.ts';
import type { CapturedChange } from '../workspace/changes/capture.ts';
import {
  type CommitFilter,
  type HeldReason,
  taggedFileBytesMax,
} from '../workspace/commit/commit-filter.ts';
import type { CommitItem, ItemResult } from '../workspace/commit/commit-item.ts';
import {
  type FileEntry,
  fileEntryWithBytes,
  readCurrentFile,
} from '../workspace/merge/current-file.ts';
import {
  type ChangeDisposition,
  type CommitOrigin,
  committedChange,
  desiredOfPending,
  isFileOverFile,
} from './change-outcomes.ts';
import type { AppliedState, RecordedChange } from './change-record.ts';
import type { DesiredFile, PutResult } from './file-merger.ts';
import {
  type GitFileLocations,
  type GitSync,
  isOrdinaryFile,
  isWaitingForGit,
} from './git-sync.ts';
import type { PendingChanges, PendingEntry } from './pending-changes.ts';
import { type CommitterDependencies, findPendingParent } from './tree-writer.ts';
import type { WorkspaceTree } from './workspace-tree.ts';

/** With what is known of git directories. */
export interface GitCommitOrigin extends CommitOrigin {
  readonly places: GitFileLocations;
  /** Repositories in which a git of the view is in the middle of something. */
  readonly busy: ReadonlySet<BytePath>;
}

interface DispositionInput {
  /** Why it may not pass. */
  readonly held: string | null;
  /** The pending change at the path. */
  readonly earlier: Change | undefined;
  /** Whether another writer changed the path while the command ran. */
  readonly isConflict: () => boolean;
}

/** Where each goes, in the order in which they are given: a directory before what is in it. */
export function decideDispositions(
  changes: readonly CapturedChange[],
  origin: GitCommitOrigin,
  by: {
    readonly held: ReadonlyMap<BytePath, string>;
    /** Changes held only for their tags that may be applied with these values. */
    readonly values: ReadonlyMap<BytePath, FileEntry>;
    readonly pending: PendingChanges;
    readonly isConflict: (captured: CapturedChange) => boolean;
  },
): ReadonlyMap<BytePath, ChangeDisposition> {
  const { held, values, pending } = by;
  const ways = new Map<BytePath, ChangeDisposition>();
  for (const captured of changes) {
    const { path } = captured;
    // Hidden entries of a directory stay: the directory is gone only for the session.
    const isOver = captured.hasMaskedBelow && captured.after?.type !== 'directory';
    const back = values.get(path);
    const reason = back === undefined ? (held.get(path) ?? null) : null;
    const way = wayOf(captured, origin, {
      held: isOver ? 'reserved' : reason,
      earlier: pending.find(path)?.change,
      isConflict: () => by.isConflict(captured),
    });
    // It cannot come without the directory that it is in.
    const above = way.state === 'applied' ? findPendingParent(pending, path) : null;
    const isComing = above === null || ways.get(above.path)?.state === 'applied';
    if (!isComing) ways.set(path, above);
    else ways.set(path, back === undefined ? way : { ...way, values: back });
  }
  return ways;
}

function wayOf(
  captured: CapturedChange,
  origin: GitCommitOrigin,
  judged: DispositionInput,
): ChangeDisposition {
  const { held, isConflict } = judged;
  const isLate = judged.earlier !== undefined && isWaitingForGit(judged.earlier);
  const earlier = isLate ? null : judged.earlier?.state;
  if (origin.mode === 'discard') return { state: 'discarded', reason: null };
  // What git wrote to a repository that is no real one is of no use anywhere else.
  if (held === 'projected-repository') return { state: 'discarded', reason: held };
  if (held !== null) return { state: 'held', reason: held };
  if (origin.mode === 'staged') return { state: 'staged', reason: null };
  if (origin.isLost) return { state: 'staged', reason: 'lost' };
  // Pending changes at the path would be applied unseen.
  if (earlier === 'staged' || earlier === 'discarded') {
    return { state: earlier, reason: 'staged-before' };
  }
  const place = origin.places.get(captured.path);
  if (place !== undefined && origin.busy.has(place.common)) {
    return { state: 'staged', reason: 'git-busy' };
  }
  // Git's own values show better than times who changed what.
  const isValue = !isOrdinaryFile(place) || isFileOverFile(captured);
  if (isValue || !isConflict()) return { state: 'applied', reason: null };
  return place?.kind !== 'scratch'
    ? { state: 'conflict', reason: 'changed-meanwhile' }
    : { state: 'discarded', reason: 'git-scratch' };
}

/**
 * The outcome of a change. Another writer's version of a file that belongs to one git process, or
 * of a directory in which all files are synchronised as git's, is no conflict.
 */
export function outcomeWithGit(
  change: Change,
  put: PutResult | undefined,
  origin: GitCommitOrigin,
): RecordedChange {
  const done = committedChange(change, put, origin);
  if (done.state !== 'conflict') return done;
  const { places } = origin;
  const isScratch = places.get(done.path)?.kind === 'scratch';
  const isAbove = [...places.keys()].some((path) => path.startsWith(`${done.path}/`));
  if (!isScratch && !(isAbove && done.after?.type === 'directory')) return done;
  const { keptAs: _, ...rest } = done;
  return { ...rest, state: 'discarded', reason: 'git-scratch' };
}

type Busy = Pick<GitCommitOrigin, 'places' | 'busy'>;

/** What waited for a git that was in the middle of something, and goes as any other file. */
export function filesAfterGit(
  pending: PendingChanges,
  git: GitSync,
  { places, busy }: Busy,
): DesiredFile[] {
  const waiting = pending
    .all('staged')
    .filter(({ change }) => isWaitingForGit(change) && !places.has(change.path));
  const known = git.locate(waiting.map(({ change }) => change));
  const isFree = ({ change: { path } }: PendingEntry): boolean => {
    const place = known.get(path);
    return isOrdinaryFile(place) && !busy.has(place?.common ?? '');
  };
  return waiting.filter(isFree).map(desiredOfPending);
}

/** What became of changes that waited, by others. */
export function changesAfterGit(
  pending: PendingChanges,
  reported: readonly RecordedChange[],
  outcome: (change: Change) => RecordedChange | null,
): RecordedChange[] {
  const known = new Set(reported.map(({ path }) => path));
  return pending
    .all('staged', 'conflict', 'held')
    .flatMap(({ change }) => (known.has(change.path) ? [] : (outcome(change) ?? [])));
}

// Files that a command wrote back with tags: the values that stand there so far come back.

const reason: HeldReason = 'redaction-tag';
const readable = 0o400;
const permissions = 0o777;
/** Of one look: each is searched for up to some 100 ms. The others are held. */
const searchedMax = 64;

interface TagContext extends Pick<CommitterDependencies, 'tree' | 'owner'> {
  readonly store: Pick<SnapshotStore, 'read' | 'put' | 'has'>;
  readonly filter: CommitFilter;
  /** Whether another writer changed the path meanwhile. */
  readonly isConflict: (captured: CapturedChange) => boolean;
}

/**
 * Finds changes that are held only for their tags and may be applied with the values restored in
 * their lines. Only for a file of the real tree that its owner, as whom commands run, may read, and
 * whose new version gives nobody else read access.
 */
export async function restoreTaggedFiles(
  changes: readonly CapturedChange[],
  held: ReadonlyMap<BytePath, string>,
  { mode, isLost, places }: GitCommitOrigin,
  context: TagContext,
): Promise<ReadonlyMap<BytePath, FileEntry>> {
  const { tree, owner, store, filter, isConflict } = context;
  const found = new Map<BytePath, FileEntry>();
  let searched = 0;
  if (mode !== 'direct' || isLost) return found;
  for (const captured of changes) {
    const { path, after, baseKey } = captured;
    if (held.get(path) !== reason || !isFileOverFile(captured)) continue;
    if (after?.type !== 'file' || after.sha256 === null) continue;
    if (!isOrdinaryFile(places.get(path)) || isConflict(captured)) continue;
    const onDisk = readCurrentFile(tree.root, path, taggedFileBytesMax);
    if (onDisk === null || onDisk.key !== baseKey || onDisk.uid !== owner.uid) continue;
    const { mode: was } = onDisk.entry;
    if ((was & readable) === 0 || (after.mode & ~was & permissions) !== 0) continue;
    const written = await store.read(after.sha256);
    if (written === null) continue;
    const texts = [onDisk.bytes, written].map((bytes) => bytes.toString('latin1'));
    if ((searched += 1) > searchedMax) break;
    await turn();
    const text = filter.restoreTagValues(texts[0] ?? '', texts[1] ?? '');
    if (text === null) continue;
    const bytes = Buffer.from(text, 'latin1');
    if (store.has(store.put(bytes))) found.set(path, fileEntryWithBytes(after, bytes));
  }
  return found;
}

/** The file with its values, but where the real tree has them and the tags are no change. */
export function desiredWithValues(wanted: DesiredFile, values: FileEntry | undefined): DesiredFile {
  const { item, start } = wanted;
  const isThere = start !== null && start.layer.sha256 !== start.real.sha256;
  if (values === undefined || isThere) return wanted;
  return {
    ...wanted,
    item: { ...item, after: values, source: null, sourceKey: null },
    hasValuesBack: true,
  };
}

// What is free of a change that is held as a whole, and its way into the real tree.

const bytesMax = 256 * 1024;

interface HarmlessPartContext {
  readonly tree: WorkspaceTree;
  readonly store: SnapshotStore;
  /** What commits left in the real tree. */
  readonly left: Map<BytePath, StatKey | null>;
  readonly isConflict: (captured: CapturedChange) => boolean;
  readonly put: (items: readonly CommitItem[]) => Promise<ReadonlyMap<BytePath, ItemResult>>;
}

/** The applied parts, by path. */
export type AppliedParts = ReadonlyMap<BytePath, AppliedState>;

/** Brings the plain part of held changes into the real tree. Where that fails, all is held. */
export async function applyHarmlessParts(
  { filter, pending }: { readonly filter: CommitFilter | null; readonly pending: PendingChanges },
  context: HarmlessPartContext,
  changes: readonly CapturedChange[],
  { mode, isLost }: Pick<CommitOrigin, 'mode' | 'isLost'>,
): Promise<AppliedParts> {
  const { tree, store, left, isConflict, put } = context;
  if (filter === null || mode !== 'direct' || isLost) return new Map();
  const found = new Map<BytePath, CommitItem>();
  for (const captured of changes) {
    const { path, after, baseKey } = captured;
    if (!filter.hasHarmlessPart(path) || pending.find(path)?.change.state !== 'held') continue;
    if (after?.type !== 'file' || after.sha256 === null || isConflict(captured)) continue;
    const onDisk = readCurrentFile(tree.root, path, bytesMax);
    const wanted = await store.read(after.sha256);
    if (onDisk === null || wanted === null || onDisk.key !== baseKey) continue;
    const texts = [onDisk.bytes, wanted].map((bytes) => bytes.toString('latin1'));
    const part = filter.harmlessPart(path, texts[0] ?? '', texts[1] ?? '');
    if (part === null) continue;
    const bytes = Buffer.from(part, 'latin1');
    store.put(onDisk.bytes);
    store.put(bytes);
    const entry = { ...fileEntryWithBytes(onDisk.entry, bytes), mtimeMs: Date.now() };
    const sides = { base: onDisk.entry, baseKey, after: entry };
    found.set(path, { path, ...sides, source: null, sourceKey: null });
  }
  if (found.size === 0) return new Map();
  const reached = new Map<BytePath, AppliedState>();
  const results = await put([...found.values()]).catch(() => new Map<BytePath, ItemResult>());
  for (const [path, result] of results) {
    const { base: before = null, after = null } = found.get(path) ?? {};
    if (result.state !== 'applied') continue;
    const part = { before, after, key: result.key };
    reached.set(path, part);
    pending.rebase(path, part);
    left.set(path, part.key);
    tree.identity.change(path, before, after);
  }
  tree.noteChanges([...reached.keys()]);
  return reached;
}

/** A held change of which a part is in the real tree. */
export function partiallyAppliedChange(
  change: RecordedChange,
  reached: AppliedState,
): RecordedChange {
  return { ...change, marks: [...change.marks, 'partly-applied'], reached };
}
