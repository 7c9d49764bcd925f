/**
 * The workspace of the sessions of one view: captures what their commands change, at the end of
 * each and regularly during a long one, records it, and applies what mode and filter permit.
 */
import { setImmediate as turn } from 'node:timers/promises';
import type { Change } from '../change.ts';
import type { ExecId, SessionId } from '../command.ts';
import { isTrlError } from '../errors.ts';
import type { CaptureResult } from '../workspace/changes/capture.ts';
import { BulkDirectoryMoves } from './bulk-directory-moves.ts';
import { ChangeAnnouncer, noStoredCopies } from './change-announcer.ts';
import { ChangeCommitter } from './change-committer.ts';
import type { CommitOrigin } from './change-outcomes.ts';
import {
  type ChangeRecord,
  changeRecordsOf,
  newRecordId,
  type RecordedChange,
  soleCommand,
} from './change-record.ts';
import { ChangeRecorder, recoverViewState } from './change-recorder.ts';
import { DisplacedFiles } from './displaced-files.ts';
import { discardPending, type PendingChanges, type PendingEntry } from './pending-changes.ts';
import type { CommandStart } from './port.ts';
import { PeriodicTask, SerialQueue } from './scheduling.ts';
import type {
  CaptureRecord,
  RunningCommand,
  SessionViewContext,
  SessionWorkspaceDependencies,
  ViewSummary,
} from './session-dependencies.ts';
import { MountGenerations, Staleness } from './staleness.ts';

