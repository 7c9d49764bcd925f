/** Commits a view's changes of git directories, as git itself would make them. */
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { BytePath, Entry, StatKey } from '../change.ts';
import type { SnapshotStore } from '../snapshot/store.ts';
import { joinPath, pathText } from '../workspace/byte-path.ts';
import type { CapturedChange, LayerCapture } from '../workspace/changes/capture.ts';
import type { CommitItem, ItemResult } from '../workspace/commit/commit-item.ts';
import { TreePathResolver } from '../workspace/commit/tree-path-resolver.ts';
import { planCheckoutRestore, worktreeOf } from '../workspace/git-sync/checkout.ts';
import { type GitFileLocation, GitFileLocator } from '../workspace/git-sync/git-files.ts';
import {
  GitHostView,
  type GitPathChange,
  GitSessionView,
} from '../workspace/git-sync/git-session-view.ts';
import {
  type GitSyncOutcome,
  gitSyncOutcomeOf,
  noteSynced,
  planGitSync,
} from '../workspace/git-sync/plan-git-sync.ts';
import { type GitPlan, parsePackedRefs, reflogLinesOf } from '../workspace/git-sync/ref-values.ts';
import {
  GitTransaction,
  type GitTransactionContext,
  stashRefName,
} from '../workspace/git-sync/transaction.ts';
import { type ChangeDisposition, itemOfCaptured } from './change-outcomes.ts';
import { type AppliedState, recordKinds } from './change-record.ts';
import type { WorkspaceTree } from './workspace-tree.ts';

interface GitSyncDependencies {
  readonly tree: WorkspaceTree;
  readonly owner: { readonly uid: number; readonly gid: number };
  readonly store: SnapshotStore;
  readonly layer: Pick<LayerCapture, 'has'> | null;
  /** A directory of the runtime's own, for git. */
  readonly scratch: string;
  /** Makes the view show what the real tree has now, above all at these names. */
  readonly refresh: (names: readonly BytePath[]) => Promise<void>;
  readonly log: (text: string) => void;
}

/** What became of a path; `reached`: where the real tree has something else than the session. */
export interface GitPathOutcome extends Omit<GitSyncOutcome, 'merged'> {
  readonly reached?: AppliedState;
}

interface GitSyncOptions {
  /** Names what is set aside. */
  readonly label: string;
  /** Repositories in which a git of the view is in the middle of something. */
  readonly busy: ReadonlySet<BytePath>;
  /** Commands run that look at it meanwhile. */
  readonly isUnderWay: boolean;
  /** The host's index, if nobody changed it since the session saw it. */
  readonly untouched: (captured: CapturedChange) => boolean;
  /** Whether the view applied the current entry at a path of the real tree. */
  readonly isOwn: (path: BytePath) => boolean;
  readonly put: (items: readonly CommitItem[]) => Promise<ReadonlyMap<BytePath, ItemResult>>;
  /** Called with an intent that was carried out. */
  readonly carriedOut: (id: string) => void;
}

/** These are put there one by one, as any other files. */
const plainKinds: ReadonlySet<string> = new Set(['state', 'scratch']);
/** Git creates them again from others, or they belong to one git process. */
const droppedKinds: ReadonlySet<string> = new Set(['derived', 'lock']);
const waits: ReadonlySet<string | null> = new Set(['git-busy', 'git-objects', 'git-refused']);
const [quietMs, everyMs, attemptsMax] = [300, 10, 3];

export class GitSync {
  /** Git directories of the workspace that are known. */
  directories: readonly BytePath[] = [];
  readonly #parts: GitSyncDependencies;
  readonly #view: GitSessionView;
  /** Repositories of which something is still to be brought. */
  readonly #waiting = new Map<BytePath, Map<BytePath, GitPathChange>>();
  /** Files that are out of the host's work tree, as their commit was set aside. */
  readonly #setAside = new Map<BytePath, CommitItem>();
  /** Keys of indexes of the host that are the session's own, whole. */
  readonly #whole = new Map<BytePath, StatKey | null>();

