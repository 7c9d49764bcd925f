/** Where each change of a command goes, and its way into the real tree. */
import type { BytePath, StatKey } from '../change.ts';
import type { ExecId } from '../command.ts';
import { parentPathOf } from '../workspace/byte-path.ts';
import type { CapturedChange, CaptureResult } from '../workspace/changes/capture.ts';
import type { LayerCopy } from '../workspace/changes/layer-copies.ts';
import type { CommitFilter } from '../workspace/commit/commit-filter.ts';
import type { CommitItem } from '../workspace/commit/commit-item.ts';
import type { FileEntry } from '../workspace/merge/current-file.ts';
import { WorkPacer } from '../workspace/time-slices.ts';
import {
  type ChangeDisposition,
  changeOfCaptured,
  commandStartsBefore,
  type CommitOrigin,
  desiredOfPending,
  isFileOverFile,
  isSavedAfter,
  itemOfCaptured,
  publishedChange,
} from './change-outcomes.ts';
import type { RecordedChange } from './change-record.ts';
import type { RecoveredViewState } from './change-recorder.ts';
import {
  type AppliedParts,
  applyHarmlessParts,
  changesAfterGit,
  decideDispositions,
  desiredWithValues,
  filesAfterGit,
  type GitCommitOrigin,
  outcomeWithGit,
  partiallyAppliedChange,
  restoreTaggedFiles,
} from './dispositions.ts';
import { type DesiredFile, FileMerger, type PutResult, syncPointOf } from './file-merger.ts';
import type { SyncPoint, SyncPoints } from './file-versions.ts';
import {
  type GitPathOutcome,
  GitSync,
  isOrdinaryFile,
  isStillPending,
  isWaitingForGit,
} from './git-sync.ts';
import { type AppliedEntries, PendingChanges, type PendingEntry } from './pending-changes.ts';
import {
  candidateFromPending,
  candidatesFromCapture,
  type FilterCandidate,
  findHeldChanges,
  findReleasedDeletions,
  TreeWriter,
  withRealBase,
  type CommitterDependencies,
} from './tree-writer.ts';

export class ChangeCommitter {
  readonly pending: PendingChanges;
  readonly applied: AppliedEntries;
  /** What may not leave the layer by itself; `null`: there is no layer, all is in the real tree. */
  filter: CommitFilter | null = null;
  readonly #parts: CommitterDependencies;
  readonly #putting: TreeWriter;
  readonly #merging: FileMerger;
  readonly git: GitSync;

  constructor(parts: CommitterDependencies) {
    this.#parts = parts;
    this.applied = parts.applied;
    this.pending = new PendingChanges(parts.onPendingChange);
    this.#putting = new TreeWriter(parts);
    this.git = new GitSync(parts);
    this.#merging = new FileMerger(parts);
    this.points = this.#merging.points;
  }

  /** What the files of the layer are deltas against. */
  readonly points: SyncPoints;

  /** How it went was appended to the store: recovery has nothing to find out. */
  readonly markRecorded = (): void => this.#putting.markRecorded();

  /** @param isFirst no command runs that could have seen the earlier commits */
  begin(isFirst: boolean): void {
    this.git.noteIndexes();
    if (!isFirst) return;
    this.applied.keys.clear();
    this.#merging.points.clear();
  }

  /** The upper layer was cleared of what was applied, and of conflicts but these. */
  cleared(contested: readonly BytePath[] = []): void {
    this.applied.cleared(contested);
    this.#merging.points.clear();
    this.git.cleared();
  }

  /** Takes over what waited when an earlier daemon ended. */
  restore({ waiting, points }: Pick<RecoveredViewState, 'waiting' | 'points'>): void {
    this.pending.restore(waiting);
    this.points.restore(points);
    this.applied.markContested(waiting.map(({ change }) => change));
  }

  /** Applied entries of these directories that the upper layer still has; without `but`. */
  appliedEntriesIn(
    directories: readonly BytePath[] | 'all',
    but = new Set<BytePath>(),
  ): BytePath[] {
    const known = directories === 'all' ? null : new Set(directories);
    const isMeant = (path: BytePath): boolean => known?.has(parentPathOf(path)) ?? true;
    const isFree = (path: BytePath): boolean =>
      isMeant(path) && this.isSettled(path) && !this.git.isCoupled(path);
    return [...this.applied.shadowing.difference(but)].filter(isFree);
  }

