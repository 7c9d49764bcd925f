/**
 * Passwords in URLs: `scheme://user:password@host`, `https://token@host`; and cookies that are keys
 * to a session: `Cookie: a=b; c=d`, `Set-Cookie: a=b; Path=/`.
 */
import { wordiness } from './bigram.ts';
import { ALNUM, BLANK, isCharacterOf, NAME, QUOTE, skipCharactersOf } from './characters.ts';
import { makeFinding, type LineSegment, type ReportFinding } from './line-segment.ts';
import { classifyName } from './name-class.ts';
import { isPlaceholderValue, isVariableReference, mixesLettersAndDigits } from './plausibility.ts';

const authorityMax = 512;

/** @param at the start of `://` */
export function findUrlPassword(segment: LineSegment, at: number, report: ReportFinding): void {
  const { text, start, end, spent } = segment;
  if (at < spent.userless || at <= start || !isCharacterOf(text, at - 1, ALNUM)) return;
  const from = at + 3;
  const limit = Math.min(end, from + authorityMax);
  const host = hostAt(text, from, limit);
  if (host === null) {
    spent.userless = authorityEnd(text, from, limit);
    return;
  }
  const colon = text.indexOf(':', from);
  if (colon >= 0 && colon < host) {
    const user = text.slice(from, colon);
    if (isSecretPart(text, colon + 1, host, 4)) {
      report(makeFinding([colon + 1, host], 'url-userinfo', 0.95, user === '' ? null : user));
    }
    // `https://KEY:x-oauth-basic@host`: the user is the key.
    if (
      user.length >= 16 &&
      mixesLettersAndDigits(user, 0, user.length) &&
      wordiness(user, 0, user.length) < 0.3
    ) {
      report(makeFinding([from, colon], 'url-userinfo', 0.85, null));
    }
  } else if (isSecretPart(text, from, host, 16)) {
    const most = mixesLettersAndDigits(text, from, host) ? 0.6 : host - from >= 20 ? 0 : -Infinity;
    if (wordiness(text, from, host) < most) {
      report(makeFinding([from, host], 'url-userinfo', 0.85, null));
    }
  }
}

/**
 * The `@` before the host: the first one with a valid host after it. A password can contain `@`,
 * `/` and `#`; a later `@` belongs to a path or another URL.
 */
function hostAt(text: string, from: number, limit: number): number | null {
  let slashes = 0;
  for (let p = from; p < limit; p++) {
    const code = text.charCodeAt(p);
    if (code <= 32 || code === 60 || code === 62 || code === 34 || code === 39) return null;
    if (code === 96 || code === 92) return null;
    if (code === 47 || code === 63) {
      slashes++;
      // `https://host/path/@scope`: the host is before the path.
      if (slashes === 1 && /^(?:[^:]*|[^:@]+:\d{1,5})$/u.test(text.slice(from, p))) return null;
    }
    if (code === 64 && p > from && isHost(text, p + 1, limit)) return p;
  }
  return null;
}

/** The end of the range without `@` and the end of a word. */
function authorityEnd(text: string, from: number, limit: number): number {
  let p = from;
  while (p < limit && text.charCodeAt(p) > 32 && text.charCodeAt(p) !== 64) p++;
  return p < limit && text.charCodeAt(p) === 64 ? from : p - 3;
}

function isHost(text: string, at: number, limit: number): boolean {
  if (text.startsWith('${', at) || text.charAt(at) === '[' || text.charAt(at) === '/') return true;
  if (text.startsWith('tcp(', at) || text.startsWith('unix(', at)) return true;
  let p = skipCharactersOf(text, at, limit, NAME);
  if (p === at) return '%{<*'.includes(text.charAt(at)) && at < limit;
  if (text.charAt(p) === ':') p = skipCharactersOf(text, p + 1, limit, ALNUM);
  return (
    p >= limit ||
    text.charCodeAt(p) <= 32 ||
    isCharacterOf(text, p, QUOTE) ||
    '/?#,;)]}>\\|<&'.includes(text.charAt(p))
  );
}

