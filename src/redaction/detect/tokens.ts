/**
 * Tokens that no name reveals: the runs of characters that could be a key, and the forms that are
 * certainly none, before any score.
 */
import { isUuid } from '../recognise/encoded.ts';
import { wordiness } from './bigram.ts';
import {
  ALNUM,
  BLANK,
  characterClasses,
  DIGIT,
  isCharacterOf,
  LOWER,
  QUOTE,
  skipCharactersOf,
  TOKEN,
  UPPER,
} from './characters.ts';
import { isSequence } from './expression.ts';

/** Offsets `[start, end)` of runs, in pairs; reused from block to block. */
export interface TokenRuns {
  count: number;
  pairs: Int32Array;
}

/** Shorter runs are left to names and rules. */
export const tokenCharsMin = 16;

const runs: TokenRuns = { count: 0, pairs: new Int32Array(512) };

/** Letters and digits, `_ - + / = ~`, and `. : %` inside. Other characters end a run. */
const inRun = new Uint8Array(256);
for (let code = 0; code < 256; code++) {
  inRun[code] = ((characterClasses[code] ?? 0) & TOKEN) === 0 ? 0 : 1;
}
for (const sign of '.:%') inRun[sign.charCodeAt(0)] = 1;

/**
 * Runs of at least {@link tokenCharsMin} characters with a digit or without lower case. Without
 * candidates it reads only every sixteenth byte, so most text costs next to nothing. Valid until
 * the next call.
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

/** Letters with digits, or letters of both cases; no word, no path of words and no number. */
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
 * The part of a run that could be a key, or `null`: the value of `name=value`, without marks of a
 * diff, punctuation and its name. It is no path, URL or host name.
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
 * After the last `=` that is no padding, and after the last `:`. The short prefixes of `orbt:KEY`
 * and `hx::KEY` stay; those of `host:8080:KEY` and `namespace::Name` do not.
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

/** Whether it is words between slashes or dots. */
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

const digestLengths = new Set([24, 32, 40, 56, 64, 96, 128]);

/** The family of a token that must stay readable, or `null`. */
export function screenToken(
  text: string,
  start: number,
  end: number,
  line: { readonly start: number; readonly end: number },
): string | null {
  if (wordiness(text, start, end) > 0.7) return 'words';
  const length = end - start;
  if (isHex(text, start, end)) {
    if (digestLengths.has(length)) return 'digest';
    // A dump or a test vector: whole bytes, in the quotes of a program.
    const quoted = isCharacterOf(text, start - 1, QUOTE) && isCharacterOf(text, end, QUOTE);
    if (quoted && length % 2 === 0) return 'dump';
  }
  if (length === 36 && isUuid(text.slice(start, end))) return 'uuid';
  if (longestRun(text, start, end) < runMin || isObjectId(text, start, end)) return 'identifier';
  if (isSequence(text, start, end)) return 'alphabet';
  if (text.startsWith('_Z', start) || text.startsWith('__Z', start)) return 'symbol';
  if (isBase64Line(text, line)) return 'base64';
  const before = text.slice(Math.max(line.start, start - 16), start);
  const after = text.slice(end, Math.min(line.end, end + 8));
  return goesOnBefore.test(before) || goesOnAfter.test(after) ? 'dump' : null;
}

/** `+ "iVBORw0KGgo…"`, `"…" +`, `"…" \`: a long text over several lines. */
const goesOnBefore = /^[ \t]*\+[ \t]*["'`]$/u;
const goesOnAfter = /^=*(?:\\n)?["'`][ \t]*[+\\]$/u;

/** `evt_1Mq…`, `chatcmpl-9x…`, `call_…`: ids of objects in well-known APIs. */
function isObjectId(text: string, start: number, end: number): boolean {
  objectId.lastIndex = start;
  return objectId.test(text) && objectId.lastIndex < end;
}

const objectId = new RegExp(
  [
    String.raw`(?:evt|cus|pi|ch|in|ii|il|sub|si|price|prod|pm|seti|src|card|ba|acct|req|txn|`,
    String.raw`po|re|tr|thread|run|call|toolu|msg|chatcmpl|cmpl|file|asst|resp|step|vs|batch|`,
    String.raw`ftjob|org|proj|prj|dpl|icfg|ecfg|user|team|wf|job|task|event|order|inv|node|`,
    String.raw`doc|page|conv|item|`,
    String.raw`rs|fc|gen|trace|span)[-_]`,
  ].join(''),
  'y',
);

/** `POSIX2_COLL_WEIGHTS_MAX`, `web-7d4b9c6f5d-x2k9p`: no part is as long as a key. */
const runMin = 12;

function longestRun(text: string, start: number, end: number): number {
  let longest = 0;
  let run = 0;
  for (let at = start; at < end; at++) {
    run = isCharacterOf(text, at, ALNUM) || '+/'.includes(text.charAt(at)) ? run + 1 : 0;
    longest = Math.max(longest, run);
  }
  return longest;
}

/** In one case. */
function isHex(text: string, start: number, end: number): boolean {
  let lower = 0;
  let upper = 0;
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code >= 97 && code <= 102) lower++;
    else if (code >= 65 && code <= 70) upper++;
    else if (code < 48 || code > 57) return false;
  }
  return lower === 0 || upper === 0;
}

/** Whether a line is only base64, as long as encoders make it: of a certificate, a picture. */
export function isBase64Line(
  text: string,
  line: { readonly start: number; readonly end: number },
): boolean {
  const from = skipCharactersOf(text, line.start, line.end, BLANK);
  let to = line.end;
  while (to > from && isCharacterOf(text, to - 1, BLANK)) to--;
  if (!bodyLengths.has(to - from)) return false;
  let upper = 0;
  let lower = 0;
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at);
    if (code >= 97 && code <= 122) lower++;
    else if (code >= 65 && code <= 90) upper++;
    else if ((code < 47 || code > 57) && code !== 43 && code !== 61) return false;
  }
  return upper > 7 && lower > 7;
}

/** Whether it is the last, shorter line of base64. */
export function isBase64Tail(
  text: string,
  { start, end }: { readonly start: number; readonly end: number },
): boolean {
  const from = skipCharactersOf(text, start, end, BLANK);
  return end - from < 78 && /^[A-Za-z0-9+/]{1,76}={0,2}[ \t]*$/u.test(text.slice(from, end));
}

/** OpenSSL and GnuPG wrap at 64, MIME at 76; 60, 70 and 72 occur. */
const bodyLengths = new Set([60, 64, 70, 72, 76]);
