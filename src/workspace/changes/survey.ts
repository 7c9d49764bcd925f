/** Walks an upper layer and finds what is not known yet. */
import type { BigIntStats } from 'node:fs';
import type { BytePath } from '../../change.ts';
import { matches, isWhiteout } from '../stat.ts';
import type { Allowance } from './allowance.ts';
import type { Entered, TreeCursor } from './cursor.ts';
import type { Ledger, Told } from './ledger.ts';
import type { Pace } from './pace.ts';
import type { Wholes } from './wholes.ts';
import type { Young } from './young.ts';

/** Longer paths are not told: each of a tree of n nested directories costs its whole length. */
export const pathBytesMax = 16 * 1024;

/** An upper entry that is new, or not as it was told. */
export interface Found {
  readonly path: BytePath;
  readonly stat: BigIntStats;
  readonly told: Told | undefined;
}

export interface Survey {
  /** In the order of the walk: a directory before what is in it. */
  readonly found: readonly Found[];
  readonly skipped: readonly BytePath[];
}

export interface SurveyGround {
  readonly cursor: TreeCursor;
  readonly ledger: Ledger;
  readonly pace: Pace;
  readonly allowance: Allowance;
  /** What may wait; `null`: nothing does. */
  readonly young: Young | null;
  /** New directories that are not looked into; `null`: all are. */
  readonly wholes: Wholes | null;
}

/** Every known entry costs one `lstat`; a directory that it cannot read is among the skipped. */
export async function survey(ground: SurveyGround): Promise<Survey> {
  const { cursor, ledger, pace, wholes } = ground;
  const found: Found[] = [];
  const skipped: BytePath[] = [];
  ledger.begin();
  const waiting: BytePath[] = [''];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const entered: Entered = cursor.goto(path);
    if (entered === 'closed') skipped.push(path);
    if (entered !== 'here') continue;
    const directories: BytePath[] = [];
    for (const name of await cursor.names()) {
      if (pace.isDue()) await pace.rest();
      const child = path === '' ? name : `${path}/${name}`;
      const isDirectory = look(ground, child, name, found);
      if (isDirectory === 'no room') {
        if (skipped.at(-1) !== path) skipped.push(path);
        continue;
      }
      if (!isDirectory) continue;
      if (child.length > pathBytesMax) skipped.push(child);
      else directories.push(child);
    }
    for (const directory of directories.toReversed()) {
      const isNew = wholes !== null && ledger.get(directory) === undefined;
      if (!(isNew && wholes.takes(directory))) waiting.push(directory);
    }
  }
  const told = found.filter(({ path }) => wholes?.waiting.has(path) !== true);
  return { found: withoutHalves(told, ground.young), skipped };
}

/** What was deleted waits: it may be about to be replaced, or have been renamed to what waits. */
function withoutHalves(found: readonly Found[], young: Young | null): readonly Found[] {
  if (young === null) return found;
  const isRenaming = young.waiting.size > 0;
  return found.filter(({ path, stat, told }) => {
    const isHalf = isRenaming && told === undefined;
    // What was told below a directory goes with it, and is looked for in this look.
    const isLeaf = told?.entry?.type !== 'directory';
    const isNow = !isWhiteout(stat) || !(isHalf || (isLeaf && young.isJustGone(path)));
    if (!isNow) young.wait(path);
    return isNow;
  });
}

/** Notes one entry; answers whether it is a directory. */
function look(
  ground: SurveyGround,
  path: BytePath,
  name: string,
  found: Found[],
): boolean | 'no room' {
  const known = ground.ledger.meet(path);
  let stat: BigIntStats | null = null;
  if (known === null) {
    const { young, cursor, allowance } = ground;
    stat = cursor.stat(name);
    if (stat === null || young?.holds(path, stat) === true) return false;
    if (!allowance.take(path)) return 'no room';
  }
  if (known?.quick != null) {
    const quick = ground.cursor.quickStat(name);
    if (quick === null) return false;
    if (matches(known.quick, quick) && !known.told.isFresh) return quick.isDirectory();
  }
  stat ??= ground.cursor.stat(name);
  if (stat === null) return false;
  // Whiteouts are links to each other: their key changes with every other one that comes.
  const stayed = isWhiteout(stat) && known !== null && known.told.entry === null;
  const isUpper = known?.told.key != null;
  if (!(stayed && isUpper)) found.push({ path, stat, told: known?.told });
  return stat.isDirectory();
}
