/**
 * The workspace of one session: what its commands change is found when each has ended, and now and
 * then while one runs long; it is kept, and put into the real tree as far as mode and filter say.
 */
import { setImmediate as turn } from 'node:timers/promises';
import type { BytePath, Change, TreeId } from '../../change.ts';
import type { ExecId } from '../../command.ts';
import { isTrlError, TrlError } from '../../errors.ts';
import type { Captured, LayerCapture } from '../../workspace/changes/captured.ts';
import { Pace } from '../../workspace/changes/pace.ts';
import { Committing, discarded } from './committing.ts';
import type { Pending, Waiting } from './pending.ts';
import {
  type ChangeRecord,
  isRecord,
  mergedChanges,
  newRecordId,
  type RecordedChange,
  recordKinds,
} from './record.ts';
import { Recording } from './recording.ts';
import type { Beginning, SessionWorkspaceParts, View } from './session-parts.ts';
import { Staleness } from './staleness.ts';

interface Run extends Beginning {
  readonly before: TreeId;
  readonly overlapping: Set<ExecId>;
  /** What was told of it already. */
  earlier: readonly RecordedChange[];
}

interface Looked {
  readonly record: ChangeRecord;
  /** The store has it as it was planned: should this daemon end, recovery finds how it went. */
  readonly isToBeKept: boolean;
}

/** How often what runs long is looked at, in `ms`, and which part of the time that may take. */
const lookEveryMs = 1_000;
const lookShare = 20;
/** What a running command made since is not looked at yet. */
const youngMs = 250;

export class SessionWorkspace {
  readonly parts: SessionWorkspaceParts;
  readonly committing: Committing;
  view: View = { denied: null, git: 'none', unrecorded: [] };
  readonly #recording: Recording;
  readonly #running = new Map<ExecId, Run>();
  readonly #staleness: Staleness;
  #turn: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | null = null;
  /** Other paths are to be hidden than the overlay hides. */
  #isOutdated = false;

  constructor(parts: SessionWorkspaceParts) {
    this.parts = parts;
    this.committing = new Committing(parts);
    if (parts.layer !== null) parts.layer.leftAt = (path) => this.committing.leftAt(path);
    this.#recording = new Recording(parts, this.committing.pending);
    this.#staleness = new Staleness(parts.tree.watch.cursor());
  }

  get pending(): Pending {
    return this.committing.pending;
  }

  /**
   * Lets the next command see what somebody else changed in the real tree. `false`: it must not see
   * all of that, so its overlay has to be mounted anew.
   */
  fresh(): Promise<boolean> {
    return this.#exclusive(() => this.#refresh());
  }

  /** @param isDue whether the layer was cleared, so that the overlay shows what is gone */
  async #refresh(isDue = false): Promise<boolean> {
    const { layer, remask, refresh } = this.parts;
    if (layer === null) return true;
    // What a command deleted while it was applied is not to be seen again.
    await this.#lookAtRunning();
    const at = Date.now();
    const changed = await this.#staleness.look();
    if (changed !== null) {
      if (!(await remask(changed))) this.#isOutdated = true;
      await this.#giveWay(layer, changed);
      if (this.#running.size > 0) await layer.dropStaleDirectories();
      else if (!isDue) await layer.clearApplied([]);
    }
    if (changed !== null || isDue) await refresh(this.#namesIn(changed ?? []));
    this.#staleness.refreshed(at, this.#running.size === 0);
    // What is in the layer by now may be of what was there before; what comes later is not.
    if (changed !== null) await this.#lookAtRunning();
    return !this.#isOutdated;
  }

  /** What was applied and is still in the layer must not hide what somebody else made of it. */
  async #giveWay(layer: LayerCapture, directories: readonly BytePath[] | 'all'): Promise<void> {
    const pace = new Pace();
    for (const [path, key] of this.committing.shadowsIn(directories)) {
      if (pace.isDue()) await pace.rest();
      const now = this.parts.tree.keyAt(path);
      if (now === key) continue;
      const ino = key === null ? null : BigInt(key.slice(0, key.indexOf(':')));
      if (await layer.giveWay(path, ino)) this.committing.gaveWay(path, now);
    }
  }

  /** What runs may hold them open, which no refresh shows anew: each is looked at by name. */
  #namesIn(directories: readonly BytePath[] | 'all'): readonly BytePath[] | 'all' {
    if (directories === 'all' || this.#running.size === 0) return directories;
    return directories.flatMap((path) => [path, ...this.parts.tree.entries(path)]);
  }

  /** The overlay was mounted anew. */
  remounted(): void {
    this.#isOutdated = false;
  }

