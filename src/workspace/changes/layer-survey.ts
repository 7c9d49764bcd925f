/** Walks an upper layer and finds unknown entries. */
import type { BigIntStats } from 'node:fs';
import type { BytePath } from '../../change.ts';
import { TrlError } from '../../errors.ts';
import { baseNameOf, bytePathOf, parentPathOf, pathText } from '../byte-path.ts';
import { isWhiteout, matchesQuickKey } from '../stat.ts';
import type { WorkPacer } from '../time-slices.ts';
import type { BulkDirectories } from './bulk-directories.ts';
import type { CaptureBudget } from './entries.ts';
import type { LayerAttributes, LayerQuery } from './layer-attributes.ts';
import type { Ledger, LedgerEntry } from './ledger.ts';
import type { RecentWrites } from './recent-writes.ts';
import type { EnterResult, TreeCursor } from './tree-cursor.ts';

/** Longer paths are not captured: each of a tree of n nested directories costs its whole length. */
export const capturedPathBytesMax = 16 * 1024;

/** An upper entry that is new, or not as captured. */
export interface LayerFinding {
  readonly path: BytePath;
  readonly stat: BigIntStats;
  readonly known: LedgerEntry | undefined;
}

export interface LayerSurvey {
  /** In the order of the walk: a directory before what is in it. */
  readonly found: readonly LayerFinding[];
  readonly skipped: readonly BytePath[];
}

interface LayerSurveyContext {
  readonly cursor: TreeCursor;
  readonly ledger: Ledger;
  readonly pace: WorkPacer;
  readonly allowance: CaptureBudget;
  /** What may wait; `null`: nothing does. */
  readonly recentWrites: RecentWrites | null;
  /** New directories that are not looked into; `null`: all are. */
  readonly wholes: BulkDirectories | null;
}

/** Every known entry costs one `lstat`; a directory that it cannot read is among the skipped. */
export async function surveyLayer(context: LayerSurveyContext): Promise<LayerSurvey> {
  const { cursor, ledger, pace, wholes } = context;
  const found: LayerFinding[] = [];
  const skipped: BytePath[] = [];
  ledger.begin();
  const waiting: BytePath[] = [''];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const entered: EnterResult = cursor.goto(path);
    if (entered === 'closed') skipped.push(path);
    if (entered !== 'here') continue;
    const directories: BytePath[] = [];
    for (const name of await cursor.names()) {
      if (pace.isDue()) await pace.rest();
      const child = path === '' ? name : `${path}/${name}`;
      const isDirectory = look(context, child, name, found);
      if (isDirectory === 'no room') {
        if (skipped.at(-1) !== path) skipped.push(path);
        continue;
      }
      if (!isDirectory) continue;
      if (child.length > capturedPathBytesMax) skipped.push(child);
      else directories.push(child);
    }
    for (const directory of directories.toReversed()) {
      const isNew = wholes !== null && ledger.get(directory) === undefined;
      if (!(isNew && wholes.skips(directory))) waiting.push(directory);
    }
  }
  const captured = found.filter(({ path }) => wholes?.deferred.has(path) !== true);
  return { found: withoutHalves(captured, context.recentWrites), skipped };
}

/** Deletions wait: the entry may be about to be replaced, or renamed to one that waits. */
function withoutHalves(
  found: readonly LayerFinding[],
  young: RecentWrites | null,
): readonly LayerFinding[] {
  if (young === null) return found;
  const isRenaming = young.deferred.size > 0;
  return found.filter(({ path, stat, known }) => {
    const isHalf = isRenaming && known === undefined;
    // The captured entries below a directory disappear with it, and are searched for in this pass.
    const isLeaf = known?.entry?.type !== 'directory';
    const isNow = !isWhiteout(stat) || !(isHalf || (isLeaf && young.isJustGone(path)));
    if (!isNow) young.defer(path);
    return isNow;
  });
}

/** Notes one entry; answers whether it is a directory. */
function look(
  context: LayerSurveyContext,
  path: BytePath,
  name: string,
  found: LayerFinding[],
): boolean | 'no room' {
  const known = context.ledger.meet(path);
  let stat: BigIntStats | null = null;
  if (known === null) {
    const { recentWrites: young, cursor, allowance } = context;
    stat = cursor.stat(name);
    if (stat === null || young?.isDeferred(path, stat) === true) return false;
    if (!allowance.take(path)) return 'no room';
  }
  if (known?.quick != null) {
    const quick = context.cursor.quickStat(name);
    if (quick === null) return false;
    if (matchesQuickKey(known.quick, quick) && !known.captured.isFresh) return quick.isDirectory();
  }
  stat ??= context.cursor.stat(name);
  if (stat === null) return false;
  // Whiteouts are hard links of each other: their key changes with each new one.
  const stayed = isWhiteout(stat) && known !== null && known.captured.entry === null;
  const isUpper = known?.captured.key != null;
  if (!(stayed && isUpper)) found.push({ path, stat, known: known?.captured });
  return stat.isDirectory();
}

// Queries what stats do not show of the found entries of a layer.

export interface LayerAnswers {
  readonly opaque: Set<BytePath>;
  readonly copied: Set<BytePath>;
}

interface LayerQueryContext {
  readonly upper: string;
  readonly upperCursor: TreeCursor;
  readonly attributes: LayerAttributes;
}

/**
 * One round trip for all, unless modes keep this process out of some.
 *
 * @param meanwhile what is done while the answer is on its way; it may move the cursor
 */
export async function queryLayer(
  context: LayerQueryContext,
  questions: Iterable<readonly [LayerFinding, LayerQuery]>,
  meanwhile: () => Promise<void> = async () => {},
): Promise<LayerAnswers> {
  const asked = [...questions];
  const prefix = bytePathOf(context.upper);
  const asks = asked.map(([{ path }, question]) => ({ path: `${prefix}/${path}`, question }));
  const answering = context.attributes.read(asks);
  // Should both fail, that it was not awaited yet must not end this process.
  answering.catch(() => null);
  await meanwhile();
  const answers = await answering;
  const said = { opaque: new Set<BytePath>(), copied: new Set<BytePath>() };
  for (const [at, [found, question]] of asked.entries()) {
    const ask = asks[at];
    const answer = answers[at] ?? (ask === undefined ? null : await askClosed(context, found, ask));
    if (answer === null) {
      const name = pathText(found.path);
      throw new TrlError('INTERNAL_ERROR', `Cannot read the layer of an overlay at "${name}"`);
    }
    if (answer) said[question].add(found.path);
  }
  return said;
}

/** Queries again with the modes on the way widened, as for reading. */
async function askClosed(
  context: LayerQueryContext,
  found: LayerFinding,
  ask: { readonly path: BytePath; readonly question: LayerQuery },
): Promise<boolean | null> {
  const { upperCursor, attributes } = context;
  // Gone meanwhile: neither.
  if (upperCursor.goto(parentPathOf(found.path)) !== 'here') return false;
  return upperCursor.readable(
    baseNameOf(found.path),
    async () => (await attributes.read([ask]))[0] ?? null,
  );
}
