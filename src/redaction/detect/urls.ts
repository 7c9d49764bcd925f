/** Passwords in URLs: `scheme://user:password@host`, `https://token@host`. */
import { ALNUM, NAME, QUOTE, isCharacterOf, skipCharactersOf } from './characters.ts';
import { makeFinding, type ReportFinding, type LineSegment } from './line-segment.ts';
import { isPlaceholderValue, isVariableReference, mixesLettersAndDigits } from './plausibility.ts';
import { wordiness } from './bigram.ts';

const authorityMax = 512;

/** @param at Where `://` stands. */
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
 * The `@` before the host: the first one that a host and the end of it follow. A password may hold
 * `@`, `/` and `#`; a later `@` of a path or of another URL is none of its business.
 */
function hostAt(text: string, from: number, limit: number): number | null {
  let slashes = 0;
  for (let p = from; p < limit; p++) {
    const code = text.charCodeAt(p);
    if (code <= 32 || code === 60 || code === 62 || code === 34 || code === 39) return null;
    if (code === 96 || code === 92) return null;
    if (code === 47 || code === 63) {
      slashes++;
      // `https://host/path/@scope`: a host has come before.
      if (slashes === 1 && /^(?:[^:]*|[^:@]+:\d{1,5})$/u.test(text.slice(from, p))) return null;
    }
    if (code === 64 && p > from && isHost(text, p + 1, limit)) return p;
  }
  return null;
}

/** How far no `@` and no end of a word stands. */
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