export class SessionWorkspace {
  readonly parts: SessionWorkspaceDependencies;
  readonly committing: ChangeCommitter;
  readonly mounts = new MountGenerations();
  readonly pending: PendingChanges;
  view: ViewSummary = { denied: null, git: 'none', unrecorded: [] };
  readonly #recording: ChangeRecorder;
  readonly #running = new Map<ExecId, RunningCommand>();
  readonly #staleness: Staleness;
  /** They run, and were not begun yet. */
  readonly #adopted: Set<ExecId>;
  readonly #displaced: DisplacedFiles;
  readonly #bulkMoves: BulkDirectoryMoves;
  readonly #announcing: ChangeAnnouncer | null;
  readonly #serial = new SerialQueue();
  readonly #periodic = new PeriodicTask(
    () => this.#serial.run(() => this.#captureAgain()),
    (error) => this.parts.log(`changes: ${String(error)}`),
  );

  constructor(parts: SessionWorkspaceDependencies) {
    this.parts = parts;
    this.committing = new ChangeCommitter(parts);
    this.pending = this.committing.pending;
    this.#bulkMoves = new BulkDirectoryMoves(parts, this.committing);
    this.#recording = new ChangeRecorder(parts, this.committing.pending);
    this.#displaced = new DisplacedFiles(parts.tree, parts.store);
    this.#announcing = ChangeAnnouncer.of(parts, this.committing, this.#storeSync);
    this.#staleness = new Staleness(parts.tree.watch.cursor(), (touched, isAll) => {
      const others = touched.filter((path) => this.committing.applied.keyAt(path) === null);
      parts.tree.versions.note(others, isAll);
    });
    this.#adopted = new Set(parts.adopted);
  }

  /** Takes a session in, or moves it to another context; the latest context is the view's. */
  join(session: SessionId, context: SessionViewContext): void {
    this.committing.filter = context.filter;
    this.committing.git.directories = context.gitDirectories;
    this.mounts.set(session, context.generation);
    for (const { path, isWhole } of context.mounts) this.mounts.cover(path, isWhole);
    this.view = context.summary;
  }

  /**
   * Shows the session's next command what others changed in the real tree. `false`: it must not see
   * all of that, so its overlay must be mounted again.
   */
  refresh(session: SessionId): Promise<boolean> {
    return this.#serial.run(async () => {
      await this.#refresh();
      return this.mounts.isCurrent(session);
    });
  }

  /** @param isDue whether the layer was cleared, so that the overlay shows what is gone */
  async #refresh(isDue = false): Promise<void> {
    const { layer, remask, refresh } = this.parts;
    if (layer === null) return;
    // A file that a command deleted during its apply must not reappear.
    await this.#captureRunning();
    const at = Date.now();
    const changed = await this.#staleness.look();
    if (changed !== null && !(await remask(changed))) this.mounts.outdate();
    const heard = changed !== null && this.#isOccupied() ? this.#staleness.unseen : [];
    using announcement = await this.#announcing?.begin(heard);
    if (changed !== null) {
      const out = this.committing.appliedEntriesIn(changed, announcement?.announced);
      const gone = await this.#displaced.displace(layer, this.committing, out, this.#storeSync);
      this.#announcing?.release(gone);
      if (this.#isOccupied()) await layer.dropStaleDirectories();
      else if (!isDue) await layer.clearApplied([]);
    }
    const names = this.parts.tree.namesIn(changed ?? [], this.#isOccupied());
    if (changed !== null || isDue) await refresh(names);
    await announcement?.end();
    this.#staleness.refreshed(at, !this.#isOccupied());
    // Entries of the layer so far may be based on the earlier state; later ones are not.
    if (changed !== null) await this.#captureRunning();
  }

  /** Whether a command of any session runs: it may have entries of the layer open. */
  readonly #isOccupied = (): boolean => this.#running.size > 0 || this.#isAnyAdopted();

  readonly #isAnyAdopted = (): boolean => [...this.#adopted].some(this.parts.isRunning);

  /** Notes the state of the tree before a command. */
  begin(beginning: CommandStart): Promise<void> {
    return this.#serial.run(async () => {
      const { tree, layer, capture } = this.parts;
      await tree.detectExternalChanges();
      const isFirst = this.#running.size === 0 && beginning.startedAt === undefined;
      // Without a layer, changes of others since the last scan would be attributed to the command.
      if (layer === null && isFirst && (await this.#staleness.drain())) await capture.capture();
      this.committing.begin(isFirst);
      if (layer !== null) await tree.versions.warm();
      const run = this.#recording.running(beginning, this.#running.keys());
      if (beginning.startedAt !== undefined) this.#adopt(beginning.startedAt);
      this.committing.applied.remember(run.earlier, true);
      for (const other of this.#running.values()) other.overlapping.add(run.exec);
      this.#running.set(run.exec, run);
      this.#adopted.delete(run.exec);
      if (layer !== null) this.#periodic.start();
    });
  }

  /** Continues a command of an earlier daemon: changes since its start were not watched. */
  #adopt(startedAt: number): void {
    const { store, view } = this.parts;
    this.#staleness.since(startedAt);
    // Changes of the view's own commands are no other writer's versions.
    for (const { changes } of changeRecordsOf(store, view)) {
      this.committing.applied.remember(changes, false);
    }
  }

  /** Keeps what a command changed in a layer that is gone. */
  recordCapture(run: CommandStart, found: CaptureResult): Promise<ChangeRecord> {
    return this.#serial.run(async () => {
      const record = this.#recording.appendDiscarded(run, found, [...this.#running.keys()]);
      await this.parts.store.sync();
      return record;
    });
  }

  /** A command that never ran. */
  readonly abandon = (exec: ExecId): unknown => this.#running.delete(exec);

  /**
   * Captures, records and applies what a command changed; `null`: it was not begun.
   *
   * @param isLost nobody saw how the command ended
   * @throws TrlError of the store: then nothing more reached the real tree
   */
  settle(exec: ExecId, isLost = false): Promise<ChangeRecord | null> {
    const { promise, resolve, reject } = Promise.withResolvers<ChangeRecord | null>();
    void this.#serial.run(async () => {
      const run = this.#running.get(exec);
      const capturing = run === undefined ? Promise.resolve(null) : this.#capture(run, isLost);
      await capturing.then((captureRecord) => resolve(captureRecord?.record ?? null), reject);
      this.abandon(exec);
      if (run === undefined) return;
      // The answer is sent first; the next command waits for the cleanup after it.
      await turn();
      const captureRecord = await capturing.catch(() => null);
      if (captureRecord !== null) this.#recordLater(captureRecord);
      await this.#clear();
    });
    return promise;
  }

  /**
   * Applies the pending changes that are `wanted`: held ones only after a person approved them.
   *
   * @param check called when the pending changes no longer change; its error is thrown
   */
  publish(
    session: SessionId,
    wanted: (pending: PendingEntry) => boolean,
    check: () => void,
  ): Promise<ChangeRecord | null> {
    return this.#serial.run(async () => {
      check();
      const chosen = this.pending.all('staged', 'held', 'conflict').filter(wanted);
      if (chosen.length === 0) return null;
      const before = this.#recording.id();
      const exec = newRecordId();
      const changes = await this.committing.publish(chosen, exec);
      const run = { exec, session, command: '(workspace apply)', mode: this.parts.mode, before };
      const record = { ...this.#recording.record(run, changes, true), isPublication: true };
      await this.#record(record);
      await this.#clear();
      return record;
    });
  }

  /** @throws TrlError `SESSION_BUSY` while a command of the view runs */
  discard(wanted: (pending: PendingEntry) => boolean): Promise<readonly Change[]> {
    const context = { ...this.parts, pending: this.pending, recording: this.#recording };
    return this.#serial.run(() => discardPending(context, wanted, this.#isOccupied()));
  }

  /** Stages the changes of a command whose end nobody saw, for a person to review. */
  takeLeftovers(session: SessionId): Promise<void> {
    return this.#serial.run(async () => {
      const { capture, layer, mode } = this.parts;
      if (layer === null) return;
      const command = '(left by a lost command)';
      const run = { exec: newRecordId(), session, command, mode, before: this.#recording.id() };
      // It was being applied when the command was lost.
      await this.#captureDisplaced({ ...run, exec: newRecordId(), ...soleCommand }, false);
      const found = await capture.capture();
      if (found.changes.length > 0) {
        const lost = { isStale: () => true, isLost: true, overlapping: [] };
        const keep = (): unknown => this.#recording.appendPending();
        const origin = { mode, ...lost, exec: run.exec };
        const changes = await this.committing.commit(found, origin, keep);
        await this.#record(this.#recording.record(run, changes, found.complete));
      }
      await this.#clear();
    });
  }

  /** Takes over what waited when an earlier daemon ended, and goes on to follow files. */
  async restore(): Promise<void> {
    const { layer, store, view } = this.parts;
    if (layer === null) return;
    const kept = recoverViewState(store, view, this.#adopted.size > 0 ? layer : null);
    this.committing.restore(kept);
    if (kept.ledger !== null) layer.restoreLedger(kept.ledger);
    layer.forget(kept.unsettled);
    await this.#announcing?.restore(kept.copies);
    await this.#displaced.restore(kept.displaced, layer);
  }

  /**
   * A session has ended, and others continue: the changes of its commands are recorded as theirs.
   */
  leave(session: SessionId): Promise<void> {
    return this.#serial.run(async () => {
      this.mounts.leave(session);
      for (const run of [...this.#running.values()].filter((one) => one.session === session)) {
        this.#recordLater(await this.#capture(run, false));
        this.abandon(run.exec);
      }
      await this.#clear();
    });
  }

  /** Settles when nothing is being done with it any more. */
  readonly idle = (): Promise<void> => this.#serial.idle();

  close(): void {
    this.#periodic.stop();
    this.#staleness.close();
    this.#displaced.close();
    this.#bulkMoves.close();
    this.#announcing?.close();
    for (const exec of this.#running.keys()) this.abandon(exec);
  }

  /** Captures the changes since the last look, and commits them. */
  async #capture(run: RunningCommand, isLost: boolean, isEnd = true): Promise<CaptureRecord> {
    const { layer } = this.parts;
    if (layer === null) await this.#staleness.drain();
    const isWritten = await this.#captureDisplaced(run, isLost);
    const isUnderWay = !isEnd || this.#running.size > 1;
    if (isUnderWay) await this.committing.git.waitUntilQuiet();
    const isLast = !isLost && this.#running.size === 1 && !this.#isAnyAdopted();
    const when = { isEnd, isLast, isUnderWay, run, staleness: this.#staleness };
    const found = await this.#bulkMoves.capture(when);
    // Otherwise the end waits for it. Each look writes the whole record, so there are not many.
    if (found.changes.length > Math.max(1_000, run.earlier.length / 4)) this.#periodic.hurry();
    await this.#staleness.look();
    const isBehind = this.#staleness.captured(this.parts.tree, found.waiting);
    const origin = { ...this.#origin(run, isLost), isStale: isBehind, isUnderWay };
    if (found.changes.length === 0 && !this.committing.git.isWaiting) {
      const record = this.#recording.record(run, run.earlier, found.complete);
      return { record, needsFinalRecord: isWritten };
    }
    let record = await this.#commit(run, found, origin);
    // Another writer made the same directory meanwhile: the layer's is captured path by path.
    if (isLast && isEnd && (found.wholes ?? []).some((path) => layer?.has(path))) {
      record = await this.#commit(run, await this.parts.capture.capture(), origin);
    }
    return { record, needsFinalRecord: layer !== null };
  }

  /** What is written to files that have left the layer; answers whether anything was. */
  async #captureDisplaced(run: RunningCommand, isLost: boolean): Promise<boolean> {
    let isWritten = false;
    for await (const { captured, start, synced, record } of this.#displaced.changes()) {
      const found = { changes: [captured], complete: true, skipped: [] };
      const origin = { ...this.#origin(run, isLost), start, synced, isStale: () => false };
      await this.#commit(run, found, origin);
      const waiting = this.pending.find(captured.path)?.change;
      if (waiting?.state === 'conflict') this.#recording.appendOpen(run, record, waiting);
      isWritten = true;
    }
    return isWritten;
  }

  #origin({ mode, exec, overlapping }: RunningCommand, isLost: boolean) {
    const begunAt = [...this.#running.values()].map((run) => run.begunAt);
    return { mode, exec, isLost, overlapping: [...overlapping], begunAt };
  }

  async #commit(
    run: RunningCommand,
    found: CaptureResult,
    origin: CommitOrigin,
  ): Promise<ChangeRecord> {
    const attribute = (changes: readonly RecordedChange[]) =>
      this.#recording.attribute(run, changes, found, this.#running.values());
    const changes = await this.committing.commit(found, origin, (planned) => {
      this.#recording.appendRecords(attribute(planned));
      this.#recording.appendPending();
    });
    const [own, ...others] = attribute(changes);
    for (const { run: by, record } of [own, ...others]) by.earlier = record.changes;
    this.#recording.appendRecords(others);
    if (this.parts.layer === null) await this.#record(own.record);
    this.#storeSync();
    return own.record;
  }

  readonly #storeSync = (): void => {
    this.#recording.appendSyncState({
      points: this.committing.points.toJson(),
      displaced: this.#displaced.toJson(),
      copies: this.#announcing?.toJson() ?? noStoredCopies,
    });
  };

  #record(record: ChangeRecord): Promise<void> {
    this.#recording.append(record);
    this.#recording.appendPending();
    this.committing.markRecorded();
    return this.parts.store.sync();
  }

  #recordLater({ record, needsFinalRecord }: CaptureRecord): void {
    if (!needsFinalRecord) return;
    this.#record(record).catch((error: unknown) => this.parts.log(`snapshots: ${String(error)}`));
  }

  async #captureRunning(): Promise<void> {
    const runs = [...this.#running.values()];
    const [oldest] = runs;
    if (oldest === undefined || runs.some(({ mode }) => mode !== 'direct')) return;
    this.#recordLater(await this.#capture(oldest, false, false));
  }

  /** While a command runs long, others are to see what it wrote, and it what they did. */
  async #captureAgain(): Promise<number | null> {
    if (this.#running.size === 0) return null;
    const begun = performance.now();
    await this.#captureRunning();
    await this.#refresh();
    return performance.now() - begun;
  }

  /** Prunes the upper layer of what the real tree has. A running command may have it open. */
  async #clear(): Promise<void> {
    const { layer, log } = this.parts;
    if (layer === null || this.#isOccupied()) return;
    this.#displaced.clear();
    const paths = this.committing.clearable();
    const isDue = layer.isClearDue(paths);
    try {
      if (isDue) await layer.clearApplied(paths);
      this.committing.cleared(this.pending.conflicts('over-cap'));
      this.#announcing?.clear();
      this.#storeSync();
      if (isDue) await this.#refresh(true);
    } catch (error) {
      // The next command gets a new mount of its overlay, or is refused with the reason.
      this.mounts.outdate();
      // A runner that ended, as after the one command of its runtime, has nothing mounted.
      if (!isTrlError(error, 'BACKEND_UNAVAILABLE')) log(`layer: ${String(error)}`);
    }
  }
}
