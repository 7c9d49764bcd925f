/**
 * How much of a run is news to the audience: characters on lines of the denied file that no seen
 * file has, that are no license text, and that say something.
 */
import { licenseMarks } from './background.ts';
import type { Content } from './index-contents.ts';
import { hashUnit, lineCharsMin, unitEnd, type LineCounts } from './index-lines.ts';
import { lineEnd } from './view-normal.ts';

/** Fewer different characters make a rule, a frame or padding. */
const distinctMin = 4;
/** How far back the beginning of a line is looked for. */
const lineCharsMax = 4096;

export interface Novelty {
  readonly novel: number;
  /** Line number of the first character, from 1, and of the last. */
  readonly lines: readonly [number, number];
}

/** The news in `[from, to)` of a denied content. */
export function novelChars(content: Content, seen: LineCounts, from: number, to: number): number {
  const { chars } = content;
  const pair = new Uint32Array(2);
  const licensed = licenseMarks(chars, from, to);
  let novel = 0;
  for (let start = lineStart(chars, from); start < to;) {
    const end = unitEnd(chars, start);
    const [first, last] = [Math.max(start, from), Math.min(end, to)];
    if (end - start >= lineCharsMin && last > first) {
      hashUnit(chars, start, end, pair);
      if (!seen.has(pair[0] ?? 0, pair[1] ?? 0))
        novel += newsIn(chars, first, last, licensed, from);
    }
    start = chars[end] === lineEnd ? end + 1 : Math.max(end, start + 1);
  }
  return novel;
}

/** `licensed`: a mark for each character from `base` on. */
function newsIn(
  chars: Uint8Array,
  first: number,
  last: number,
  licensed: Uint8Array | null,
  base = 0,
): number {
  const different = new Set<number>();
  let news = 0;
  for (let at = first; at < last; at += 1) {
    if (licensed !== null && licensed[at - base] === 1) continue;
    news += 1;
    if (different.size < distinctMin) different.add(chars[at] ?? 0);
  }
  return different.size < distinctMin ? 0 : news;
}

function lineStart(chars: Uint8Array, from: number): number {
  let at = from;
  while (at > 0 && from - at < lineCharsMax && chars[at - 1] !== lineEnd) at -= 1;
  return at;
}

/** The number of the line that the character at `place` is on, from 1. */
export function lineNumber(chars: Uint8Array, place: number): number {
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
