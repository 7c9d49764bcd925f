/**
 * Applies changes of files to a real tree that others change as well. A command's change is a delta
 * against the version that both sides last agreed on; it is merged with the current file, and
 * replaces that only if it is unchanged. A change that cannot be merged is a conflict.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { BytePath, StatKey } from '../change.ts';
import type { SnapshotStore } from '../snapshot/store.ts';
import type { CapturedChange } from '../workspace/changes/capture.ts';
import type { LayerCopy } from '../workspace/changes/layer-copies.ts';
import type { CommitItem, ItemResult } from '../workspace/commit/commit-item.ts';
import {
  type FileEntry,
  fileEntryWithBytes,
  readCurrentFile,
} from '../workspace/merge/current-file.ts';
import {
  countChangedLines,
  hasPrefixBytes,
  includesEdit,
  mergeAppends,
  mergeAppendsAfterSeen,
  mergeContents,
  mergeModes,
  mergeOverlappingAppends,
  type MergeResult,
  rebaseContent,
} from '../workspace/merge/merge-contents.ts';
import {
  clockTickMs,
  type CommandStartRange,
  type FileVersion,
  layerWriteTimeMs,
  type SeenAppends,
  type SyncPoint,
  SyncPoints,
  uniqueNowMs,
} from './file-versions.ts';
import type { WorkspaceTree } from './workspace-tree.ts';

/** Of a file that is merged. */
const bytesMax = 64 * 1024 * 1024;
const attemptsMax = 6;
/** Between attempts, while another process has the file open for writing. */
const openMs = 40;

interface FileMergerDependencies {
  readonly tree: WorkspaceTree;
  readonly store: SnapshotStore;
}

/** A file of a command that is to go into the real tree. */
export interface DesiredFile {
  /** As it would be applied without another writer; its key is not used if `start` is known. */
  readonly item: CommitItem;
  /** The version that the command's started from; `null`: unknown. */
  readonly start: SyncPoint | null;
  /** It has values where the command wrote tags. */
  readonly hasValuesBack?: true;
}

/** What was put there in the end. */
export interface PutResult {
  readonly result: ItemResult;
  /** With `applied`: the entries before and after; else the attempted ones. */
  readonly item: CommitItem;
  readonly isMerged: boolean;
  readonly hasValuesBack?: true;
}

/** The way into the real tree. */
interface MergeTarget {
  /** Reports for each what became of it. */
  readonly apply: (items: readonly CommitItem[]) => Promise<ReadonlyMap<BytePath, ItemResult>>;
  /** The items that need approval: a merge result has not been checked yet. */
  readonly held: (items: readonly CommitItem[]) => Promise<ReadonlyMap<BytePath, string>>;
}
type Tried = Omit<PutResult, 'result' | 'hasValuesBack'> & {
  readonly next: CommitItem | null;
  readonly isDone?: boolean;
};

export class FileMerger {
  readonly points = new SyncPoints();
  readonly #parts: FileMergerDependencies;

  constructor(parts: FileMergerDependencies) {
    this.#parts = parts;
  }

