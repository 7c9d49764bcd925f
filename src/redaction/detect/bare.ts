/** Tokens that nothing but their look gives away. */
import type { Finding, Prior } from '../finding.ts';
import { wordiness } from './bigram.ts';
import { entropy } from './features.ts';
import type { Report, Segment } from './finder.ts';
import { scoreOf } from './score.ts';
import { screen } from './screen.ts';
import type { Thresholds, Vetoes } from './thresholds.ts';
import { tokenOf } from './tokens.ts';

export interface Judge {
  readonly thresholds: Thresholds;
  readonly vetoes: Vetoes;
  readonly prior: Prior;
}

/** @param run A run of characters of the segment. */
export function findBare(
  { text, start: lineStart, end: lineEnd }: Segment,
  run: { readonly start: number; readonly end: number; readonly labelled: boolean },
  judge: Judge,
  report: Report,
): void {
  const token = tokenOf(text, Math.max(run.start, lineStart), Math.min(run.end, lineEnd));
  if (token === null) return;
  const [start, end] = token;
  if (screen(text, start, end, { start: lineStart, end: lineEnd }) !== null) return;
  const { vetoes, thresholds, prior } = judge;
  const least = (run.labelled ? thresholds.labelled : thresholds.bare)[prior];
  const score = scoreOf(text, start, end, { lineStart, lineEnd, labelled: run.labelled });
  if (score < least) return;
  if (vetoes.bigramBitsMax !== null && wordiness(text, start, end) > vetoes.bigramBitsMax) return;
  if (vetoes.shannonBitsMin !== null && entropy(text, start, end) < vetoes.shannonBitsMin) return;
  const finding: Finding = { start, end, kind: 'score', rule: 'random', score, key: null };
  report(finding);
}
