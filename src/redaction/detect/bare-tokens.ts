/** Tokens that only their own characters reveal. */
import type { SecretFinding, SecretPrior } from '../secret-finding.ts';
import { recogniseToken } from '../recognise/recognise-token.ts';
import { strengthOf } from '../recognise/families.ts';
import { wordiness } from './bigram.ts';
import { ALNUM, isCharacterOf } from './characters.ts';
import { scoreToken, shannonEntropy, type ScoreThresholds, type ScoreVetoes } from './score.ts';
import type { ReportFinding, LineSegment } from './line-segment.ts';
import { isProgramName, isProgramPath } from './expression.ts';
import { extractToken, screenToken } from './tokens.ts';

export interface BareTokenCriteria {
  readonly thresholds: ScoreThresholds;
  readonly vetoes: ScoreVetoes;
  readonly prior: SecretPrior;
}

/** A name further away belongs to something else, in characters. */
export const labelDistanceMax = 48;

/** Whether only quotes, a bullet and punctuation are around it. */
function isAlone(
  text: string,
  [start, end]: readonly [number, number],
  lineStart: number,
  lineEnd: number,
): boolean {
  let from = start;
  while (from > lineStart && !isCharacterOf(text, from - 1, ALNUM)) from--;
  let to = end;
  while (to < lineEnd && !isCharacterOf(text, to, ALNUM)) to++;
  return from === lineStart && to === lineEnd;
}

/**
 * Whether it is a hash, an identifier or the like. If the command prints secrets, only certain
 * families count: `config/master.key` contains 32 hexadecimal digits.
 */
function isExplained(
  text: string,
  [start, end]: readonly [number, number],
  line: { readonly start: number; readonly end: number },
  prior: SecretPrior,
): boolean {
  const family = recogniseToken(text, start, end, line);
  return family !== null && (prior !== 'secrets' || strengthOf(family) === 'certain');
}

/** Base64 of at least 16 bytes that ends in padding, as key generators print it. */
function isPadded(text: string, start: number, end: number): boolean {
  if (end - start < 24 || (end - start) % 4 !== 0) return false;
  return /^[A-Za-z0-9+/]+={1,2}$/u.test(text.slice(start, end));
}

/** `P3Y6M4DT12H30M5S`, of ISO 8601. */
const duration =
  /^P(?:\d{1,4}(?:\.\d{1,6})?[YMWD]){0,4}(?:T(?:\d{1,4}(?:\.\d{1,6})?[HMS]){1,3})?$/u;

/**
 * @param run a run of characters of the segment, and the end of the last telling name before it;
 *   below 0: there is none
 */
export function findBareToken(
  { text, start: lineStart, end: lineEnd }: LineSegment,
  run: { readonly start: number; readonly end: number; readonly label: number },
  judge: BareTokenCriteria,
  report: ReportFinding,
): void {
  const token = extractToken(text, Math.max(run.start, lineStart), Math.min(run.end, lineEnd));
  if (token === null) return;
  const [start, end] = token;
  const { vetoes, thresholds, prior } = judge;
  const family = screenToken(text, start, end, { start: lineStart, end: lineEnd });
  const labelled = run.label <= start && start - run.label < labelDistanceMax;
  const weak = family === 'dump' && (labelled || prior === 'secrets');
  if (family !== null && !weak && (prior !== 'secrets' || family !== 'digest')) return;
  const alone = isAlone(text, token, lineStart, lineEnd);
  const position = labelled ? 'labelled' : alone ? 'alone' : 'inline';
  const least = thresholds[position][prior];
  if (least > 1) return;
  const score = scoreToken(text, start, end, { lineStart, lineEnd, labelled });
  const padded = alone && prior === 'secrets' && isPadded(text, start, end);
  if (score < least && !padded) return;
  if (vetoes.bigramBitsMax !== null && wordiness(text, start, end) > vetoes.bigramBitsMax) return;
  if (vetoes.shannonBitsMin !== null && shannonEntropy(text, start, end) < vetoes.shannonBitsMin) {
    return;
  }
  const shown = text.slice(start, end);
  if (duration.test(shown) || isProgramName(shown) || isProgramPath(shown)) return;
  if (isExplained(text, token, { start: lineStart, end: lineEnd }, prior)) return;
  const finding: SecretFinding = { start, end, kind: 'score', rule: 'random', score, key: null };
  report(finding);
}
