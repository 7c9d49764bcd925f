/** Where each change of a command goes, and its way into the real tree. */
import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { BytePath, Change, ChangeState, StatKey, WorkspaceMode } from '../../change.ts';
import type { ExecId } from '../../command.ts';
import type { Capture, Captured } from '../../workspace/changes/captured.ts';
import { Pace } from '../../workspace/changes/pace.ts';
import { applyChanges } from '../../workspace/commit/apply.ts';
import type { CommitFilter } from '../../workspace/commit/held.ts';
import type { CommitItem, ItemResult } from '../../workspace/commit/item.ts';
import type { AtomicRenames } from '../../workspace/commit/renames.ts';
import type { SnapshotStore } from '../../snapshot/store.ts';
import { parentOf } from '../../workspace/byte-path.ts';
import { judgeAll, startOf, waitingAbove, type Unjudged } from './judging.ts';
import { Pending, type Waiting } from './pending.ts';
import { recordKinds, type RecordedChange } from './record.ts';
import type { Tree } from './tree.ts';

export interface CommittingParts {
  readonly tree: Tree;
  /** Whose files in the real tree are. */
  readonly owner: { readonly uid: number; readonly gid: number };
  readonly store: SnapshotStore;
  readonly renames: AtomicRenames;
}

/** What a commit has to know of the command whose changes they are. */
export interface Origin {
  readonly mode: WorkspaceMode;
  /** Whether somebody may have changed the path since a command saw it. */
  readonly isBehind: (captured: Captured) => boolean;
  /** Nobody saw how the command ended: what it left waits for somebody to look at it. */
  readonly isLost: boolean;
  readonly overlapping: readonly ExecId[];
}

/** Of one file, and of a commit. */
const [smallBytesMax, atHandBytesMax] = [64 * 1024, 1024 * 1024];

interface Way {
  readonly state: ChangeState;
  readonly reason: string | null;
}

export class Committing {
  readonly pending = new Pending();
  /** What may not leave the layer by itself; `null`: there is no layer, all is in the real tree. */
  filter: CommitFilter | null = null;
  readonly #parts: CommittingParts;
  /** What commits left in the real tree while commands run; `null`: nothing. */
  readonly #own = new Map<BytePath, StatKey | null>();
  /** Applied, and still in the upper layer above the real tree's. */
  readonly #shadowing = new Set<BytePath>();
  /** Intents that were carried out, and whose outcome is in no record yet. */
  readonly #carriedOut: string[] = [];
  /** Still in the upper layer above somebody else's version, which stands. */
  #contested: ReadonlySet<BytePath> = new Set();

  constructor(parts: CommittingParts) {
    this.#parts = parts;
  }

  /** Applied paths that the upper layer still has. */
  get shadowing(): ReadonlySet<BytePath> {
    return this.#shadowing;
  }

  /** Of what this session put into the real tree; `null`: nothing stands there by it. */
  leftAt(path: BytePath): StatKey | null {
    return this.#own.get(path) ?? null;
  }