function isSecretPart(text: string, start: number, end: number, min: number): boolean {
  if (end - start < min) return false;
  const part = text.slice(start, end);
  if (isVariableReference(part) || isPlaceholderValue(part)) return false;
  if (
    /^(?:pass(?:word|wd)?|pwd|pw|secret|token|user(?:name)?|\{[^}]*\}|%s|:?\w*PASS\w*)$/iu.test(
      part,
    )
  ) {
    return false;
  }
  return true;
}

/** Analytics, language, attributes of a cookie: they give access to nothing. */
const benignName = new RegExp(
  [
    String.raw`^(?:_ga\w*|_gid|_gat\w*|_gcl\w*|_fbp|__utm\w*|__cfduid|locale|lang|language|`,
    String.raw`theme|tz|timezone|path|domain|expires|max-age|samesite|version|priority|country|`,
    String.raw`currency|consent|_hj\w*|intercom-id\w*|optimizely\w*|ajs_\w*|_pk_\w*)$`,
  ].join(''),
  'iu',
);
const sessionName =
  /sess|(?:^|[._-])sid$|auth|jwt|remember|login|identity|sso|bearer|ticket|xsrf|csrf/iu;

/** @param at the end of the word `cookie` */
export function findCookies({ text, end }: LineSegment, at: number, report: ReportFinding): void {
  let p = at;
  while (p < end && p < at + 3 && '"\'\\s'.includes(text.charAt(p))) p++;
  p = skipCharactersOf(text, p, end, BLANK);
  const sign = text.charAt(p);
  const flag = text.startsWith('--', at - 8);
  if (sign !== ':' && sign !== '=' && !flag) return;
  findCookiePairs(
    { text, end },
    skipCharactersOf(text, flag && sign !== '=' ? at : p + 1, end, BLANK),
    report,
  );
}

/** `a=b; c=d`, with or without quotes. */
export function findCookiePairs(
  { text, end }: Pick<LineSegment, 'text' | 'end'>,
  at: number,
  report: ReportFinding,
): void {
  let p = at;
  while (p < end && '"\'\\'.includes(text.charAt(p))) p++;
  for (let pairs = 0; pairs < 64 && p < end; pairs++) {
    const stop = skipCharactersOf(text, p, Math.min(end, p + 80), NAME);
    if (stop === p || text.charAt(stop) !== '=') return;
    const close = cookieEnd(text, stop + 1, end);
    judgeCookie(text, text.slice(p, stop), [stop + 1, close], report);
    if (text.charAt(close) !== ';') return;
    p = skipCharactersOf(text, close + 1, end, BLANK);
    // `; HttpOnly; Secure`
    const word = skipCharactersOf(text, p, end, NAME);
    if (text.charAt(word) === ';') p = skipCharactersOf(text, word + 1, end, BLANK);
  }
}

function cookieEnd(text: string, at: number, end: number): number {
  let p = at;
  while (p < end && text.charCodeAt(p) > 32 && !';"\'\\,'.includes(text.charAt(p))) p++;
  return p;
}

function judgeCookie(
  text: string,
  name: string,
  [start, end]: [number, number],
  report: ReportFinding,
): void {
  if (benignName.test(name) || end - start < 8) return;
  const value = text.slice(start, Math.min(end, start + 200));
  if (isVariableReference(value) || isPlaceholderValue(value)) return;
  const telling = sessionName.test(name) || classifyName(name) === 'secret';
  const random = mixesLettersAndDigits(text, start, end) && wordiness(text, start, end) < 0.4;
  if (telling ? random || end - start >= 16 : random && end - start >= 24) {
    report(makeFinding([start, end], 'cookie', telling ? 0.95 : 0.75, name));
  }
}
