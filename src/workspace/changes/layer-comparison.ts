/** One capture of an upper layer: compares its entries with what the session saw before. */
import type { BigIntStats } from 'node:fs';
import type { BytePath, ChangeMark, Entry, StatKey } from '../../change.ts';
import type { ContentStore } from '../../content-store.ts';
import { TrlError } from '../../errors.ts';
import { baseNameOf, parentPathOf } from '../byte-path.ts';
import { isRecentWrite, isWhiteout, statKey } from '../stat.ts';
import type { WorkPacer } from '../time-slices.ts';
import type { BulkDirectories } from './bulk-directories.ts';
import type { CapturedChange, OverlayCaptureOptions } from './capture.ts';
import { changeKindOf } from './change-kind.ts';
import { type CaptureBudget, type ObservedEntry, observeEntry, readEntry } from './entries.ts';
import type { LayerQuery } from './layer-attributes.ts';
import {
  type LayerAnswers,
  type LayerFinding,
  type LayerSurvey,
  queryLayer,
} from './layer-survey.ts';
import { holdsForAncestor, type Ledger, type LedgerEntry } from './ledger.ts';
import type { TreeCursor } from './tree-cursor.ts';

interface ComparisonContext extends OverlayCaptureOptions {
  readonly ledger: Ledger;
  readonly pace: WorkPacer;
  readonly allowance: CaptureBudget;
  readonly wholes: BulkDirectories | null;
  readonly upperCursor: TreeCursor;
  readonly realCursor: TreeCursor;
}

/** The entry in the real tree. */
interface Base {
  readonly stat: BigIntStats | null;
  /** This process may not look. */
  readonly isClosed: boolean;
  /** Not even the directory that it would be in. */
  readonly isOrphan: boolean;
}

interface ComparisonResult {
  readonly changes: CapturedChange[];
  /** Upper entries that say what the real tree says: opened for writing, made as they were. */
  readonly idle: readonly BytePath[];
  readonly skipped: readonly BytePath[];
}

/** The upper entry as an entry of the session: a whiteout is nothing. */
type UpperStanding = Omit<ObservedEntry, 'entry'> & { readonly entry: Entry | null };

/** What was found and what is below it. */
interface Read {
  readonly found: LayerFinding;
  readonly base: Base;
  readonly now: UpperStanding;
  readonly under: ObservedEntry | null;
  /** No capture has reported the path yet, and the session saw the real tree there. */
  readonly isSeen: boolean;
}

type Draft = Omit<CapturedChange, 'hasMaskedBelow'>;

const noBase: Base = { stat: null, isClosed: false, isOrphan: false };
const orphan: Base = { ...noBase, isOrphan: true };

export class LayerComparison {
  readonly #context: ComparisonContext;
  readonly #found: ReadonlyMap<BytePath, LayerFinding>;
  readonly #skipped: Set<BytePath>;
  /** What the ledger will say; `null`: nothing. */
  readonly #next = new Map<BytePath, LedgerEntry | null>();
  readonly #drafts: Draft[] = [];
  readonly #idle: BytePath[] = [];
  readonly #overMasked = new Set<BytePath>();
  #asked: LayerAnswers = { opaque: new Set(), copied: new Set() };
  /** A directory that the real tree has not: what is new in it is not looked for one by one. */
  #missing: BytePath | null = null;
  readonly #unmet: ReadonlySet<BytePath>;
  /** Whether a directory above hid the real tree, as the session saw it before, and as it does. */
  readonly #wasHidden: (path: BytePath) => boolean;
  readonly #isHidden: (path: BytePath) => boolean;
  readonly #isBelowMasked: (path: BytePath) => boolean;
  readonly #isBelowSkipped: (path: BytePath) => boolean;

  constructor(context: ComparisonContext, survey: LayerSurvey) {
    const { ledger } = context;
    this.#context = context;
    this.#found = new Map(survey.found.map((found) => [found.path, found]));
    this.#skipped = new Set(survey.skipped);
    this.#unmet = new Set(ledger.unmet());
    this.#wasHidden = holdsForAncestor((path) => ledger.get(path)?.hides ?? false);
    this.#isHidden = holdsForAncestor((path) => this.#hides(path));
    this.#isBelowMasked = holdsForAncestor((path) => path !== '' && context.isMasked(path));
    this.#isBelowSkipped = holdsForAncestor((path) => this.#skipped.has(path));
  }

