/** Runs of one content that follow each other closely, in the text as in the content. */
import type { IndexedContent } from './index-contents.ts';
import type { MatchRun } from './match-run.ts';

export interface MatchChain {
  readonly content: IndexedContent;
  readonly runs: readonly MatchRun[];
  readonly textFrom: number;
  readonly textTo: number;
  readonly from: number;
  readonly to: number;
  readonly length: number;
}

/** Characters between two runs of a chain, in the text and in the content. */
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