  /** How it went was appended to the store: recovery has nothing to find out. */
  told(): void {
    for (const id of this.#carriedOut.splice(0)) this.#parts.store.drop(recordKinds.intent, id);
  }

  /** No command runs that could have seen the commits of before. */
  rest(): void {
    this.#own.clear();
  }

  /** The upper layer was cleared of what was applied, and of conflicts but these. */
  cleared(contested: readonly BytePath[] = []): void {
    this.#shadowing.clear();
    this.#contested = new Set(contested);
  }

  /** What an earlier daemon knew of a layer that commands go on with. */
  remember(changes: readonly RecordedChange[], isInLayer: boolean): void {
    for (const { path, state, key } of changes) {
      if (state !== 'applied' || key === null) continue;
      this.#own.set(path, key);
      if (isInLayer) this.#shadowing.add(path);
    }
  }

  /** Takes over what waited when an earlier daemon ended. */
  restore(waiting: readonly Waiting[]): void {
    this.pending.restore(waiting);
    this.#contest(waiting.map(({ change }) => change));
  }

  /** What the upper layer has of these directories, and what applying it left in the real tree. */
  shadowsIn(directories: readonly BytePath[] | 'all'): [BytePath, StatKey | null][] {
    const known = directories === 'all' ? null : new Set(directories);
    return [...this.#shadowing]
      .filter((path) => known === null || known.has(parentOf(path)))
      .map((path) => [path, this.#own.get(path) ?? null]);
  }

  /** Somebody else's version shows through: what commands make of it is no conflict with it. */
  gaveWay(path: BytePath, key: StatKey | null): void {
    this.#shadowing.delete(path);
    this.#own.set(path, key);
  }

  /**
   * Lets what may pass into the real tree. Nothing is there before `keep` has put what is to be
   * done into the store and the store is on disk.
   *
   * @param keep told of the changes as they are planned; must not throw
   * @throws TrlError of the store: then nothing reached the real tree, and everything waits
   */
  async commit(
    capture: Capture,
    origin: Origin,
    keep: (planned: readonly RecordedChange[]) => void,
  ): Promise<RecordedChange[]> {
    this.#startAnew(capture.changes);
    const ways = await this.#ways(capture.changes, origin);
    const planned = capture.changes.map((captured) => {
      const way = ways.get(captured.path) ?? { state: 'applied', reason: null };
      const change = changeOf(captured, way, origin.overlapping);
      if (change.state !== 'applied') this.pending.put(captured, change);
      return { captured, change };
    });
    if (this.filter === null) {
      const done = planned.map(({ captured, change }) => ({ ...change, key: captured.baseKey }));
      keep(done);
      await this.#note(done);
      return done;
    }
    const passing = planned.filter(({ change }) => change.state === 'applied');
    keep(planned.map(({ change }) => this.#fromReal({ ...change, key: null })));
    const items = passing.map(({ captured }) => itemOfCaptured(captured));
    const results = await this.#put(items).catch((error: unknown) => {
      // No later capture tells them.
      for (const { captured, change } of passing) {
        this.pending.put(captured, { ...change, state: 'staged', reason: 'not-recorded' });
      }
      throw error;
    });
    const changes = planned.map(({ captured, change }) => {
      const done = withResult(change, results.get(change.path));
      if (change.state === 'applied' && done.state !== 'applied') this.pending.put(captured, done);
      return this.#fromReal(done);
    });
    this.#contest(changes);
    await this.#note(changes);
    return changes;
  }

  /**
   * Puts what waited into the real tree. What was held comes as a person has seen it; the rest is
   * judged again, as it comes together now.
   *
   * @throws as {@link commit}
   */
  async publish(chosen: readonly Waiting[]): Promise<RecordedChange[]> {
    const held = await this.#judge(
      chosen.map(({ change: { path, before, after }, source }) => ({
        path,
        before,
        after,
        source,
      })),
    );
    const isFree = ({ change }: Waiting): boolean =>
      change.state === 'held' || !held.has(change.path);
    const results = await this.#put(chosen.filter(isFree).map(itemOf));
    const changes = chosen.map((waiting): RecordedChange => {
      const { change } = waiting;
      if (isFree(waiting)) {
        const done = withResult(change, results.get(change.path));
        return change.state === 'held' ? { ...done, wasHeld: true } : done;
      }
      return { ...change, state: 'held', reason: held.get(change.path) ?? null, key: null };
    });
    for (const { path, state, reason } of changes) this.pending.mark(path, state, reason);
    this.#contest(changes);
    await this.#note(changes);
    return changes;
  }

  /** Notes where the real tree stood, when the session saw something there that waited. */
  #fromReal(change: RecordedChange): RecordedChange {
    const { state, after, key } = change;
    const before = startOf(this.pending, change);
    if (state !== 'applied' || isDeepStrictEqual(before, change.before)) return change;
    return { ...change, reached: { before, after, key } };
  }

  async #ways(changes: readonly Captured[], origin: Origin): Promise<ReadonlyMap<BytePath, Way>> {
    const ways = new Map<BytePath, Way>();
    if (this.filter === null) return ways;
    const held = await this.#judge(
      changes.map(({ path, before, after, sourceAt: source }) => {
        return { path, before: startOf(this.pending, { path, before }), after, source };
      }),
    );
    for (const captured of changes) {
      const { path } = captured;
      // What is in a directory and is not shown stays: the directory is gone for the session only.
      const isOver = captured.hasMaskedBelow && captured.after?.type !== 'directory';
      const reason = isOver ? 'reserved' : (held.get(path) ?? null);
      const way = this.#way(captured, reason, origin);
      // It cannot come without the directory that it is in.
      const above = way.state === 'applied' ? waitingAbove(this.pending, path) : null;
      const isComing = above !== null && ways.get(above.path)?.state === 'applied';
      ways.set(path, above === null || isComing ? way : above);
    }
    return ways;
  }

