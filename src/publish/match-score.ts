/**
 * How much of a run is news to the audience: characters on lines of the denied file that no visible
 * file has, that are neither license text nor common knowledge, and that are not repetitive.
 */
import { markLicenseText } from './background.ts';
import type { IndexedContent } from './index-table.ts';
import { hashUnit, lineCharsMin, unitEnd, type LineCounts } from './index-lines.ts';
import { markCommonText } from './match-common-text.ts';
import { lineEnd } from './view-normal.ts';

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