  /** The ledger is changed only when all went well. */
  async run(): Promise<ComparisonResult> {
    const { pace, ledger } = this.#context;
    const bases = new Map<BytePath, Base>();
    for (const { path } of this.#found.values()) {
      if (pace.isDue()) await pace.rest();
      bases.set(path, this.#base(path));
    }
    const read: Read[] = [];
    this.#asked = await queryLayer(this.#context, this.#questions(bases), async () => {
      for (const found of this.#found.values()) {
        if (pace.isDue()) await pace.rest();
        const both = await this.#read(found, bases.get(found.path) ?? noBase);
        if (both !== null) read.push(both);
      }
    });
    const orphans = await queryLayer(this.#context, this.#questionsOfOrphans(bases));
    for (const path of orphans.copied) this.#asked.copied.add(path);
    for (const both of read) {
      if (pace.isDue()) await pace.rest();
      await this.#compare(both);
    }
    for (const path of this.#unmet) {
      if (pace.isDue()) await pace.rest();
      this.#gone(path);
    }
    if (this.#context.over !== undefined) await this.#goneOfLower();
    for (const [path, known] of this.#next) {
      if (pace.isDue()) await pace.rest();
      if (known === null) ledger.delete(path);
      else ledger.set(path, known);
    }
    const changes = this.#drafts.map((draft) => {
      return { ...draft, hasMaskedBelow: this.#overMasked.has(draft.path) };
    });
    return { changes, idle: this.#idle, skipped: [...this.#skipped] };
  }

  *#questions(bases: ReadonlyMap<BytePath, Base>): Iterable<[LayerFinding, LayerQuery]> {
    for (const found of this.#found.values()) {
      const { stat, isOrphan } = bases.get(found.path) ?? noBase;
      if (found.stat.isDirectory()) yield [found, 'opaque'];
      else if (found.stat.isFile() && stat === null && !isOrphan) yield [found, 'copied'];
    }
  }

  /** Most are in a new directory, and thus new: they need no query. */
  *#questionsOfOrphans(bases: ReadonlyMap<BytePath, Base>): Iterable<[LayerFinding, LayerQuery]> {
    for (const found of this.#found.values()) {
      const isOrphan = bases.get(found.path)?.isOrphan === true;
      if (isOrphan && found.stat.isFile() && !this.#isHidden(found.path)) yield [found, 'copied'];
    }
  }