  #judge(changes: readonly Unjudged[]): Promise<ReadonlyMap<BytePath, string>> {
    const { filter } = this;
    const { tree, store } = this.#parts;
    if (filter === null) return Promise.resolve(new Map());
    return judgeAll({ filter, root: tree.root, contents: store }, changes);
  }

  #way(captured: Captured, held: string | null, origin: Origin): Way {
    const earlier = this.pending.find(captured.path)?.change.state;
    if (origin.mode === 'discard') return { state: 'discarded', reason: null };
    // What git wrote to a repository that is no real one is of no use anywhere else.
    if (held === 'projected-repository') return { state: 'discarded', reason: held };
    if (held !== null) return { state: 'held', reason: held };
    if (origin.mode === 'staged') return { state: 'staged', reason: null };
    if (origin.isLost) return { state: 'staged', reason: 'lost' };
    // What waits with it would go along unseen.
    if (earlier === 'staged' || earlier === 'discarded') {
      return { state: earlier, reason: 'staged-before' };
    }
    return this.#isConflict(captured, origin)
      ? { state: 'conflict', reason: 'changed-meanwhile' }
      : { state: 'applied', reason: null };
  }

  /** Whether somebody else changed the path while the command ran. */
  #isConflict(captured: Captured, { isBehind }: Origin): boolean {
    const { path, base, baseKey, after } = captured;
    if (this.#own.has(path) && this.#own.get(path) === baseKey) return false;
    // A directory is changed by what is done in it, and does not go while there is something.
    const isEntered = after === null || after.type === 'directory';
    if (base?.type === 'directory' && isEntered) return false;
    // The layer hides their version, whenever they made it.
    if (this.#contested.has(path) || this.#shadowing.has(path)) return true;
    return isBehind(captured);
  }

  /** Of a conflict that is over, a command saw their version: its change starts from that. */
  #startAnew(changes: readonly Captured[]): void {
    const isOver = (path: BytePath): boolean =>
      this.pending.find(path)?.change.state === 'conflict' && !this.#contested.has(path);
    this.pending.drop(changes.map(({ path }) => path).filter(isOver));
  }

  #contest(changes: readonly Change[]): void {
    const paths = changes.filter(({ state }) => state === 'conflict').map(({ path }) => path);
    if (paths.length > 0) this.#contested = new Set([...this.#contested, ...paths]);
  }

  async #put(items: readonly CommitItem[]): Promise<Map<BytePath, ItemResult>> {
    const { tree, owner, store, renames } = this.#parts;
    const id = randomBytes(4).toString('hex');
    const place = { root: tree.root, ...owner };
    if (items.length > 0) store.append(recordKinds.intent, id, { id, tree: place, items });
    const atHand = this.#atHand(items);
    try {
      await store.sync();
    } catch (error) {
      store.drop(recordKinds.intent, id);
      throw error;
    }
    if (items.length === 0) return new Map();
    const input = { tree: place, id, items, contents: store, atHand, renames };
    const results = await tree.exclusive(() => applyChanges(input));
    this.#carriedOut.push(id);
    return new Map(results.map((result) => [result.path, result]));
  }

  /** Small contents that were read just now: they are not read and compared again. */
  #atHand(items: readonly CommitItem[]): ReadonlyMap<string, Uint8Array> {
    const found = new Map<string, Uint8Array>();
    let room = atHandBytesMax;
    for (const { after } of items) {
      if (after?.type !== 'file' || after.sha256 === null) continue;
      const bytes = this.#parts.store.atHand(after.sha256);
      if (bytes === null || bytes.length > Math.min(room, smallBytesMax)) continue;
      found.set(after.sha256, bytes);
      room -= bytes.length;
    }
    return found;
  }

  /** Notes what the real tree has now. */
  async #note(changes: readonly RecordedChange[]): Promise<void> {
    const { tree } = this.#parts;
    const done = changes.filter(({ state }) => state === 'applied');
    const pace = new Pace();
    for (const { path, before, after, key } of done) {
      if (pace.isDue()) await pace.rest();
      tree.identity.change(path, before, after);
      this.#own.set(path, key);
      if (this.filter !== null) this.#shadowing.add(path);
    }
    const paths = done.map(({ path }) => path);
    this.pending.drop(paths);
    tree.changed(paths);
  }
}

/** A change that goes with its layer. */
export const discarded = (captured: Captured, overlapping: readonly ExecId[]): Change =>
  changeOf(captured, { state: 'discarded', reason: null }, overlapping);

function changeOf(
  { path, kind, before, after, marks }: Captured,
  { state, reason }: Way,
  concurrentWith: readonly ExecId[],
): Change {
  return { path, kind, before, after, marks, state, reason, concurrentWith };
}

function itemOfCaptured(captured: Captured): CommitItem {
  const { path, base, baseKey, after, sourceAt: source, upperKey: sourceKey } = captured;
  return { path, base, baseKey, after, source, sourceKey };
}

function itemOf({ change, base, baseKey, source, sourceKey }: Waiting): CommitItem {
  return { path: change.path, base, baseKey, after: change.after, source, sourceKey };
}

/** What could not be put there waits. */
function withResult(change: Change, result: ItemResult | undefined): RecordedChange {
  if (result === undefined) return { ...change, key: null };
  if (result.state === 'applied') {
    return { ...change, state: 'applied', reason: null, key: result.key };
  }
  const state = result.state === 'conflict' ? 'conflict' : 'held';
  return { ...change, state, reason: result.reason, key: null };
}