  /**
   * The version that a new file of the session started from, if another writer may have changed the
   * real one.
   *
   * @param since Unix ms: when the first and the last command began that may have written it
   */
  async mergeBaseOf(captured: CapturedChange, since: CommandStartRange): Promise<SyncPoint | null> {
    const { path, after } = captured;
    const { tree } = this.#parts;
    const ours = after?.type === 'file' ? await this.#read(after) : null;
    const now = readCurrentFile(tree.root, path, bytesMax);
    if (ours === null || now === null) return null;
    // The current file may be the session's own, applied later by another process.
    const seen = this.points.isRestored ? 'any' : layerWriteTimeMs(captured);
    const shown = this.points.of(path);
    const versions = tree.versions.of(path).map((version) => ({
      ...this.#kept(version, null),
      at: version.since,
    }));
    const known = [...versions, ...shown].toSorted((a, b) => a.at - b.at);
    // No command saw the versions from before the first one began.
    const able = known.slice(
      Math.max(
        0,
        known.findLastIndex(({ at }) => at <= since.first),
      ),
    );
    const contents = await Promise.all(able.map((point) => this.#read(point.layer)));
    // Of a longer one the end was cut off, maybe only after the command had read it.
    const isBegin = (bytes: Buffer): boolean =>
      bytes.length > 0 &&
      hasPrefixBytes(ours, bytes) &&
      !contents.some(
        (one) => one !== null && one.length > bytes.length && hasPrefixBytes(one, bytes),
      );
    // It has everything of the current file, and not identical lines that were added after it was
    // written.
    const isLater = seen !== 'any' && isAfter(now.entry, seen);
    // Of the same moment, its end may have been cut off after the command wrote.
    const { sha256, mtimeMs } = now.entry;
    const isEarlier =
      seen === 'any' ||
      mtimeMs < seen ||
      able.some(({ at, layer }) => at < seen && layer.sha256 === sha256);
    if (isBegin(now.bytes) && isEarlier && !isLater) return this.#kept(now, now.key);
    for (const [at, point] of [...able.entries()].toReversed()) {
      const bytes = contents[at] ?? now.bytes;
      if (bytes.equals(now.bytes) || !isBegin(bytes)) continue;
      if (!isLater && isMadeOf(now.bytes, bytes, ours)) return begun(this.#kept(now, null), seen);
      // What commands saw since, and took a part out of, is as near.
      const changed = countChangedLines(bytes, ours);
      const isNear = (content: Buffer | null | undefined): boolean =>
        content != null && countChangedLines(content, ours) <= changed;
      const last = able.findLastIndex((one, index) => one.isShown && index > at);
      return begun((isNear(contents[last]) ? able[last] : null) ?? point, seen);
    }
    const isSeen = ({ at }: SyncPoint): boolean =>
      at > since.last && (seen === 'any' || at <= seen + clockTickMs);
    const later = [...known.filter(isSeen), ...(isLater ? [] : [this.#kept(now, null)])];
    const start =
      (await this.#nearest(ours, known, since, later)) ?? shown.find((one) => !one.isShown);
    return start === undefined ? null : begun(start, seen);
  }

  /**
   * Of the versions that the commands may have seen, the one with the smallest difference. Of
   * equals the oldest, which is safe: later additions are then another writer's additions, not our
   * deletions. For the same reason a version from after they began counts only if all of its
   * changes are there.
   */
  async #nearest(
    ours: Buffer,
    known: readonly SyncPoint[],
    { first, last }: CommandStartRange,
    later: readonly SyncPoint[],
  ): Promise<SyncPoint | undefined> {
    const from = known.findLastIndex(({ at }) => at <= first);
    const to = known.findLastIndex(({ at }) => at <= last);
    const able = known.slice(Math.max(0, from), to + 1);
    let [nearest] = able;
    if (nearest === undefined || able.length + later.length === 1) return nearest;
    let least = Infinity;
    let start: Buffer | null = null;
    for (const point of [...able, ...later]) {
      const bytes = await this.#read(point.layer);
      if (bytes === null) continue;
      const isLater = later.includes(point);
      if (isLater && (start === null || !includesEdit(start, bytes, ours))) continue;
      const changed = countChangedLines(bytes, ours);
      if (changed >= least) continue;
      nearest = point;
      least = changed;
      start = bytes;
    }
    return nearest;
  }

  /** Applies files to the real tree, merged with other writers' changes if possible. */
  async put(
    wanted: readonly DesiredFile[],
    way: MergeTarget,
  ): Promise<ReadonlyMap<BytePath, PutResult>> {
    const done = new Map<BytePath, PutResult>();
    const all = new Map(wanted.map((one) => [one.item.path, one]));
    let tried = new Map<BytePath, Tried>();
    for (const one of wanted) tried.set(one.item.path, await this.#first(one));
    for (let attempt = 1; tried.size > 0; attempt += 1) {
      const results = await applied([...tried.values()], way);
      const again = new Map<BytePath, Tried>();
      let isOpen = false;
      for (const [path, { next, item, isMerged, isDone }] of tried) {
        const result = isDone === true ? appliedAlready(item) : (results.get(path) ?? theirs(path));
        const one = all.get(path);
        const back = one?.hasValuesBack === true ? { hasValuesBack: true as const } : {};
        done.set(path, { result, item: next ?? item, isMerged, ...back });
        if (result.state !== 'conflict' || one === undefined || attempt === attemptsMax) continue;
        isOpen ||= result.reason === 'open-elsewhere';
        const more = await this.#again(one);
        if (more !== null) again.set(path, more);
      }
      tried = again;
      if (isOpen && tried.size > 0) await wait(openMs);
    }
    return done;
  }

  /** While no other writer changes the path. */
  async #first(one: DesiredFile): Promise<Tried> {
    const { item, start, hasValuesBack: isMerged = false } = one;
    const plain = { item, next: item, isMerged };
    if (start === null || item.after?.type !== 'file') return plain;
    if (start.realKey === null) return (await this.#again(one)) ?? { ...plain, next: null };
    const base = { ...item, base: start.real, baseKey: start.realKey };
    if (start.layer.sha256 === start.real.sha256) return { ...plain, item: base, next: base };
    const delta = await this.#delta(one, start);
    if (delta === null) return { ...plain, next: null };
    const next = this.#itemOf(base, delta);
    return next === null ? { ...plain, next } : { item: next, next, isMerged: true };
  }

  /** Merged with the current file; `null`: that is impossible. */
  async #again(one: DesiredFile): Promise<Tried | null> {
    const { item, start } = one;
    if (start === null) return null;
    const now = readCurrentFile(this.#parts.tree.root, item.path, bytesMax);
    const [base, delta] = [await this.#read(start.real), await this.#delta(one, start)];
    if (now === null || base === null || delta === null) return null;
    const found =
      bothAppended(start.maySee, base, delta.bytes, now) ??
      mergeContents(base, delta.bytes, now.bytes, start.maySee === 'nothing');
    const mode = mergeModes(start.real.mode, delta.entry.mode, now.entry.mode);
    if (found.kind === 'conflict' || mode === null) return null;
    // Undo goes back to it.
    this.#parts.store.put(now.bytes);
    const onto = { ...item, base: now.entry, baseKey: now.key };
    const next = this.#itemOf(onto, { bytes: found.bytes, entry: { ...delta.entry, mode } });
    if (next === null) return null;
    const isDone = isEqual(next.after, now.entry);
    return { item: next, next: isDone ? null : next, isMerged: true, isDone };
  }

  /** What the command did to its own file, done to what the real tree had then. */
  async #delta({ item }: DesiredFile, start: SyncPoint): Promise<Content | null> {
    const { after } = item;
    if (after?.type !== 'file') return null;
    const [from, to, onto] = [
      await this.#read(start.layer),
      await this.#read(after),
      await this.#read(start.real),
    ];
    if (from === null || to === null || onto === null) return null;
    const found = rebaseContent(from, to, onto);
    const mode = mergeModes(start.layer.mode, after.mode, start.real.mode);
    if (found.kind === 'conflict' || mode === null) return null;
    return { bytes: found.bytes, entry: { ...after, mode } };
  }

  /** `null`: the store has no room for the content. */
  #itemOf(item: CommitItem, { bytes, entry }: Content): CommitItem | null {
    const { store } = this.#parts;
    const after = { ...fileEntryWithBytes(entry, bytes), mtimeMs: Date.now() };
    if (!store.has(store.put(bytes))) return null;
    return { ...item, after, source: null, sourceKey: null };
  }

  /** Another writer's version, stored so that later changes of it can be merged. */
  #kept({ entry, bytes }: Pick<FileVersion, 'entry' | 'bytes'>, key: StatKey | null): SyncPoint {
    if (bytes !== null) this.#parts.store.put(bytes);
    return syncPointOf(entry, key);
  }

  /** The session's file is gone from its layer: commands see what the real tree has. */
  noteShown(path: BytePath, was: SyncPoint): void {
    const now = readCurrentFile(this.#parts.tree.root, path, bytesMax);
    if (this.points.of(path).length === 0) this.points.set(path, was);
    const point = now === null ? null : this.#kept(now, now.key);
    this.points.show(path, { ...(point ?? was), isShown: true });
  }

  async #read({ sha256, size }: FileEntry): Promise<Buffer | null> {
    return sha256 === null || size > bytesMax ? null : await this.#parts.store.read(sha256);
  }
}

/** What was merged is judged before. */
async function applied(
  tried: readonly Tried[],
  { apply, held }: MergeTarget,
): Promise<ReadonlyMap<BytePath, ItemResult>> {
  const merged = tried.flatMap(({ next, isMerged }) => (isMerged ? (next ?? []) : []));
  const out = merged.length === 0 ? new Map<BytePath, string>() : await held(merged);
  const items = tried.flatMap(({ next }) => next ?? []);
  return apply(items.filter(({ path }) => !out.has(path)));
}

interface Content {
  readonly bytes: Buffer;
  readonly entry: FileEntry;
}

/** The two are equal. */
export function syncPointOf(entry: FileEntry, realKey: StatKey | null): SyncPoint {
  return {
    at: uniqueNowMs(),
    layer: entry,
    real: entry,
    realKey,
    isShown: false,
    maySee: 'nothing',
  };
}

/** A file of the session starts from it, and may have more of the later lines. */
function begun(point: SyncPoint, seen: SeenAppends): SyncPoint {
  return { ...point, realKey: null, isShown: false, maySee: seen };
}

/** Whether a content was made of `now` rather than of `before`. */
function isMadeOf(now: Buffer, before: Buffer, content: Buffer): boolean {
  return (
    includesEdit(before, now, content) &&
    countChangedLines(now, content) < countChangedLines(before, content)
  );
}

/** Whether the content was written after a moment, to the µs, judging by its time. */
function isAfter({ mtimeMs }: FileEntry, at: number): boolean {
  return mtimeMs >= at + 0.001;
}

function bothAppended(
  maySee: SeenAppends,
  base: Buffer,
  ours: Buffer,
  theirs: Content,
): MergeResult | null {
  if (maySee === 'nothing') return mergeAppends(base, ours, theirs.bytes);
  if (maySee === 'any') return mergeOverlappingAppends(base, ours, theirs.bytes);
  return mergeAppendsAfterSeen(base, ours, theirs.bytes, !isAfter(theirs.entry, maySee));
}

function isEqual(after: CommitItem['after'], now: FileEntry): boolean {
  return after?.type === 'file' && after.sha256 === now.sha256 && after.mode === now.mode;
}

function appliedAlready({ path, baseKey: key }: CommitItem): ItemResult {
  return { path, state: 'applied', key };
}

function theirs(path: BytePath): ItemResult {
  const conflict = { state: 'conflict', reason: 'changed-meanwhile' } as const;
  return { path, ...conflict, detail: null, keptAt: null };
}

// Recovers what commands made, before a crash, of the layer's copies of other writers' files.

/** Of what is read. */
const extendedCopyBytesMax = 16 * 1024 * 1024;

interface CopyCandidates {
  readonly upper: string;
  readonly store: Pick<SnapshotStore, 'read'>;
  /** Of the path, the versions that the layer may have had. */
  readonly copies: readonly LayerCopy[];
  /** What its file may have been a delta against instead. */
  readonly own: readonly SyncPoint[];
}

/** The copy that the layer's file begins with, which is a delta against it; `null`: none. */
export async function findExtendedCopy(
  path: BytePath,
  { upper, store, copies, own }: CopyCandidates,
): Promise<SyncPoint | null> {
  const found = readCurrentFile(upper, path, extendedCopyBytesMax);
  if (found === null) return null;
  let start: SyncPoint | null = null;
  for (const point of [...copies.map(({ entry, key }) => syncPointOf(entry, key)), ...own]) {
    const { sha256, size } = point.layer;
    // Every file begins with an empty one.
    if (sha256 === null || size <= (start?.layer.size ?? 0)) continue;
    const bytes = await store.read(sha256);
    if (bytes !== null && hasPrefixBytes(found.bytes, bytes)) start = point;
  }
  return start === null || own.includes(start) ? null : start;
}
