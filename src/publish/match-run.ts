/**
 * Runs: ranges of a text and of a denied content that are equal, character by character; and chains
 * of runs that follow each other closely in both.
 */
import type { IndexedContent } from './index-table.ts';
import { ignoredChars, type NormalText } from './view-normal.ts';

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
