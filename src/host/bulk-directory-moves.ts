/**
 * Moves directories that a command made with thousands of entries into the real tree: when no
 * command of the view runs any more, each is checked entry by entry, and moved in one step. The
 * contents of its files are neither read nor stored; for undo, a list of its entries is.
 */
import { closeSync, lchownSync } from 'node:fs';
import type { BytePath } from '../change.ts';
import { openDirectory } from '../workspace/beneath.ts';
import { baseNameOf, parentPathOf } from '../workspace/byte-path.ts';
import type { CapturedChange, CaptureResult } from '../workspace/changes/capture.ts';
import { sortInTreeOrder } from '../workspace/changes/ledger.ts';
import { TreeCursor } from '../workspace/changes/tree-cursor.ts';
import { AtomicRenames, openStaging } from '../workspace/commit/atomic-renames.ts';
import { BulkDirectoryWalk } from '../workspace/commit/bulk-directory-walk.ts';
import type { JudgedChange } from '../workspace/commit/commit-filter.ts';
import { ManifestWriter } from '../workspace/commit/move-directory.ts';
import { TreeLookup, TreePathResolver } from '../workspace/commit/tree-path-resolver.ts';
import { statKey } from '../workspace/stat.ts';
import { WorkPacer } from '../workspace/time-slices.ts';
import type { ChangeCommitter } from './change-committer.ts';
import type { RunningCommand, SessionWorkspaceDependencies } from './session-dependencies.ts';
import type { Staleness } from './staleness.ts';

type WholeParts = Pick<
  SessionWorkspaceDependencies,
  | 'tree'
  | 'owner'
  | 'store'
  | 'renames'
  | 'mode'
  | 'capture'
  | 'layer'
  | 'announcing'
  | 'removedDirectories'
>;

/** What a running command made since is not looked at yet. */
const youngMs = 250;
const isRoot = process.geteuid?.() === 0;

interface When {
  readonly isEnd: boolean;
  readonly isLast: boolean;
  /** It goes on, or another one does. */
  readonly isUnderWay: boolean;
  readonly run: Pick<RunningCommand, 'begunAt'>;
  readonly staleness: Pick<Staleness, 'sinceNs' | 'isTouchedIn'>;
}

export class BulkDirectoryMoves {
  readonly #parts: WholeParts;
  readonly #committing: Pick<ChangeCommitter, 'filter'>;
  /** A separate helper: no other renames wait for it. */
  readonly #syncing = new AtomicRenames();
  #isSyncing = false;
  /** Unix s: what is older is on the disk. */
  #syncedS = 0;

  constructor(parts: WholeParts, committing: Pick<ChangeCommitter, 'filter'>) {
    this.#parts = parts;
    this.#committing = committing;
  }

  /**
   * The changes, as from `ChangeCapture.capture`, with the directories that are ready to be moved
   * as one.
   *
   * @param when whether the command has ended, as the last of the view that ran
   */
  async capture({ isEnd, isLast, isUnderWay, run, staleness }: When): Promise<CaptureResult> {
    const { capture, mode, layer, announcing } = this.#parts;
    const ageMs = isEnd ? 0 : youngMs;
    if (layer === null || announcing === null || mode !== 'direct') return capture.capture(ageMs);
    // Directories that running commands have begun to make still wait.
    const endedNs = isEnd ? BigInt(Math.floor(run.begunAt)) * 1_000_000n : null;
    const how = isEnd && isLast ? 'whole' : isUnderWay ? 'wait' : 'parts';
    const found = await capture.capture(ageMs, how, endedNs);
    const wholes = new Set(found.wholes ?? []);
    if (wholes.size === 0) return found;
    if (!isEnd || !isLast) {
      void this.#sync(announcing.upper);
      return found;
    }
    const ready = new Map<BytePath, CapturedChange>();
    for (const change of found.changes) {
      if (!wholes.has(change.path)) continue;
      const isGone = change.after === null;
      const one = await (isGone ? this.#readyToGo(change, staleness) : this.#ready(change));
      if (one === null) return this.#inParts(found);
      ready.set(change.path, one);
    }
    return { ...found, changes: found.changes.map((one) => ready.get(one.path) ?? one) };
  }

  /** The same, path by path. */
  async #inParts(found: CaptureResult): Promise<CaptureResult> {
    const wholes = new Set(found.wholes ?? []);
    const gone = found.changes.filter(({ path, after }) => wholes.has(path) && after === null);
    this.#parts.layer?.forget(gone.map(({ path }) => path));
    const rest = await this.#parts.capture.capture();
    const all = new Map([...found.changes, ...rest.changes].map((one) => [one.path, one]));
    const paths = await sortInTreeOrder(all.keys(), new WorkPacer());
    const changes = paths.flatMap((path) => all.get(path) ?? []);
    return { ...found, changes, complete: found.complete && rest.complete, wholes: [] };
  }

  /** Has all written that is in the layer by now, so that less is left for the end. */
  async #sync(upper: string): Promise<void> {
    if (this.#isSyncing) return;
    this.#isSyncing = true;
    const begunS = Math.floor(Date.now() / 1000) - 1;
    const directory = openDirectory(upper);
    const names = { name: '.', temporary: '.', fallbackName: '.', key: '' };
    const asked = [{ kind: 'sync', directory, staging: null, ...names } as const];
    const [answer] = await this.#syncing.run(asked);
    closeSync(directory);
    this.#isSyncing = false;
    if (answer === 'done') this.#syncedS = begunS;
  }

