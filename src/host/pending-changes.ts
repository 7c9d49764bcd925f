/** Changes of a session's commands that the real tree does not have. */
import type { BytePath, Change, ChangeState, Entry, StatKey } from '../change.ts';
import { TrlError } from '../errors.ts';
import { parentPathOf } from '../workspace/byte-path.ts';
import type { CapturedChange, CapturedSource } from '../workspace/changes/capture.ts';
import type { AppliedState, RecordedChange } from './change-record.ts';
import type { ChangeRecorder } from './change-recorder.ts';
import type { SessionWorkspaceDependencies } from './session-dependencies.ts';

/** One pending path, as JSON. */
export interface PendingEntry {
  readonly change: Change;
  /** What the change starts from in the real tree. */
  readonly base: Entry | null;
  readonly baseKey: StatKey | null;
  /** Where the new content is, and its key there. */
  readonly source: CapturedSource | null;
  readonly sourceKey: StatKey | null;
}

/** By path. A later change of a path takes the place of the earlier one, and keeps its start. */
export class PendingChanges {
  readonly #all = new Map<BytePath, PendingEntry>();
  readonly #onChange: () => void;

  /** @param onChange called after each change; must not throw */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get size(): number {
    return this.#all.size;
  }

  find(path: BytePath): PendingEntry | null {
    return this.#all.get(path) ?? null;
  }

  /** Whether a change is pending at a path, or above it. */
  holds(path: BytePath): boolean {
    for (let at = path; at !== ''; at = parentPathOf(at)) {
      const state = this.#all.get(at)?.change.state;
      if (state !== undefined && state !== 'conflict') return true;
    }
    return false;
  }

  isConflict(path: BytePath): boolean {
    return this.find(path)?.change.state === 'conflict';
  }

  /** In byte order of the paths. */
  all(...states: readonly ChangeState[]): PendingEntry[] {
    const found = [...this.#all.values()];
    const wanted =
      states.length === 0 ? found : found.filter(({ change }) => states.includes(change.state));
    return wanted.toSorted((a, b) => (a.change.path < b.change.path ? -1 : 1));
  }

  /**
   * Conflicts, where another writer's version stays; `over-cap`: our version is only in the layer.
   */
  conflicts(kept: 'stored' | 'over-cap'): BytePath[] {
    const isOver = kept === 'over-cap';
    return this.all('conflict')
      .filter(({ change }) => change.marks.includes('over-cap') === isOver)
      .map(({ change }) => change.path);
  }

  put(captured: CapturedChange, change: Change): void {
    const before = this.#all.get(change.path);
    const start = before ?? { base: captured.base, baseKey: captured.baseKey, change };
    const { sourceAt: source, upperKey: sourceKey } = captured;
    // From the state of the real tree, not from the previous command's.
    const whole = { ...change, before: before === undefined ? change.before : start.change.before };
    this.#all.set(change.path, {
      change: whole,
      base: start.base,
      baseKey: start.baseKey,
      source,
      sourceKey,
    });
    this.#onChange();
  }

  /** A part of a pending change was applied. */
  rebase(path: BytePath, { after, key }: Pick<AppliedState, 'after' | 'key'>): void {
    const found = this.#all.get(path);
    if (found === undefined) return;
    const change = { ...found.change, before: after };
    this.#all.set(path, { ...found, change, base: after, baseKey: key });
    this.#onChange();
  }

  /** Sets another state of a pending change. */
  mark(path: BytePath, state: ChangeState, reason: string | null): void {
    const found = this.#all.get(path);
    if (found === undefined) return;
    this.#all.set(path, { ...found, change: { ...found.change, state, reason } });
    this.#onChange();
  }

  drop(paths: Iterable<BytePath>): void {
    for (const path of paths) this.#all.delete(path);
    this.#onChange();
  }

  toJson(): readonly PendingEntry[] {
    return [...this.#all.values()];
  }

  restore(list: readonly PendingEntry[]): void {
    for (const waiting of list) this.#all.set(waiting.change.path, waiting);
    this.#onChange();
  }
}

/** What commits of a view put into the real tree, and what of it the upper layer still has. */
export class AppliedEntries {
  /** The key in the real tree by path, while commands run; `null`: the commit deleted the entry. */
  readonly keys = new Map<BytePath, StatKey | null>();
  /** Applied, and still in the upper layer above the entry of the real tree. */
  readonly shadowing = new Set<BytePath>();
  /** In the upper layer above another writer's version, which the real tree keeps. */
  #contested: ReadonlySet<BytePath> = new Set();

  /** Of what this view put into the real tree; `null`: nothing there is the view's. */
  keyAt(path: BytePath): StatKey | null {
    return this.keys.get(path) ?? null;
  }

  isContested(path: BytePath): boolean {
    return this.#contested.has(path);
  }

  /** Adds conflicts whose upper version stays in the layer and replaces nothing. */
  markContested(changes: readonly Pick<Change, 'path' | 'state'>[]): void {
    const paths = changes.filter(({ state }) => state === 'conflict').map(({ path }) => path);
    if (paths.length > 0) this.#contested = new Set([...this.#contested, ...paths]);
  }

  /** The upper layer was cleared of applied entries, and of conflicts except these. */
  cleared(contested: readonly BytePath[]): void {
    this.shadowing.clear();
    this.#contested = new Set(contested);
  }

  /** Takes over what an earlier daemon applied from a layer that commands still use. */
  remember(changes: readonly RecordedChange[], isInLayer: boolean): void {
    for (const { path, state, key } of changes) {
      if (state !== 'applied' || key === null) continue;
      this.keys.set(path, key);
      if (isInLayer && !this.isContested(path)) this.shadowing.add(path);
    }
  }

  /**
   * Whether another writer changed the path while the command ran.
   *
   * @param isStale whether the real tree has a version that the command did not see
   */
  isConflict(captured: CapturedChange, isStale: (captured: CapturedChange) => boolean): boolean {
    const { path, base, baseKey, after } = captured;
    if (this.keys.has(path) && this.keys.get(path) === baseKey) return false;
    if (base === null && after === null) return false;
    // A directory changes with its entries, and is not removed while it has any.
    const isEntered = after === null || after.type === 'directory';
    if (base?.type === 'directory' && isEntered) return false;
    // The layer hides the other version, at whatever time it was written.
    if (this.isContested(path) || this.shadowing.has(path)) return true;
    return isStale(captured);
  }
}

interface DiscardGround extends Pick<SessionWorkspaceDependencies, 'layer' | 'store' | 'refresh'> {
  readonly pending: PendingChanges;
  readonly recording: Pick<ChangeRecorder, 'appendPending'>;
}

/** @throws TrlError `SESSION_BUSY` while a command runs in the layer */
export async function discardPending(
  { layer, store, refresh, pending, recording }: DiscardGround,
  wanted: (waiting: PendingEntry) => boolean,
  isOccupied: boolean,
): Promise<readonly Change[]> {
  if (isOccupied) {
    const message = 'Cannot discard changes: a command is running in the layer that has them';
    throw new TrlError('SESSION_BUSY', message);
  }
  const waiting = pending.all().filter(wanted);
  const stayed = new Set(await layer?.clearApplied(waiting.map(({ change }) => change.path)));
  const gone = waiting.filter(({ change }) => !stayed.has(change.path));
  pending.drop(gone.map(({ change }) => change.path));
  recording.appendPending();
  await store.sync();
  await refresh('all');
  return gone.map(({ change }) => ({ ...change, state: 'discarded' }));
}
