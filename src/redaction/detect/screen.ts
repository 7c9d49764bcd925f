/** Which tokens are told apart from keys by their form alone, before any score. */
import { isUuid } from '../recognise/hex-tokens.ts';
import { wordiness } from './bigram.ts';
import { ALNUM, BLANK, QUOTE, isCharacterOf, skipCharactersOf } from './characters.ts';
import { isSequence } from './expression.ts';

const digests = new Set([24, 32, 40, 56, 64, 96, 128]);

/** The family of what must stay readable, or null. */
export function screenToken(
  text: string,
  start: number,
  end: number,
  line: { readonly start: number; readonly end: number },
): string | null {
  if (wordiness(text, start, end) > 0.7) return 'words';
  const length = end - start;
  if (isHex(text, start, end)) {
    if (digests.has(length)) return 'digest';
    // A dump or a test's vector: whole bytes, in the quotes of a program.
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

/** `+ "iVBORw0KGgo…"`, `"…" +`, `"…" \`: a long text in parts of a line each. */
const goesOnBefore = /^[ \t]*\+[ \t]*["'`]$/u;
const goesOnAfter = /^=*(?:\\n)?["'`][ \t]*[+\\]$/u;

/** `evt_1Mq…`, `chatcmpl-9x…`, `call_…`: identifiers of objects in well-known interfaces. */
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

/** `POSIX2_COLL_WEIGHTS_MAX`, `web-7d4b9c6f5d-x2k9p`: no part is long enough to be a key. */
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

/** Of one case. */
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

/** A line of nothing but base64, as long as encoders make them: of a certificate, a picture. */
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

/** What is left of base64 for its last line. */
export function isBase64Tail(
  text: string,
  { start, end }: { readonly start: number; readonly end: number },
): boolean {
  const from = skipCharactersOf(text, start, end, BLANK);
  return end - from < 78 && /^[A-Za-z0-9+/]{1,76}={0,2}[ \t]*$/u.test(text.slice(from, end));
}

/** OpenSSL and GnuPG break at 64, MIME at 76; 60, 70 and 72 occur. */
const bodyLengths = new Set([60, 64, 70, 72, 76]);