  /** Entries of the upper layer that are not needed once no command runs. */
  clearable(): BytePath[] {
    const settled = [...this.applied.shadowing].filter((path) => this.isSettled(path));
    return [...settled, ...this.pending.conflicts('stored')];
  }

  /** Whether the layer has a path as it was applied, without a pending change. */
  isSettled(path: BytePath): boolean {
    return this.applied.shadowing.has(path) && this.pending.find(path) === null;
  }

  /** Whether the real tree has something else now than what hides it. */
  isOutdated(path: BytePath): boolean {
    return (
      this.points.hidesMerged(path) || this.#parts.tree.keyAt(path) !== this.applied.keyAt(path)
    );
  }

  /** Whether the entry in the real tree is another writer's. */
  isExternal(path: BytePath): boolean {
    return !this.applied.keys.has(path) || this.isOutdated(path);
  }

  /** The layer has a copy of another writer's file now, so that commands see the event. */
  noteCopied(path: BytePath, { entry, key }: LayerCopy, was: FileEntry | null): void {
    if (was !== null && this.points.of(path).length === 0) {
      this.points.set(path, syncPointOf(was, this.applied.keyAt(path)));
    }
    this.applied.keys.set(path, key);
    this.applied.shadowing.add(path);
    this.points.show(path, { ...syncPointOf(entry, key), isShown: true });
  }

  /**
   * Another writer's version shows through from now on.
   *
   * @param was the session's own file, which left the layer
   * @returns the version that later writes of a command to that file are a delta against
   */
  noteYielded(path: BytePath, was: FileEntry): SyncPoint {
    const point = this.points.of(path).at(-1) ?? syncPointOf(was, this.applied.keyAt(path));
    this.applied.shadowing.delete(path);
    this.applied.keys.set(path, this.#parts.tree.keyAt(path));
    this.#merging.noteShown(path, point);
    return point;
  }

  /**
   * Applies what needs no approval to the real tree. Nothing reaches it before `keep` has put the
   * plan into the store and the store is on disk.
   *
   * @param keep called with the planned changes; must not throw
   * @throws TrlError of the store: then nothing reached the real tree, and everything stays pending
   */
  async commit(
    capture: CaptureResult,
    origin: CommitOrigin,
    keep: (planned: readonly RecordedChange[]) => void,
  ): Promise<RecordedChange[]> {
    this.#startAnew(capture.changes);
    const places = this.git.locate(this.filter === null ? [] : capture.changes);
    const gits = { ...origin, places, busy: this.git.busy(capture.changes, places, origin) };
    const ways = await this.#ways(capture.changes, gits);
    const planned = capture.changes.map((captured) => {
      const way = ways.get(captured.path) ?? { state: 'applied', reason: null };
      const change = changeOfCaptured(captured, way, origin);
      if (isStillPending(change)) this.pending.put(captured, change);
      return { captured, change };
    });
    if (this.filter === null) {
      const done = planned.map(({ captured, change }) => ({ ...change, key: captured.baseKey }));
      keep(done);
      await this.#note(done);
      return done;
    }
    const passing = planned.filter(({ change }) => change.state === 'applied');
    keep(planned.map(({ change }) => withRealBase(this.pending, { ...change, key: null })));
    const wanted: DesiredFile[] = [];
    for (const { captured } of passing) {
      const { path } = captured;
      if (!isOrdinaryFile(places.get(path))) continue;
      wanted.push(
        desiredWithValues(await this.#wantedOf(captured, origin), ways.get(path)?.values),
      );
    }
    wanted.push(...filesAfterGit(this.pending, this.git, gits));
    const freed = await findReleasedDeletions(capture.changes, this.pending, this.#judge);
    wanted.push(...freed.map(desiredOfPending));
    const results = await this.#merging.put(wanted, this.#intoTree).catch((error: unknown) => {
      // No later capture reports them.
      for (const { captured, change } of passing) {
        this.pending.put(captured, { ...change, state: 'staged', reason: 'not-recorded' });
      }
      throw error;
    });
    const starts = new Map(wanted.map((one) => [one.item.path, one.start]));
    const parts = await this.#bringParts(capture.changes, origin);
    const ofGit = planned.filter(
      ({ change }) => change.state === 'applied' || isWaitingForGit(change),
    );
    const git = await this.#syncGit(ofGit, gits, results);
    const changes = planned.map(({ captured, change }) => {
      const { path } = change;
      const [put, part, synced] = [results.get(path), parts.get(path), git.get(path)];
      if (part !== undefined) return partiallyAppliedChange({ ...change, key: null }, part);
      const done =
        synced === undefined ? outcomeWithGit(change, put, gits) : { ...change, ...synced };
      this.#follow(captured, put, starts.get(path) ?? null, origin);
      if (change.state === 'applied' && isStillPending(done)) this.pending.put(captured, done);
      return withRealBase(this.pending, done);
    });
    const late = changesAfterGit(this.pending, changes, (change) => {
      const [synced, put] = [git.get(change.path), results.get(change.path)];
      if (synced !== undefined) return { ...change, ...synced };
      return put === undefined ? null : outcomeWithGit(change, put, gits);
    });
    for (const { path, state, reason } of late) this.pending.mark(path, state, reason);
    const reported = [...changes, ...late];
    if (origin.start === undefined) this.applied.markContested(reported);
    await this.#note(reported, origin.start === undefined);
    return reported;
  }

  #syncGit(
    passing: readonly { readonly captured: CapturedChange }[],
    origin: GitCommitOrigin,
    results: ReadonlyMap<BytePath, PutResult>,
  ): Promise<ReadonlyMap<BytePath, GitPathOutcome>> {
    const { tree } = this.#parts;
    const keyOf = (path: BytePath): StatKey | null | undefined => {
      const result = results.get(path)?.result;
      return result?.state === 'applied' ? result.key : this.applied.keys.get(path);
    };
    const { exec: label, places, busy, isUnderWay = false } = origin;
    return this.git.sync(passing, places, {
      label,
      busy,
      isUnderWay,
      untouched: (captured) => !this.applied.isConflict(captured, origin.isStale),
      isOwn: (path) => keyOf(path) !== undefined && keyOf(path) === tree.keyAt(path),
      put: this.#intoTree.apply,
      carriedOut: (id) => this.#putting.carriedOut.push(id),
    });
  }