  #hides(path: BytePath): boolean {
    const found = this.#found.get(path);
    if (found !== undefined) return !found.stat.isDirectory() || this.#asked.opaque.has(path);
    return !this.#unmet.has(path) && (this.#context.ledger.get(path)?.hides ?? false);
  }

  #isMasked(path: BytePath): boolean {
    return this.#context.isMasked(path) || this.#isBelowMasked(path);
  }

  #base(path: BytePath): Base {
    if (this.#isMasked(path)) return noBase;
    const { realCursor } = this.#context;
    const parent = parentPathOf(path);
    if (this.#isMissing(parent)) return orphan;
    const entered = realCursor.goto(parent);
    if (entered === 'missing') {
      this.#missing = parent;
      return orphan;
    }
    if (entered === 'closed') return { ...noBase, isClosed: true };
    try {
      return { ...noBase, stat: realCursor.stat(baseNameOf(path)) };
    } catch {
      return { ...noBase, isClosed: true };
    }
  }

  #isMissing(directory: BytePath): boolean {
    const missing = this.#missing;
    return missing !== null && (directory === missing || directory.startsWith(`${missing}/`));
  }

  /** Both sides, their contents kept; `null`: the upper one is gone by now. */
  async #read(found: LayerFinding, base: Base): Promise<Read | null> {
    const { path, known } = found;
    const now = await this.#upperStanding(found);
    if (now === 'gone') return null;
    const isSeen = known === undefined && !this.#wasHidden(path);
    return {
      found,
      base,
      now,
      isSeen,
      under: await this.#baseStanding(path, base, isSeen, known),
    };
  }

  async #compare({ found, base, now, isSeen, under }: Read): Promise<void> {
    const { path, stat, known } = found;
    const before = known === undefined ? (isSeen ? (under?.entry ?? null) : null) : known.entry;
    const owner = known === undefined ? this.#shifted(under) : known.owner;
    const hides = this.#hides(path);
    const isCopyUp = this.#asked.copied.has(path);
    this.#next.set(path, {
      key: now.key,
      entry: now.entry,
      owner: now.owner,
      hides,
      isFresh: stat.isFile() && isRecentWrite(now.ctimeNs),
      base: under === null ? null : { key: under.key, entry: under.entry },
    });
    const kind = changeKindOf(before, now.entry, owner === now.owner);
    const marks = this.#marks(before, now.entry);
    const isUnknown = base.isClosed || (isCopyUp && base.stat === null && known === undefined);
    if (isUnknown && !marks.includes('before-unknown')) marks.push('before-unknown');
    // Whether it was written in place or replaced, the layer does not say: no origin is noted.
    const isSplit = isSeen && kind === 'modified' && (under?.links ?? 0) > 1;
    // Names that a command linked with each other come one by one.
    const isLinked = stat.isFile() && now.links > 1;
    if (isSplit || isLinked) marks.push('hardlink-split');
    if (kind === null && isSeen) this.#idle.push(path);
    if (kind !== null) {
      const { upper } = this.#context;
      const sourceAt = now.entry?.type === 'file' ? { tree: upper, path } : null;
      const sides = { path, kind, before, after: now.entry, marks };
      const more = { isCopyUp, isMasked: this.#isMasked(path), sourceAt, upperKey: now.key };
      this.#drafts.push({ ...sides, ...this.#baseOf(under), ...more });
    }
    const isNewlyHidden = hides && known?.hides !== true && !this.#wasHidden(path);
    const isOwn = !this.#isHidden(path) && base.stat?.isDirectory() === true;
    if (!isNewlyHidden || !isOwn) return;
    const isGone = isSeen && now.entry === null;
    if (!isGone || this.#context.wholes?.skipsRemoved(path) !== true) await this.#below(path);
  }

  async #upperStanding(found: LayerFinding): Promise<UpperStanding | 'gone'> {
    const { upperCursor } = this.#context;
    const { path, stat } = found;
    const name = baseNameOf(path);
    if (upperCursor.goto(parentPathOf(path)) !== 'here') return 'gone';
    const now = await readEntry(upperCursor, name, stat, this.#context);
    if (now === null) return 'gone';
    return isWhiteout(stat) ? { ...now, entry: null, owner: '' } : now;
  }

  /** The entry in the real tree; its content only if it is the earlier side. */
  async #baseStanding(
    path: BytePath,
    base: Base,
    isContentNeeded: boolean,
    known: LedgerEntry | undefined,
  ): Promise<ObservedEntry | null> {
    const { realCursor } = this.#context;
    const name = baseNameOf(path);
    if (base.stat === null || realCursor.goto(parentPathOf(path)) !== 'here') return null;
    if (isContentNeeded) return readEntry(realCursor, name, base.stat, this.#context);
    const now = observeEntry(realCursor, name, base.stat);
    const isKnown = now !== null && known?.base?.key === now.key;
    return isKnown && known.base !== null ? { ...now, entry: known.base.entry } : now;
  }

  /**
   * Reports the visible entries of the real tree below `top` as deleted, if nothing replaced them.
   */
  async #below(top: BytePath): Promise<void> {
    const { realCursor, pace, ledger, isMasked, allowance } = this.#context;
    const waiting = [top];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      const entered = realCursor.goto(path);
      if (entered === 'closed') this.#skipped.add(path);
      if (entered !== 'here') continue;
      const directories: BytePath[] = [];
      for (const name of await realCursor.names()) {
        if (pace.isDue()) await pace.rest();
        const child = `${path}/${name}`;
        if (isMasked(child)) {
          this.#leaveMasked(child);
          continue;
        }
        const stat = statOrNull(realCursor, name);
        if (stat === 'closed') this.#skipped.add(child);
        if (stat === null || stat === 'closed') continue;
        if (stat.isDirectory()) directories.push(child);
        if (this.#found.has(child) || ledger.get(child) !== undefined) continue;
        if (!allowance.take(child)) {
          this.#skipped.add(path);
          continue;
        }
        const stood = await readEntry(realCursor, name, stat, this.#context);
        if (stood !== null) this.#deleted(child, stood.entry, stood);
      }
      waiting.push(...directories.toReversed());
    }
  }

  /** What the layer below has, and a whiteout or another directory hides since. */
  async #goneOfLower(): Promise<void> {
    const { ledger, pace } = this.#context;
    const isBelowHiding = holdsForAncestor((path) => this.#found.has(path) && this.#hides(path));
    for (const [path, { key, entry }] of ledger.entries()) {
      if (pace.isDue()) await pace.rest();
      const isLower = key === null && entry !== null && !this.#found.has(path);
      if (isLower && isBelowHiding(path)) this.#deleted(path, entry, null);
    }
  }

  #leaveMasked(path: BytePath): void {
    for (let up = parentPathOf(path); !this.#overMasked.has(up); up = parentPathOf(up)) {
      this.#overMasked.add(up);
      if (up === '') return;
    }
  }

  /** An upper entry that is not there any more, without a whiteout in its place. */
  #gone(path: BytePath): void {
    if (this.#isBelowSkipped(path)) return;
    const known = this.#context.ledger.get(path);
    const { stat } = this.#base(path);
    const isShown = !this.#isHidden(path) && stat !== null;
    const isLeft = stat !== null && isSameThing(this.#context.appliedKeyAt?.(path) ?? null, stat);
    // Commands cannot uncover the real tree: the layer was cleared.
    if (known === undefined || (isShown && !isLeft)) {
      this.#next.set(path, null);
      return;
    }
    const under =
      stat === null ? null : observeEntry(this.#context.realCursor, baseNameOf(path), stat);
    if (known.entry !== null) this.#deleted(path, known.entry, under);
    this.#next.set(path, under === null || isShown ? null : hiddenBelow(under));
  }

  #deleted(path: BytePath, before: Entry, under: ObservedEntry | null): void {
    this.#drafts.push({
      path,
      kind: 'deleted',
      before,
      after: null,
      marks: this.#marks(before, null),
      ...this.#baseOf(under),
      isCopyUp: false,
      isMasked: this.#isMasked(path),
      sourceAt: null,
      upperKey: null,
    });
    if (under !== null) this.#next.set(path, hiddenBelow(under));
  }

  #baseOf(under: ObservedEntry | null): Pick<CapturedChange, 'base' | 'baseKey' | 'baseCtimeNs'> {
    if (under === null) return { base: null, baseKey: null, baseCtimeNs: null };
    return { base: under.entry, baseKey: under.key, baseCtimeNs: under.ctimeNs };
  }

  #marks(before: Entry | null, after: Entry | null): ChangeMark[] {
    return changeMarksOf(before, after, this.#context.contents);
  }

  #shifted(under: ObservedEntry | null): string {
    if (under === null) return '';
    const [uid, gid] = under.owner.split(':').map(Number);
    const { idShift } = this.#context;
    return `${(uid ?? 0) + idShift.uid}:${(gid ?? 0) + idShift.gid}`;
  }
}