  close(): void {
    this.#syncing[Symbol.dispose]();
  }

  /** `null`: it is captured path by path. */
  async #ready(captured: CapturedChange): Promise<CapturedChange | null> {
    const { path, after, base, before, isMasked } = captured;
    const { layer, store, announcing } = this.#parts;
    if (layer === null || announcing === null || after?.type !== 'directory') return null;
    const { upper } = announcing;
    if (base !== null || before !== null || isMasked) return null;
    if (!(await this.#fits(path, upper))) return null;
    using walk = new BulkDirectoryWalk(upper, path, this.#parts.renames, this.#syncedS);
    const all = await walk.run();
    if (all === null || !(await this.#isFree(all, upper))) return null;
    await layer.open(path);
    const manifest = await this.#listed(all, upper);
    if (manifest?.every((sha256) => store.has(sha256)) !== true) return null;
    const whole = { ...walk.counts, manifest };
    return { ...captured, after: { ...after, whole }, sourceAt: { tree: upper, path } };
  }

  /** Whether what is moved there is as if it had been made there, and no repository is near. */
  async #fits(path: BytePath, upper: string): Promise<boolean> {
    const { tree, renames } = this.#parts;
    const from = openStaging(upper, tree.root);
    if (from === null || tree.isInRepository(path)) return false;
    const steps = new TreePathResolver(tree.root);
    try {
      const directory = steps.directory(parentPathOf(path));
      if (directory === null) return false;
      const names = { name: '.', temporary: '.', fallbackName: '.', key: '' };
      const [answer] = await renames.run([{ kind: 'fits', directory, staging: from, ...names }]);
      return answer === 'done';
    } finally {
      steps.close();
      closeSync(from);
    }
  }

  /** A directory of the real tree that is to be removed; `null`: it is captured path by path. */
  async #readyToGo(
    captured: CapturedChange,
    staleness: When['staleness'],
  ): Promise<CapturedChange | null> {
    const { path, before, base, isMasked } = captured;
    const { tree, store, removedDirectories: kept } = this.#parts;
    if (before?.type !== 'directory' || base?.type !== 'directory' || isMasked) return null;
    if (tree.isInRepository(path) || (await staleness.isTouchedIn(path))) return null;
    using walk = new BulkDirectoryWalk(tree.root, path, null);
    const all = await walk.run();
    const judged = all?.map((one) => ({ path: one.path, before: one.after, after: null }));
    if (judged === undefined || !(await this.#isFree(judged, null))) return null;
    const manifest = await this.#listed(judged, tree.root, staleness.sinceNs);
    if (manifest?.every((sha256) => store.has(sha256)) !== true) return null;
    const at = kept.findSlot(tree.root, walk.counts.bytes, manifest, tree.made.isWhole(path));
    if (at === null) return null;
    const entry = { ...base, whole: { ...walk.counts, manifest, kept: at } };
    return { ...captured, before: entry, base: entry };
  }

  /** As one it counts as one change; for all else each entry is judged. */
  async #isFree(all: readonly JudgedChange[], upper: string | null): Promise<boolean> {
    const { filter } = this.#committing;
    const { tree, store } = this.#parts;
    if (filter === null) return false;
    const after = new TreePathResolver(upper ?? tree.root);
    using real = new TreeLookup({ root: tree.root, written: () => null, contents: store });
    try {
      const held = await filter.judge(all, {
        real: (path) => real.real(path),
        text: async (path, side, bytesMax) =>
          // No process writes to it any more.
          side === 'real' ? real.text(path, side, bytesMax) : after.read(path, bytesMax),
      });
      return [...held.values()].every((reason) => reason === 'too-many');
    } finally {
      after.close();
    }
  }

  /**
   * Makes what is new the owner's, and lists all as it is then.
   *
   * @param sinceNs of the real tree: `null` is the answer where anything was changed since then
   */
  async #listed(
    [top, ...rest]: readonly JudgedChange[],
    root: string,
    sinceNs: bigint | null = null,
  ) {
    const { owner, store } = this.#parts;
    const list = new ManifestWriter(store);
    const pace = new WorkPacer();
    using cursor = new TreeCursor(root, { mayWiden: false });
    const isGiven = isRoot && sinceNs === null;
    const prefix = (top?.path.length ?? 0) + 1;
    for (const { path } of rest) {
      if (pace.isDue()) await pace.rest();
      const name = baseNameOf(path);
      if (cursor.goto(parentPathOf(path)) !== 'here') return null;
      if (isGiven) lchownSync(cursor.at(name), owner.uid, owner.gid);
      const stat = cursor.stat(name);
      if (stat === null || (sinceNs !== null && stat.ctimeNs >= sinceNs)) return null;
      list.add({ key: statKey(stat), path: path.slice(prefix) });
    }
    if (top === undefined || cursor.goto(parentPathOf(top.path)) !== 'here') return null;
    if (isGiven) lchownSync(cursor.at(baseNameOf(top.path)), owner.uid, owner.gid);
    return list.end();
  }
}