  /**
   * Applies pending changes. Held changes are applied as a person has seen them; the others are
   * checked again, together.
   *
   * @throws as {@link commit}
   */
  async publish(chosen: readonly PendingEntry[], exec: ExecId): Promise<RecordedChange[]> {
    const held = await this.#judge(chosen.map(candidateFromPending));
    const isFree = ({ change }: PendingEntry): boolean =>
      change.state === 'held' || !held.has(change.path);
    const wanted = chosen.filter(isFree).map(desiredOfPending);
    const results = await this.#merging.put(wanted, this.#intoTree);
    const changes = chosen.map((waiting): RecordedChange => {
      const { change } = waiting;
      if (isFree(waiting)) return publishedChange(change, results.get(change.path), exec);
      return { ...change, state: 'held', reason: held.get(change.path) ?? null, key: null };
    });
    for (const { path, state, reason } of changes) this.pending.mark(path, state, reason);
    this.applied.markContested(changes);
    await this.#note(changes);
    return changes;
  }

  /** Of what is held, the part that may pass. */
  #bringParts(all: readonly CapturedChange[], origin: CommitOrigin): Promise<AppliedParts> {
    const isConflict = (one: CapturedChange): boolean =>
      this.applied.isConflict(one, origin.isStale);
    const own = { put: this.#intoTree.apply, left: this.applied.keys, isConflict };
    return applyHarmlessParts(this, { ...this.#parts, ...own }, all, origin);
  }

  async #ways(
    changes: readonly CapturedChange[],
    origin: GitCommitOrigin,
  ): Promise<ReadonlyMap<BytePath, ChangeDisposition>> {
    const { filter, pending } = this;
    if (filter === null) return new Map();
    const isConflict = (one: CapturedChange): boolean =>
      this.applied.isConflict(one, origin.isStale);
    const held = await this.#judge(candidatesFromCapture(changes, pending));
    const values = await restoreTaggedFiles(changes, held, origin, {
      ...this.#parts,
      filter,
      isConflict,
    });
    return decideDispositions(changes, origin, { held, values, pending, isConflict });
  }

  readonly #judge = (
    changes: readonly FilterCandidate[],
  ): Promise<ReadonlyMap<BytePath, string>> => {
    const { filter } = this;
    if (filter === null) return Promise.resolve(new Map());
    return findHeldChanges({ filter, ...this.#putting.filterCheck }, changes);
  };

  /** The version that a change starts from, for a merge with changes of others. */
  async #wantedOf(captured: CapturedChange, origin: CommitOrigin): Promise<DesiredFile> {
    const item = itemOfCaptured(captured);
    const { path, before, base, baseKey } = captured;
    if (origin.start !== undefined) return { item, start: origin.start };
    if (!isFileOverFile(captured)) return { item, start: null };
    const last = this.#merging.points.of(path).at(-1);
    if (last?.isShown === false) return { item, start: last };
    if (last === undefined && this.applied.shadowing.has(path) && before?.type === 'file') {
      return { item, start: syncPointOf(before, this.applied.keyAt(path)) };
    }
    const since = commandStartsBefore(captured, origin);
    const isSaved = (at: number): boolean =>
      isSavedAfter(captured, at, this.applied.keyAt(path), this.#parts.tree.versions);
    const isBehind =
      last !== undefined ||
      this.applied.isContested(path) ||
      this.applied.isConflict(captured, origin.isStale) ||
      isSaved(since.last);
    if (isBehind || isSaved(since.first)) {
      const start =
        this.applied.isContested(path) && last === undefined
          ? null
          : await this.#merging.mergeBaseOf(captured, since);
      if (start !== null) return { item, start };
      // An unknown version matches nothing.
      if (isBehind) return { item: { ...item, baseKey: '' }, start };
    }
    return { item, start: base?.type === 'file' ? syncPointOf(base, baseKey) : null };
  }

  /** Notes what the next change of a file is a delta against. */
  #follow(
    { path, after }: CapturedChange,
    put: PutResult | undefined,
    start: SyncPoint | null,
    origin: CommitOrigin,
  ): void {
    if (put === undefined || after?.type !== 'file') return;
    const { result, item } = put;
    if (result.state === 'applied' && item.after?.type === 'file') {
      const point = { ...syncPointOf(after, result.key), real: item.after };
      origin.synced?.(point);
      if (origin.start !== undefined) this.#merging.noteShown(path, point);
      else if (put.isMerged || this.points.of(path).length > 0) this.points.set(path, point);
    } else if (start !== null && origin.start === undefined) this.points.set(path, start);
  }

  /** Of a conflict that is over, a command saw their version: its change starts from that. */
  #startAnew(changes: readonly CapturedChange[]): void {
    const paths = changes.map(({ path }) => path).filter((path) => !this.applied.isContested(path));
    this.pending.drop(paths.filter((path) => this.pending.isConflict(path)));
  }

  readonly #intoTree = {
    apply: (items: readonly CommitItem[]) => this.#putting.put(items),
    held: (items: readonly CommitItem[]) =>
      this.#judge(items.map((item) => ({ ...item, before: item.base }))),
  };

  /** Notes what the real tree has now. */
  async #note(changes: readonly RecordedChange[], isInLayer = true): Promise<void> {
    const { tree } = this.#parts;
    const dropped = changes.filter(
      (change) => change.state === 'discarded' && !isStillPending(change),
    );
    for (const { path } of dropped) this.applied.shadowing.add(path);
    const done = changes.filter(({ state }) => state === 'applied');
    const pace = new WorkPacer();
    for (const { path, before, after, key } of done) {
      if (pace.isDue()) await pace.rest();
      tree.identity.change(path, before, after);
      this.applied.keys.set(path, key);
      if (this.filter !== null && isInLayer) this.applied.shadowing.add(path);
    }
    const paths = done.map(({ path }) => path);
    this.pending.drop([...dropped, ...done].map(({ path }) => path));
    tree.versions.noteCommandVersions(done);
    tree.noteChanges(paths, done);
  }
}