  /** Notes how things stand before a command. */
  begin(beginning: Beginning): Promise<void> {
    return this.#exclusive(async () => {
      const { tree, store, layer, capture } = this.parts;
      await tree.see();
      const isFirst = this.#running.size === 0 && beginning.startedAt === undefined;
      // Without a layer, what others did since the last scan would be taken for the command's.
      if (layer === null && isFirst && (await this.#staleness.drain())) await capture.capture();
      if (this.#running.size === 0) this.committing.rest();
      const known = store.get(recordKinds.changes, beginning.exec);
      const run: Run = {
        ...beginning,
        before: isRecord(known) ? known.before : this.#recording.id(),
        overlapping: new Set(this.#running.keys()),
        earlier: isRecord(known) ? known.changes : [],
      };
      if (beginning.startedAt !== undefined) this.#goOn(beginning.startedAt);
      this.committing.remember(run.earlier, true);
      for (const other of this.#running.values()) other.overlapping.add(run.exec);
      this.#running.set(run.exec, run);
      this.#lookLater(lookEveryMs);
    });
  }

  /** A command runs since before this daemon: what was changed meanwhile was seen by nobody. */
  #goOn(startedAt: number): void {
    const { store, session } = this.parts;
    this.#staleness.since(startedAt);
    const records = [...store.records(recordKinds.changes)].map(({ value }) => value);
    const own = records.filter(isRecord).filter((record) => record.session === session);
    // What the session's own commands left is no version of somebody else.
    for (const { changes } of own.toSorted((a, b) => a.at - b.at)) {
      this.committing.remember(changes, false);
    }
  }

  /** Keeps what a command changed in a layer that is gone. */
  note(run: Beginning, found: readonly Captured[], complete: boolean): Promise<ChangeRecord> {
    return this.#exclusive(async () => {
      const overlapping = [...this.#running.keys()];
      const changes = found.map((one) => ({ ...discarded(one, overlapping), key: null }));
      const record = this.#recording.record(
        { ...run, before: this.#recording.id() },
        changes,
        complete,
      );
      this.#recording.append(record);
      await this.parts.store.sync();
      return record;
    });
  }

  /** A command that never ran. */
  abandon(exec: ExecId): void {
    this.#running.delete(exec);
  }

  /**
   * Tells, keeps and commits what a command changed; `null`: it was not begun.
   *
   * @param isLost nobody saw how the command ended
   * @throws TrlError of the store: then nothing more reached the real tree
   */
  settle(exec: ExecId, isLost = false): Promise<ChangeRecord | null> {
    const { promise, resolve, reject } = Promise.withResolvers<ChangeRecord | null>();
    void this.#exclusive(async () => {
      const run = this.#running.get(exec);
      const looking = run === undefined ? Promise.resolve(null) : this.#look(run, isLost);
      await looking.then((looked) => resolve(looked?.record ?? null), reject);
      this.abandon(exec);
      if (run === undefined) return;
      // The answer goes first; the next command waits for what comes after it.
      await turn();
      const looked = await looking.catch(() => null);
      if (looked !== null) this.#keepSoon(looked);
      await this.#clear();
    });
    return promise;
  }

  /**
   * Publishes what waits; `wanted` chooses. Held changes only where a person said so.
   *
   * @param check called when nothing changes what waits any more; what it throws is thrown
   */
  publish(
    wanted: (waiting: Waiting) => boolean,
    label: string,
    check: () => void = () => undefined,
  ): Promise<ChangeRecord | null> {
    return this.#exclusive(async () => {
      check();
      const chosen = this.pending.all('staged', 'held', 'conflict').filter(wanted);
      if (chosen.length === 0) return null;
      const before = this.#recording.id();
      const changes = await this.committing.publish(chosen);
      const run = { exec: newRecordId(), command: label, mode: this.parts.mode, before };
      const record = this.#recording.record(run, changes, true);
      await this.#keep(record);
      await this.#clear();
      return record;
    });
  }

  /** @throws TrlError `SESSION_BUSY` while a command of the session runs */
  discard(wanted: (waiting: Waiting) => boolean): Promise<readonly Change[]> {
    return this.#exclusive(async () => {
      const { layer, session, store, refresh } = this.parts;
      if (this.#running.size > 0) {
        const message = `Cannot discard changes of ${session}: a command is running in it`;
        throw new TrlError('SESSION_BUSY', message);
      }
      const waiting = this.pending.all().filter(wanted);
      const paths = waiting.map(({ change }) => change.path);
      const stayed = new Set(await layer?.clearApplied(paths));
      const gone = waiting.filter(({ change }) => !stayed.has(change.path));
      this.pending.drop(gone.map(({ change }) => change.path));
      this.#recording.appendWaiting();
      await store.sync();
      await refresh('all');
      return gone.map(({ change }) => ({ ...change, state: 'discarded' }));
    });
  }

  /** What a command left whose end nobody saw waits for somebody to look at it. */
  takeLeftovers(): Promise<void> {
    return this.#exclusive(async () => {
      const { capture, layer, mode } = this.parts;
      if (layer === null) return;
      const found = await capture.capture();
      const before = this.#recording.id();
      const run = { exec: newRecordId(), command: '(left by a lost command)', mode, before };
      if (found.changes.length > 0) {
        const origin = { mode, isBehind: () => true, isLost: true, overlapping: [] };
        const changes = await this.committing.commit(found, origin, () =>
          this.#recording.appendWaiting(),
        );
        await this.#keep(this.#recording.record(run, changes, found.complete));
      }
      await this.#clear();
    });
  }

  /** Takes over what waited when an earlier daemon ended. */
  restore(kept: unknown): void {
    if (typeof kept !== 'object' || kept === null) return;
    const waiting: unknown = Reflect.get(kept, 'waiting');
    this.committing.restore(Array.isArray(waiting) ? waiting : []);
    this.parts.layer?.restoreLedger(String(Reflect.get(kept, 'ledger')));
  }

  /** Settles when nothing is being done with it any more. */
  async idle(): Promise<void> {
    await this.#turn;
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#staleness.close();
    for (const exec of this.#running.keys()) this.abandon(exec);
  }

  /** Tells what changed since the last look, and commits it. */
  async #look(run: Run, isLost: boolean, ageMs = 0): Promise<Looked> {
    const { capture, layer } = this.parts;
    if (layer === null) await this.#staleness.drain();
    const found = await capture.capture(ageMs);
    await this.#staleness.look();
    const origin = {
      mode: run.mode,
      isLost,
      isBehind: this.#staleness.captured((path) => this.parts.tree.wayChangedNs(path)),
      overlapping: [...run.overlapping],
    };
    if (found.changes.length === 0) {
      const record = this.#recording.record(run, run.earlier, found.complete);
      return { record, isToBeKept: false };
    }
    const recordOf = (changes: readonly RecordedChange[]): ChangeRecord =>
      this.#recording.record(run, mergedChanges(run.earlier, changes), found.complete);
    const changes = await this.committing.commit(found, origin, (planned) => {
      this.#recording.append(recordOf(planned));
      this.#recording.appendWaiting();
    });
    const record = recordOf(changes);
    run.earlier = record.changes;
    this.#share(run, changes);
    if (layer === null) await this.#keep(record);
    return { record, isToBeKept: layer !== null };
  }

  #keep(record: ChangeRecord): Promise<void> {
    this.#recording.append(record);
    this.#recording.appendWaiting();
    this.committing.told();
    return this.parts.store.sync();
  }

  #keepSoon({ record, isToBeKept }: Looked): void {
    if (!isToBeKept) return;
    this.#keep(record).catch((error: unknown) => this.parts.log(`snapshots: ${String(error)}`));
  }

  async #lookAtRunning(): Promise<void> {
    const runs = [...this.#running.values()];
    const [oldest] = runs;
    const isDirect = runs.every(({ mode }) => mode === 'direct');
    if (oldest === undefined || !isDirect) return;
    this.#keepSoon(await this.#look(oldest, false, youngMs));
  }

  /** What changes while several commands run may be any one's: each tells it. */
  #share(by: Run, changes: readonly RecordedChange[]): void {
    for (const run of this.#running.values()) {
      if (run === by) continue;
      const own = changes.map((change) => ({
        ...change,
        concurrentWith: [...run.overlapping],
        isShared: true,
      }));
      run.earlier = mergedChanges(run.earlier, own);
    }
  }

  /** While a command runs long, others are to see what it wrote, and it what they did. */
  #lookLater(delayMs: number): void {
    if (this.#timer !== null || this.parts.layer === null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.#exclusive(async () => {
        if (this.#running.size === 0) return;
        const begun = performance.now();
        await this.#lookAtRunning();
        await this.#refresh();
        this.#lookLater(Math.max(lookEveryMs, lookShare * (performance.now() - begun)));
      }).catch((error: unknown) => this.parts.log(`changes: ${String(error)}`));
    }, delayMs).unref();
  }

  /**
   * Takes out of the upper layer what the real tree has, or what somebody else's version stands
   * for. While another command runs it stays: it may have it open.
   */
  async #clear(): Promise<void> {
    const { layer, log } = this.parts;
    if (layer === null || this.#running.size > 0) return;
    const paths = [...this.committing.shadowing, ...this.pending.conflicts('stored')];
    const isDue = layer.isClearDue(paths);
    try {
      if (isDue) await layer.clearApplied(paths);
      this.committing.cleared(this.pending.conflicts('over-cap'));
      if (!isDue) return;
      await this.#refresh(true);
    } catch (error) {
      // The next command has its overlay mounted anew, or is refused with the reason.
      this.#isOutdated = true;
      // A runner that ended, as after the one command of its runtime, has nothing mounted.
      if (!isTrlError(error, 'BACKEND_UNAVAILABLE')) log(`layer: ${String(error)}`);
    }
  }

  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }
}