/** What the contents of two sides are marked with. */
export function changeMarksOf(
  before: Entry | null,
  after: Entry | null,
  contents: ContentStore,
): ChangeMark[] {
  const marks: ChangeMark[] = [];
  const isLost = (entry: Entry | null): boolean =>
    entry?.type === 'file' && entry.sha256 !== null && !contents.has(entry.sha256);
  // What was not even read.
  const isUnread = after?.type === 'file' && after.sha256 === null;
  if (isUnread || isLost(before) || isLost(after)) marks.push('over-cap');
  if (before?.type === 'file' && before.sha256 === null) marks.push('before-unknown');
  return marks;
}

/** Of a directory, whatever was made in it since. */
function isSameThing(key: StatKey | null, stat: BigIntStats): boolean {
  if (!stat.isDirectory()) return key === statKey(stat);
  return key?.startsWith(`${stat.ino}:${stat.mode}:`) === true;
}

function hiddenBelow(under: ObservedEntry): LedgerEntry {
  const base = { key: under.key, entry: under.entry };
  return { key: null, entry: null, owner: '', hides: true, isFresh: false, base };
}

function statOrNull(cursor: TreeCursor, name: string): BigIntStats | null | 'closed' {
  try {
    return cursor.stat(name);
  } catch (error) {
    if (error instanceof TrlError) throw error;
    return 'closed';
  }
}
