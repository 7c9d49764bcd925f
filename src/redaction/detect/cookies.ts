/** `Cookie: a=b; c=d` and `Set-Cookie: a=b; Path=/`. */
import { BLANK, NAME, skipCharactersOf } from './characters.ts';
import { makeFinding, type ReportFinding, type LineSegment } from './line-segment.ts';
import { classifyName } from './name-class.ts';
import { isPlaceholderValue, isVariableReference, mixesLettersAndDigits } from './plausibility.ts';
import { wordiness } from './bigram.ts';

/** Analytics, language, attributes of a cookie: no key to anything. */
const benign = new RegExp(
  [
    String.raw`^(?:_ga\w*|_gid|_gat\w*|_gcl\w*|_fbp|__utm\w*|__cfduid|locale|lang|language|`,
    String.raw`theme|tz|timezone|path|domain|expires|max-age|samesite|version|priority|country|`,
    String.raw`currency|consent|_hj\w*|intercom-id\w*|optimizely\w*|ajs_\w*|_pk_\w*)$`,
  ].join(''),
  'iu',
);
const session =
  /sess|(?:^|[._-])sid$|auth|jwt|remember|login|identity|sso|bearer|ticket|xsrf|csrf/iu;

/** @param at Just behind the word `cookie`. */
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

/** `a=b; c=d`, in quotes or not. */
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
    const close = valueEnd(text, stop + 1, end);
    judge(text, text.slice(p, stop), [stop + 1, close], report);
    if (text.charAt(close) !== ';') return;
    p = skipCharactersOf(text, close + 1, end, BLANK);
    // `; HttpOnly; Secure`
    const word = skipCharactersOf(text, p, end, NAME);
    if (text.charAt(word) === ';') p = skipCharactersOf(text, word + 1, end, BLANK);
  }
}

function valueEnd(text: string, at: number, end: number): number {
  let p = at;
  while (p < end && text.charCodeAt(p) > 32 && !';"\'\\,'.includes(text.charAt(p))) p++;
  return p;
}

function judge(
  text: string,
  name: string,
  [start, end]: [number, number],
  report: ReportFinding,
): void {
  if (benign.test(name) || end - start < 8) return;
  const value = text.slice(start, Math.min(end, start + 200));
  if (isVariableReference(value) || isPlaceholderValue(value)) return;
  const telling = session.test(name) || classifyName(name) === 'secret';
  const random = mixesLettersAndDigits(text, start, end) && wordiness(text, start, end) < 0.4;
  if (telling ? random || end - start >= 16 : random && end - start >= 24) {
    report(makeFinding([start, end], 'cookie', telling ? 0.95 : 0.75, name));
  }
}
