/**
 * Runs: ranges of a text and of a denied content that are equal, character by character; chains of
 * runs that follow each other closely in both; and the score of a run.
 *
 * The score is how much of a run is news to the audience: characters on lines of the denied file
 * that no visible file has, that are neither license text nor common knowledge, and that are not
 * repetitive.
 */
import { markLicenseText } from './background.ts';
import { hashUnit, lineCharsMin, unitEnd, type LineCounts } from './index-lines.ts';
import type { IndexedContent } from './index-table.ts';
import { markCommonText } from './match-common-text.ts';
import { ignoredChars, lineEnd, type NormalText } from './view-normal.ts';

/**
 * Offsets `[from, to)` of characters. `length` does not count characters that comparisons ignore.
 */
export interface MatchRun {
  readonly content: IndexedContent;
  readonly textFrom: number;
  readonly textTo: number;
  readonly from: number;
  readonly to: number;
  readonly length: number;
}

/** The longest run through the character `textAt` of the text and `at` of the content. */
export function findRunThrough(
  text: NormalText,
  textAt: number,
  content: IndexedContent,
  at: number,
): MatchRun {
  const { chars, length } = text;
  const denied = content.chars;
  let [textTo, to] = [textAt, at];
  let same = 0;
  for (let [i, j] = [textAt, at]; i < length && j < denied.length; i += 1, j += 1) {
    while (i < length && ignoredChars[chars[i] ?? 0] === 1) i += 1;
    while (j < denied.length && ignoredChars[denied[j] ?? 0] === 1) j += 1;
    if (i === length || j === denied.length || chars[i] !== denied[j]) break;
    same += 1;
    [textTo, to] = [i + 1, j + 1];
  }
  let [textFrom, from] = [textAt, at];
  for (let [i, j] = [textAt - 1, at - 1]; i >= 0 && j >= 0; i -= 1, j -= 1) {
    while (i >= 0 && ignoredChars[chars[i] ?? 0] === 1) i -= 1;
    while (j >= 0 && ignoredChars[denied[j] ?? 0] === 1) j -= 1;
    if (i < 0 || j < 0 || chars[i] !== denied[j]) break;
    same += 1;
    [textFrom, from] = [i, j];
  }
  return { content, textFrom, textTo, from, to, length: same };
}

export interface MatchChain {
  readonly content: IndexedContent;
  readonly runs: readonly MatchRun[];
  readonly textFrom: number;
  readonly textTo: number;
  readonly from: number;
  readonly to: number;
  readonly length: number;
}

/** Characters between two runs of a chain, in the text and in the content, at most. */
const gapMax = 48;

export function joinMatchRuns(runs: readonly MatchRun[]): MatchChain[] {
  const byContent = Map.groupBy(runs, (run) => run.content);
  return [...byContent.values()].flatMap((own) => chainsOf(own));
}

function chainsOf(runs: readonly MatchRun[]): MatchChain[] {
  const sorted = runs.toSorted((a, b) => a.textFrom - b.textFrom || b.length - a.length);
  const chains: MatchRun[][] = [];
  let open: MatchRun[][] = [];
  for (const run of sorted) {
    open = open.filter((chain) => run.textFrom - (chain.at(-1)?.textTo ?? 0) <= gapMax);
    const chain = open.find((one) => follows(one.at(-1), run));
    if (chain !== undefined) {
      chain.push(run);
    } else {
      const started = [run];
      chains.push(started);
      open.push(started);
    }
  }
  return chains.map((chain) => ({
    content: chain[0]?.content ?? absent(),
    runs: chain,
    textFrom: chain[0]?.textFrom ?? 0,
    textTo: chain.at(-1)?.textTo ?? 0,
    from: chain[0]?.from ?? 0,
    to: chain.at(-1)?.to ?? 0,
    length: chain.reduce((sum, run) => sum + run.length, 0),
  }));
}

function follows(last: MatchRun | undefined, run: MatchRun): boolean {
  if (last === undefined) return false;
  const textGap = run.textFrom - last.textTo;
  const gap = run.from - last.to;
  return textGap >= 0 && textGap <= gapMax && gap >= 0 && gap <= gapMax;
}

function absent(): never {
  throw new Error('a chain has a run');
}

/** Fewer different characters are a rule, a frame or padding. */
const distinctMin = 4;
/** If less of a line is in a run, it is only part of one: idioms are shared within lines. */
const wholeShare = 0.8;
const partWeight = 0.6;
/**
 * One or two lines are an idiom more often than three, unless they are as long as what is blocked.
 */
const aloneCost = 10;
const aloneCharsMax = 120;
/** The most characters before a position in which the start of the line is searched for. */
const lineCharsMax = 4096;

/** The news in `[from, to)` of a denied content, in characters; 0 if it is less than `least`. */
export function countNovelChars(
  content: IndexedContent,
  visible: LineCounts,
  [from, to]: readonly [number, number],
  least: number,
): number {
  const { chars } = content;
  const pair = new Uint32Array(2);
  const news: (readonly [number, number])[] = [];
  let novel = 0;
  let part = 0;
  let lines = 0;
  for (let start = lineStart(chars, from); start < to;) {
    const end = unitEnd(chars, start);
    const [first, last] = [Math.max(start, from), Math.min(end, to)];
    lines += last > first ? 1 : 0;
    if (end - start >= lineCharsMin && last > first) {
      hashUnit(chars, start, end, pair);
      if (!visible.has(pair[0] ?? 0, pair[1] ?? 0) && isVaried(chars, first, last)) {
        news.push([first, last]);
        novel += last - first;
        const whole = (last - first) / (end - start) >= wholeShare;
        if (!whole) part += last - first;
      }
    }
    start = chars[end] === lineEnd ? end + 1 : Math.max(end, start + 1);
  }
  if (novel < least) return 0;
  const alone = least > 1 && lines < 3 && novel < aloneCharsMax;
  if (alone) novel -= aloneCost;
  novel -= Math.ceil(part * (1 - partWeight));
  const known = markCommonText(chars, from, to);
  markLicenseText(chars, from, to)?.forEach((mark, at) => {
    if (mark === 1) known[at] = 1;
  });
  for (const [first, last] of news) {
    for (let at = first; at < last; at += 1) novel -= known[at - from] ?? 0;
  }
  return novel;
}

function isVaried(chars: Uint8Array, first: number, last: number): boolean {
  const different: number[] = [];
  for (let at = first; at < last; at += 1) {
    const char = chars[at] ?? 0;
    if (different.includes(char)) continue;
    different.push(char);
    if (different.length >= distinctMin) return true;
  }
  return false;
}

function lineStart(chars: Uint8Array, from: number): number {
  let at = from;
  while (at > 0 && from - at < lineCharsMax && chars[at - 1] !== lineEnd) at -= 1;
  return at;
}

/** The line number of the character at `place`, from 1. */
export function lineNumberAt(chars: Uint8Array, place: number): number {
  let line = 1;
  for (
    let at = chars.indexOf(lineEnd);
    at >= 0 && at < place;
    at = chars.indexOf(lineEnd, at + 1)
  ) {
    line += 1;
  }
  return line;
}
