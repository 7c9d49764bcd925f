/** Changes of a session's commands, from the upper layer of its overlay. */
import { lstatSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { BytePath } from '../../change.ts';
import { TrlError } from '../../errors.ts';
import { baseNameOf, bytePathOf, parentPathOf } from '../byte-path.ts';
import { permissionBits, permissionsOf, statKey } from '../stat.ts';
import { WorkPacer } from '../time-slices.ts';
import { BulkDirectories, type BulkDirectoryMode } from './bulk-directories.ts';
import type {
  CapturedChange,
  CaptureResult,
  LayerCapture,
  OverlayCaptureOptions,
} from './capture.ts';
import { emptyDirectory } from './empty-directory.ts';
import { CaptureBudget } from './entries.ts';
import { LayerComparison } from './layer-comparison.ts';
import {
  adoptCopy,
  adoptLayerDirectory,
  type LayerCopiesContext,
  type LayerCopy,
  type LayerState,
  layerStateOf,
  removeCopyStaging,
  removeDeletionMarker,
} from './layer-copies.ts';
import { surveyLayer } from './layer-survey.ts';
import { Ledger, type LedgerLines, sortInTreeOrder } from './ledger.ts';
import {
  type DisplacedFile,
  displaceFile,
  pruneApplied,
  pruneStaleDirectories,
  removeDisplacedFile,
  type YieldContext,
} from './prune-applied.ts';
import { type DeferredPaths, isOvertakenWhileDeferred, RecentWrites } from './recent-writes.ts';
import { TreeCursor } from './tree-cursor.ts';

/** Unchanged directories that stay in the layer: each costs every capture a look. */
const lentDirectoriesMax = 32;
/** How often a capture starts again because another process moved what it was reading. */
const attemptsMax = 3;

/**
 * Created with the upper layer, before a command runs. It is exact for contents, modes, types,
 * links and special files. It does not compare extended attributes, times of directories, or device
 * numbers. A write through a memory map that a process has since before a capture is seen when the
 * kernel notes its next write (up to half a minute).
 */
export class OverlayCapture implements LayerCapture {
  readonly #options: OverlayCaptureOptions;
  readonly #ledger = new Ledger();
  /** Their upper version is not needed, and is still in the layer. */
  readonly #settled = new Set<BytePath>();
  /** The mode of the tree's own directory before any command. */
  #firstMode: number;
  /** The same, as captured last. */
  #rootMode: number;
  #waiting: DeferredPaths = new Map();
  #last: Promise<unknown> = Promise.resolve();

  /** @throws Error of `lstat` where there is no upper layer */
  constructor(options: OverlayCaptureOptions) {
    this.#options = options;
    this.#firstMode = lstatSync(options.upper).mode & permissionBits;
    this.#rootMode = this.#firstMode;
    for (const [path, captured] of options.over ?? []) {
      this.#ledger.set(path, { ...captured, key: null, isFresh: false });
    }
  }

  /** @throws TrlError SANDBOX_UNAVAILABLE without perl; INTERNAL_ERROR where it cannot be read */
  capture(
    ageMs = 0,
    how: BulkDirectoryMode = 'parts',
    endedNs: bigint | null = null,
  ): Promise<CaptureResult> {
    return this.#serial(async () => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await this.#capture(ageMs, how, endedNs);
        } catch (error) {
          if (attempt === attemptsMax) throw error;
        }
      }
    });
  }

  isClearDue(paths: readonly BytePath[]): boolean {
    const ledger = this.#ledger;
    if (this.#settled.size > lentDirectoriesMax) return true;
    if (paths.some((path) => ledger.get(path) !== undefined)) return true;
    for (const path of this.#settled) {
      if (ledger.get(path)?.entry?.type !== 'directory') return true;
    }
    return false;
  }

  dropStaleDirectories(): Promise<void> {
    return this.#serial(async () => {
      if (this.#settled.size === 0) return;
      using upperCursor = new TreeCursor(this.#options.upper, { mayWiden: true });
      using realCursor = new TreeCursor(this.#options.root, { mayWiden: false });
      const cursors = { upperCursor, realCursor };
      pruneStaleDirectories({
        ledger: this.#ledger,
        settled: this.#settled,
        ...cursors,
        ...this.#options,
      });
    });
  }

  clearApplied(paths: readonly BytePath[]): Promise<readonly BytePath[]> {
    return this.#serial(async () => {
      const { upper, root, attributes } = this.#options;
      for (const path of paths) this.#settled.add(path);
      if (this.#settled.size === 0) return [];
      const pace = new WorkPacer();
      using upperCursor = new TreeCursor(upper, { mayWiden: true });
      using realCursor = new TreeCursor(root, { mayWiden: false });
      const ledger = this.#ledger;
      const settled = this.#settled;
      const pinned = this.#options.pinned?.() ?? new Set<BytePath>();
      const cursors = { upperCursor, realCursor };
      const context = { upper, attributes, ledger, settled, pinned, ...cursors, pace };
      return await pruneApplied(context);
    });
  }

  displace(path: BytePath): Promise<DisplacedFile | null> {
    return this.#yielding((context) => displaceFile(context, path));
  }

  removeDisplaced(displaced: readonly Pick<DisplacedFile, 'path' | 'fd'>[]): Promise<void> {
    return this.#yielding((context) => {
      for (const one of displaced) removeDisplacedFile(context, one);
    });
  }

  layerStateOf(path: BytePath): Promise<LayerState> {
    return this.#withCopies((context) => layerStateOf(context, path));
  }

  adoptCopy(path: BytePath, copy: LayerCopy & { readonly isCertain: boolean }): Promise<boolean> {
    return this.#withCopies((context) => adoptCopy(context, path, copy));
  }

  adoptDirectory(path: BytePath): Promise<boolean> {
    return this.#withCopies((context) => adoptLayerDirectory(context, path));
  }

  removeDeletionMarker(path: BytePath): Promise<void> {
    return this.#withCopies((context) => removeDeletionMarker(context, path));
  }

  removeStaging(name: string, copies: readonly LayerCopy[]): Promise<boolean> {
    const { contents } = this.#options;
    return this.#withCopies((context) => removeCopyStaging(context, name, { contents, copies }));
  }

  #withCopies<T>(work: (context: LayerCopiesContext) => T | Promise<T>): Promise<T> {
    return this.#serial(async () => {
      using upperCursor = new TreeCursor(this.#options.upper, { mayWiden: true });
      return await work({ ledger: this.#ledger, settled: this.#settled, upperCursor });
    });
  }

  #yielding<T>(work: (context: YieldContext) => T): Promise<T> {
    return this.#serial(async () => {
      using upperCursor = new TreeCursor(this.#options.upper, { mayWiden: true });
      const aside = join(dirname(this.#options.upper), 'displaced');
      return work({ ledger: this.#ledger, upperCursor, aside });
    });
  }

  open(path: BytePath): Promise<void> {
    return this.#serial(async () => {
      const { attributes, upper } = this.#options;
      await attributes.clearOpaque([`${bytePathOf(upper)}/${path}`]);
      const captured = this.#ledger.get(path);
      if (captured !== undefined) this.#ledger.set(path, { ...captured, hides: false });
    });
  }

  has(path: BytePath): boolean {
    using upperCursor = new TreeCursor(this.#options.upper, { mayWiden: true });
    if (upperCursor.goto(parentPathOf(path)) !== 'here') return false;
    return upperCursor.stat(baseNameOf(path)) !== null;
  }

  forget(paths: readonly BytePath[]): void {
    this.#ledger.forget(paths);
    for (const path of paths) this.#settled.delete(path);
  }

  discard(): Promise<void> {
    return this.#serial(async () => {
      await emptyDirectory(this.#options.upper, this.#firstMode);
      this.#rootMode = this.#firstMode;
      this.#ledger.clear();
      this.#settled.clear();
    });
  }

  ledgerLines(): LedgerLines {
    return this.#ledger.toLines();
  }

  ledgerJson(): string {
    const state: State = {
      version: 1,
      modes: [this.#firstMode, this.#rootMode],
      settled: [...this.#settled],
      lines: this.#ledger.toLines(),
    };
    return JSON.stringify(state);
  }

  restoreLedger(json: string): void {
    const { modes, settled, lines } = parseState(json);
    [this.#firstMode, this.#rootMode] = modes;
    this.#settled.clear();
    for (const path of settled) this.#settled.add(path);
    this.#ledger.restore(lines);
  }

  async #capture(
    ageMs: number,
    how: BulkDirectoryMode,
    endedNs: bigint | null,
  ): Promise<CaptureResult> {
    const pace = new WorkPacer();
    const ledger = this.#ledger;
    using upperCursor = new TreeCursor(this.#options.upper, { mayWiden: true });
    using realCursor = new TreeCursor(this.#options.root, { mayWiden: false });
    const allowance = new CaptureBudget(ledger.paths());
    const before = this.#waiting;
    const nowNs = BigInt(Date.now()) * 1_000_000n;
    const sinceNs = nowNs - BigInt(ageMs) * 1_000_000n;
    const young =
      ageMs === 0 ? null : new RecentWrites({ sinceNs, nowNs, real: realCursor, before });
    const sides = { upper: upperCursor, real: realCursor };
    const times = { before, nowNs, endedNs };
    const wholes =
      how === 'parts'
        ? null
        : new BulkDirectories({ how, ...sides, recentWrites: young, ...times });
    const surveyed = await surveyLayer({
      cursor: upperCursor,
      ledger,
      pace,
      allowance,
      recentWrites: young,
      wholes,
    });
    const cursors = { upperCursor, realCursor };
    const context = { ...this.#options, ledger, pace, allowance, wholes, ...cursors };
    const { changes, idle, skipped } = await new LayerComparison(context, surveyed).run();
    this.#waiting = young?.deferred ?? wholes?.deferred ?? new Map();
    for (const [at, change] of changes.entries()) {
      if (isOvertakenWhileDeferred(before, change.path, change.baseKey)) {
        changes[at] = { ...change, isOvertaken: true };
      }
    }
    const own = this.#ownMode();
    if (own !== null) changes.push(own);
    for (const { path } of changes) this.#settled.delete(path);
    for (const path of idle) this.#settled.add(path);
    const byPath = new Map(changes.map((change) => [change.path, change]));
    const paths = await sortInTreeOrder(byPath.keys(), pace);
    const ordered = paths.flatMap((path) => byPath.get(path) ?? []);
    const waiting = [...this.#waiting.keys()];
    const isCaptured = (path: BytePath): boolean => byPath.has(path);
    const left =
      how === 'wait' ? [...(wholes?.deferred.keys() ?? [])] : wholes?.found.filter(isCaptured);
    const found = {
      changes: ordered,
      complete: skipped.length === 0,
      skipped,
      ...(left === undefined || left.length === 0 ? {} : { wholes: left }),
    };
    return waiting.length === 0 ? found : { ...found, waiting };
  }

  /** The mode of the workspace itself. */
  #ownMode(): CapturedChange | null {
    const stat = lstatSync(this.#options.upper, { bigint: true });
    const after = { type: 'directory', mode: permissionsOf(stat) } as const;
    const before = { type: 'directory', mode: this.#rootMode } as const;
    if (after.mode === before.mode) return null;
    this.#rootMode = after.mode;
    const base = lstatSync(this.#options.root, { bigint: true });
    return {
      path: '',
      kind: 'mode',
      before,
      after,
      marks: [],
      base: { type: 'directory', mode: permissionsOf(base) },
      baseKey: statKey(base),
      baseCtimeNs: base.ctimeNs,
      isCopyUp: false,
      isMasked: false,
      hasMaskedBelow: false,
      sourceAt: null,
      upperKey: statKey(stat),
    };
  }

  /** Runs tasks one after the other, also after a failure. */
  #serial<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(work, work);
    this.#last = mine.catch(() => null);
    return mine;
  }
}

interface State {
  readonly version: 1;
  readonly modes: readonly [number, number];
  readonly settled: readonly BytePath[];
  readonly lines: LedgerLines;
}

function parseState(json: string): State {
  try {
    const state: State = JSON.parse(json);
    if (state.version === 1) return state;
  } catch {
    // Reported below.
  }
  throw new TrlError('INTERNAL_ERROR', 'Cannot go on with a ledger of changes: it is damaged');
}