  constructor(parts: GitSyncDependencies) {
    this.#parts = parts;
    const isInLayer = (path: BytePath): boolean => parts.layer?.has(path) ?? false;
    this.#view = new GitSessionView({ root: parts.tree.root, contents: parts.store, isInLayer });
  }

  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Notes what the session's indexes are of, before a command changes them. */
  noteIndexes(): void {
    const host = new GitHostView(this.#parts.tree.root);
    for (const git of this.directories) {
      const packed = joinPath(git, 'packed-refs');
      if (!this.#view.isOwn(packed)) {
        this.#view.packedBase.set(git, parsePackedRefs(host.text(packed)));
      }
      const log = joinPath(git, `logs/${stashRefName}`);
      if (!this.#view.isOwn(log)) this.#view.stashes.set(git, reflogLinesOf(host.text(log) ?? ''));
      if (this.#view.isOwn(joinPath(git, 'index'))) continue;
      this.#view.indexOf.set(git, host.commit(git, host.text(joinPath(git, 'HEAD'))));
    }
  }

  /** Waits briefly until no git process is in the middle of an operation. */
  async waitUntilQuiet(): Promise<void> {
    const until = performance.now() + quietMs;
    const isBusy = (): boolean => this.directories.some((git) => this.#view.isBusy(git));
    while (isBusy() && performance.now() < until) await pause(everyMs);
  }

  /** Repositories in which a git of the view is in the middle of something, or was just now. */
  busy(
    changes: readonly CapturedChange[],
    places: GitFileLocations,
    { isUnderWay }: Partial<Pick<GitSyncOptions, 'isUnderWay'>>,
  ): ReadonlySet<BytePath> {
    const found = new Set<BytePath>();
    if (isUnderWay !== true) return found;
    for (const captured of changes) {
      const place = places.get(captured.path);
      if (place?.kind === 'head') this.#view.add(rowOf(captured, place));
    }
    for (const { common, git } of places.values()) {
      if (found.has(common)) continue;
      if ([common, git].some((one) => this.#view.isBusy(one))) found.add(common);
    }
    for (const common of this.#waiting.keys()) if (this.#view.isBusy(common)) found.add(common);
    return found;
  }

  /** Changed paths that are brought over as git's; what goes with its whole repository is not. */
  locate(changes: readonly Pick<CapturedChange, 'path' | 'after'>[]): GitFileLocations {
    const found = new Map<BytePath, GitFileLocation>();
    if (this.#parts.layer === null) return found;
    const steps = new TreePathResolver(this.#parts.tree.root);
    const places = new GitFileLocator(steps);
    const replaced = new Set(
      changes.flatMap(({ path, after }) => (after?.type === 'directory' ? [] : [path])),
    );
    for (const { path, after } of changes) {
      const place = after?.type === 'directory' ? null : places.of(path);
      if (place === null) continue;
      if (!isAnyAbove(place.git, replaced)) found.set(path, place);
    }
    steps.close();
    return found;
  }

  /** Whether a path makes sense only together with others of the layer. */
  isCoupled(path: BytePath): boolean {
    if (!path.includes('.git/')) return false;
    const steps = new TreePathResolver(this.#parts.tree.root);
    const place = new GitFileLocator(steps).of(path);
    steps.close();
    return place !== null && !isOrdinaryFile(place) && this.#view.hasRefs(place.common);
  }

  /** The layer was cleared. */
  cleared(): void {
    this.#view.forget();
    this.#whole.clear();
    this.#setAside.clear();
  }

  /** Brings over what changed in git directories. Its files are in the real tree already. */
  async sync(
    passing: readonly { readonly captured: CapturedChange }[],
    places: GitFileLocations,
    how: GitSyncOptions,
  ): Promise<Map<BytePath, GitPathOutcome>> {
    const outcomes = new Map<BytePath, GitPathOutcome>();
    const rows = new Map([...this.#waiting].map(([common, kept]) => [common, new Map(kept)]));
    for (const { captured } of passing) {
      const place = places.get(captured.path);
      if (place === undefined || isOrdinaryFile(place)) continue;
      if (droppedKinds.has(place.kind) || captured.before?.type === 'directory') {
        const reason = place.kind === 'lock' ? 'git-lock' : 'git-derived';
        outcomes.set(captured.path, { state: 'discarded', reason, key: null });
        continue;
      }
      const row = rowOf(captured, place);
      this.#view.add(row);
      const own = rows.get(place.common) ?? new Map<BytePath, GitPathChange>();
      rows.set(place.common, own.set(captured.path, row));
      const isIndex = place.kind === 'index' && !this.#whole.has(captured.path);
      if (isIndex && !this.#view.given.has(place.git) && how.untouched(captured)) {
        this.#whole.set(captured.path, captured.baseKey);
      }
    }
    for (const [common, own] of rows) {
      // Where `.git` may not be written, or the disk is full, it stays in the layer.
      const refused = (error: unknown) => {
        this.#parts.log(`git: ${pathText(common)}: ${String(error)}`);
        return this.#wait(common, own, 'git-refused');
      };
      const done = how.busy.has(common)
        ? this.#wait(common, own, 'git-busy')
        : await this.#bringOver(common, own, how).catch(refused);
      for (const [path, outcome] of done) outcomes.set(path, outcome);
    }
    return outcomes;
  }

  async #bringOver(
    common: BytePath,
    rows: ReadonlyMap<BytePath, GitPathChange>,
    how: GitSyncOptions,
  ): Promise<Map<BytePath, GitPathOutcome>> {
    const untouched = (index: BytePath): StatKey | null => this.#whole.get(index) ?? null;
    const { tree, owner, store, scratch } = this.#parts;
    const { root } = tree;
    mkdirSync(scratch, { recursive: true, mode: 0o700 });
    for (let left = attemptsMax; ; left -= 1) {
      const id = randomBytes(4).toString('hex');
      const plan = await planGitSync(common, {
        root,
        view: this.#view,
        label: how.label,
        untouched,
      });
      const isTouched = (git: BytePath, path: BytePath): boolean =>
        this.#isTouched(transaction, git, path);
      const world: GitTransactionContext = { root, owner, contents: store, scratch, id, isTouched };
      const transaction: GitTransaction = new GitTransaction(plan, world);
      try {
        const intent = { id, tree: { root, ...owner }, items: [], git: plan };
        store.append(recordKinds.intent, id, intent);
        await store.sync();
        const done = await tree.exclusive(async () => {
          if (!(await transaction.prepare())) return 'git-objects';
          return (await transaction.settle(left === 0)) ? 'done' : 'again';
        });
        if (done === 'again') continue;
        if (done !== 'done') return this.#wait(common, rows, done);
        this.#waiting.delete(common);
        // A git inside that met one of the locks is not to find it for longer than it is there.
        if (how.isUnderWay) await this.#parts.refresh(namesOfLocks(plan));
        return await this.#outcomes(transaction, rows, how);
      } finally {
        how.carriedOut(id);
        transaction.close();
      }
    }
  }

  async #outcomes(
    transaction: GitTransaction,
    rows: ReadonlyMap<BytePath, GitPathChange>,
    how: GitSyncOptions,
  ): Promise<Map<BytePath, GitPathOutcome>> {
    const { tree } = this.#parts;
    const { plan } = transaction;
    const outcomes = await this.#restoreCheckouts(transaction, how);
    for (const [path, row] of rows) {
      const { merged, ...outcome } = gitSyncOutcomeOf(row, transaction, tree.keyAt(path));
      outcomes.set(path, merged === undefined ? outcome : this.#reached(outcome, merged));
    }
    const isDone = (path: BytePath): boolean => outcomes.get(path)?.state !== 'conflict';
    await noteSynced(this.#view, plan, isDone);
    for (const { git } of plan.checkouts) {
      const path = joinPath(git, 'index');
      const settled = transaction.indexes.get(git);
      const isWhole = settled?.state === 'applied' && settled.reached === undefined;
      if (isWhole && this.#view.index(git) !== null) this.#whole.set(path, settled.key ?? null);
      else this.#whole.set(path, null);
    }
    this.#view.noteTakenObjects(plan.objects.map(({ path }) => path));
    const names = plan.refs.map(({ name }) => joinPath(plan.common, name));
    tree.noteChanges([...names, ...plan.checkouts.map(({ git }) => joinPath(git, 'index'))]);
    return outcomes;
  }

  /** Takes out of the host's work tree what was set aside. */
  async #restoreCheckouts(
    transaction: GitTransaction,
    how: GitSyncOptions,
  ): Promise<Map<BytePath, GitPathOutcome>> {
    const { tree, store } = this.#parts;
    const outcomes = new Map<BytePath, GitPathOutcome>();
    const { history, files, asides } = transaction;
    if (asides.length === 0 || history === null) return await this.#reapply(how);
    for (const aside of asides) {
      const world = { root: tree.root, files, history, contents: store, isOwn: how.isOwn };
      const items = await planCheckoutRestore(world, aside);
      const results = await putAll(items, how);
      for (const item of items) {
        const { path, base: after, after: base } = item;
        const result = results.get(path);
        if (result?.state !== 'applied') continue;
        outcomes.set(path, { state: 'conflict', reason: aside.reason, key: null });
        this.#setAside.set(path, { ...item, base, baseKey: result.key, after });
      }
      tree.noteChanges(items.map(({ path }) => path));
    }
    return outcomes;
  }

  /** What was set aside has come after all, as with a later commit. */
  async #reapply(how: GitSyncOptions): Promise<Map<BytePath, GitPathOutcome>> {
    const { tree } = this.#parts;
    const items = [...this.#setAside.values()].filter(({ path }) => this.#view.isOwn(path));
    this.#setAside.clear();
    const results = await putAll(items, how);
    const isPut = ({ path }: CommitItem): boolean => results.get(path)?.state === 'applied';
    return new Map(
      items.filter(isPut).map(({ path }) => {
        return [path, { state: 'applied', reason: null, key: tree.keyAt(path) }];
      }),
    );
  }

  #wait(
    common: BytePath,
    rows: ReadonlyMap<BytePath, GitPathChange>,
    reason: string,
  ): Map<BytePath, GitPathOutcome> {
    this.#waiting.set(common, new Map(rows));
    const outcome = { state: 'staged', reason, key: null } as const;
    return new Map([...rows.keys()].map((path) => [path, outcome]));
  }

  /** Records the result of a merge, for undo. */
  #reached(
    outcome: Omit<GitSyncOutcome, 'merged'>,
    merged: { readonly from: Buffer; readonly to: Buffer },
  ): GitPathOutcome {
    const { store } = this.#parts;
    const entry = (bytes: Buffer): Entry => {
      const sha256 = store.put(bytes);
      return { type: 'file', mode: 0o644, size: bytes.length, mtimeMs: Date.now(), sha256 };
    };
    const { key } = outcome;
    return { ...outcome, reached: { before: entry(merged.from), after: entry(merged.to), key } };
  }

  #isTouched({ files }: GitTransaction, git: BytePath, path: BytePath): boolean {
    const worktree = worktreeOf(this.#parts.tree.root, files, git);
    return worktree === null || this.#view.isOwn(joinPath(worktree, path));
  }
}

export type GitFileLocations = ReadonlyMap<BytePath, GitFileLocation>;

/** Whether a path is put into the real tree as any other. */
export const isOrdinaryFile = (place: GitFileLocation | undefined): boolean =>
  place === undefined || plainKinds.has(place.kind);

/** Whether something is to come of a change later; of what git drops, nothing is. */
export const isStillPending = ({ state, reason }: ChangeDisposition): boolean =>
  state !== 'applied' && !(state === 'discarded' && reason?.startsWith('git-') === true);

/** Where git has looked for them. */
function namesOfLocks({ common, refs, checkouts }: GitPlan): BytePath[] {
  const names = checkouts.flatMap(({ git }) => [git, `${git}/index`, `${git}/index.lock`]);
  return [...names, ...refs.map(({ name }) => `${common}/${name}.lock`)];
}

const rowOf = (captured: CapturedChange, place: GitFileLocation): GitPathChange => {
  return { place, item: itemOfCaptured(captured), before: captured.before };
};

async function putAll(items: readonly CommitItem[], { put }: GitSyncOptions) {
  return items.length === 0 ? new Map<BytePath, ItemResult>() : await put(items);
}

/** Whether a change waits for git, not for a person. */
export const isWaitingForGit = ({ state, reason }: ChangeDisposition): boolean =>
  state === 'staged' && waits.has(reason);

function isAnyAbove(git: BytePath, paths: ReadonlySet<BytePath>): boolean {
  for (let at = git; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('/')))) {
    if (paths.has(at)) return true;
  }
  return false;
}
