/** Runs of characters that could be a key and that no name gives away. */
import { wordiness } from './bigram.ts';
import { characterClasses, DIGIT, LOWER, TOKEN, UPPER } from './characters.ts';

/** Offsets `[start, end)` of runs, one pair each; reused from block to block. */
export interface TokenRuns {
  count: number;
  pairs: Int32Array;
}

/** Shorter ones are left to names and rules. */
export const tokenCharsMin = 16;

const runs: TokenRuns = { count: 0, pairs: new Int32Array(512) };

/** Besides letters and digits: `_ - + / = ~`, and `. : %` inside. Others end a run. */
const inRun = new Uint8Array(256);
for (let code = 0; code < 256; code++) {
  inRun[code] = ((characterClasses[code] ?? 0) & TOKEN) === 0 ? 0 : 1;
}
for (const sign of '.:%') inRun[sign.charCodeAt(0)] = 1;

/**
 * Runs of at least `tokenMin` characters that hold a digit or no lower case. Looks only at every
 * sixteenth byte where there are none: most text costs next to nothing. Valid until the next call.
 */
export function findTokenRuns(bytes: Uint8Array): TokenRuns {
  runs.count = 0;
  const { length } = bytes;
  let at = tokenCharsMin - 1;
  while (at < length) {
    let start = at;
    const low = at - tokenCharsMin;
    while (start > low && inRun[bytes[start] ?? 0] === 1) start--;
    if (start > low) {
      at = start + tokenCharsMin;
      continue;
    }
    start++;
    let end = at + 1;
    while (end < length && inRun[bytes[end] ?? 0] === 1) end++;
    if (isCandidate(bytes, start, end)) add(start, end);
    at = end + tokenCharsMin;
  }
  return runs;
}

/** Letters with digits, or letters of both cases; not a word, a path of words or a number. */
function isCandidate(bytes: Uint8Array, start: number, end: number): boolean {
  let digits = 0;
  let upper = 0;
  let lower = 0;
  const stop = Math.min(end, start + 512);
  for (let at = start; at < stop; at++) {
    const bits = characterClasses[bytes[at] ?? 0] ?? 0;
    if ((bits & LOWER) !== 0) lower++;
    else if ((bits & UPPER) !== 0) upper++;
    else if ((bits & DIGIT) !== 0) digits++;
  }
  if (digits === 0) return upper > 4 && lower > 4;
  return lower + upper > 3;
}

function add(start: number, end: number): void {
  if (runs.count * 2 === runs.pairs.length) {
    const pairs = new Int32Array(runs.pairs.length * 2);
    pairs.set(runs.pairs);
    runs.pairs = pairs;
  }
  runs.pairs[runs.count * 2] = start;
  runs.pairs[runs.count * 2 + 1] = end;
  runs.count++;
}

/**
 * The part of a run that could be a key, or null: the value of `name=value`, without marks of a
 * diff, punctuation and what names it. Paths, URLs and host names are none.
 */
export function extractToken(
  text: string,
  start: number,
  end: number,
): readonly [number, number] | null {
  let from = start;
  let to = end;
  while (from < to && '-+.:%/='.includes(text.charAt(from))) from++;
  while (to > from && '.:%-/'.includes(text.charAt(to - 1))) to--;
  if (to - from < tokenCharsMin || to - from > 512) return null;
  // A path, or the anchor of a page.
  if (from > start && text.charAt(from - 1) === '/' && text.charAt(start) !== '+') return null;
  if (text.charAt(from - 1) === '#') return null;
  from = behindName(text, from, to);
  if (to - from < tokenCharsMin) return null;
  return isPath(text, from, to) ? null : [from, to];
}

/**
 * Behind the last `=` that is no padding, and behind the last `:`. `orbt:KEY` and `hx::KEY` have
 * short prefixes that stay; `host:8080:KEY` and `namespace::Name` do not.
 */
function behindName(text: string, start: number, end: number): number {
  let from = start;
  let colon = -1;
  for (let at = start; at < end - 1; at++) {
    const code = text.charCodeAt(at);
    if (code === 61 && text.charCodeAt(at + 1) !== 61) from = at + 1;
    else if (code === 58) colon = at;
  }
  return colon >= from && (colon - from > 8 || end - colon < tokenCharsMin) ? colon + 1 : from;
}

/** Words between slashes or dots. */
function isPath(text: string, start: number, end: number): boolean {
  let from = start;
  let parts = 0;
  let words = 0;
  for (let at = start; at <= end; at++) {
    const code = text.charCodeAt(at);
    if (at < end && code !== 47 && code !== 46) continue;
    parts++;
    if (at - from >= 3 && wordiness(text, from, at) > 0.4) words++;
    from = at + 1;
  }
  return parts > 1 && words * 3 >= parts;
}
