/** Rules whose form alone means nothing: a provider's name must precede it on the same line. */
import { isAlphanumeric, isMadeOfWords, isExampleToken } from './token-bounds.ts';

/** The most characters between the name and the token. */
const gapMax = 40;
const secretWord =
  /api|key|token|secret|access|private|auth|pass|pwd|cred|(?:^|[^a-z])(?:pat|psk)(?:[^a-z]|$)/i;
const hashWord = new RegExp(
  'commit|sha-?[1-5]|md5|digest|checksum|hash|etag|version|image|revision|fingerprint' +
    '|public|uuid|trace|span|request|/blob/|/tree/|/raw/|/package/',
  'i',
);
const keyWord =
  /^[ _.-]{0,2}(?:api|app|key|token|secret|access|private|auth|pass|cred|pat|client|personal)/i;
/** The name of an identifier, and not of a key. */
const identifier =
  /(?:^|[^A-Za-z])(?:id|name|url|uri|host|user)["']?[ \t]*[:=]?[^A-Za-z]*$|Id["']?[:= ]+["']?$/;

export interface NearbyTokenMatch {
  readonly start: number;
  readonly end: number;
  /** Whether a word such as "token" is between name and value. */
  readonly labelled: boolean;
}

/** The conditions on the text around a token. */
export interface NearbyTokenForm {
  readonly patterns: readonly RegExp[];
  /**
   * Whether a word such as "key" must follow the name at once, since the name is an everyday word.
   */
  readonly joined: boolean;
  /** In the current text, the offset up to which tokens were read and found to be words. */
  judgedTo: number;
}

/** The token that the name at `[start, end)` announces; `null`: there is none. */
export function matchNearbyToken(
  text: string,
  [start, end]: readonly [number, number],
  form: NearbyTokenForm,
): NearbyTokenMatch | null {
  const { patterns, joined } = form;
  if (!isSeparateName(text, start, end)) return null;
  if (joined && !keyWord.test(text.slice(end, end + 10))) return null;
  const last = Math.min(text.length, end + gapMax);
  for (let at = Math.max(end, form.judgedTo); at <= last; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x0a || code === 0x0d) return null;
    if (!isAlphanumeric(code) || (at > end && isAlphanumeric(text.charCodeAt(at - 1)))) continue;
    const word = keyWord.exec(text.slice(at, at + 10))?.[0];
    if (word !== undefined && !isAlphanumeric(text.charCodeAt(at + word.length))) continue;
    const found = tryAt(text, at, patterns);
    if (found < 0) {
      const stop = runEnd(text, at);
      if (stop - at < runMax) continue;
      form.judgedTo = stop;
      at = stop - 1;
      continue;
    }
    const token = text.slice(at, found);
    const labelled = secretWord.test(text.slice(start, at));
    if (!isDrawn(token, labelled)) {
      form.judgedTo = found;
      at = found - 1;
      continue;
    }
    const gap = text.slice(end, at);
    if (hashWord.test(gap) || identifier.test(gap)) return null;
    if (!labelled && !/^["'`]?[ \t]{0,2}(?:[:=]|=>)?[ \t]{0,2}["'`]?$/.test(gap)) return null;
    return { start: at, end: found, labelled };
  }
  // No token is there for a later name either.
  form.judgedTo = Math.max(form.judgedTo, last + 1);
  return null;
}

/** A longer run is no token of any form; it is read once. */
const runMax = 256;

function runEnd(text: string, from: number): number {
  let at = from;
  while (at < from + runMax && isInRun(text.charCodeAt(at))) at += 1;
  return at;
}

function isInRun(code: number): boolean {
  return isAlphanumeric(code) || code === 0x2d || code === 0x5f;
}

function tryAt(text: string, at: number, patterns: readonly RegExp[]): number {
  for (const pattern of patterns) {
    pattern.lastIndex = at;
    if (pattern.test(text)) return pattern.lastIndex;
  }
  return -1;
}

/** `datadog_key`, `MyDatadogKey`, `DATADOGTOKEN`; not `box` in `boxes` or `inbox`. */
function isSeparateName(text: string, start: number, end: number): boolean {
  const before = start === 0 ? 0 : text.charCodeAt(start - 1);
  const first = text.charCodeAt(start);
  const camel = isUpper(first) && !isUpper(before);
  if (isAlphanumeric(before) && !camel) return false;
  const after = text.charCodeAt(end);
  if (!isAlphanumeric(after)) return true;
  const turns = isUpper(after) !== isUpper(text.charCodeAt(end - 1));
  return turns || keyWord.test(text.slice(end, end + 8));
}

function isUpper(code: number): boolean {
  return code >= 0x41 && code <= 0x5a;
}

/** Letters and digits mixed; next to a label also only one of them, if it is no word. */
function isDrawn(token: string, labelled: boolean): boolean {
  if (isExampleToken(token) || isMadeOfWords(token)) return false;
  const digits = token.replaceAll(/[^0-9]/g, '').length;
  return labelled ? token.length >= 20 || digits >= 2 : digits >= 2 && digits < token.length;
}
