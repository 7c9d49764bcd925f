/** `Cookie: a=b; c=d` and `Set-Cookie: a=b; Path=/`. */
import { BLANK, NAME, skip } from './characters.ts';
import { found, type Report, type Segment } from './finder.ts';
import { classifyName } from './names.ts';
import { isPlaceholder, isReference, mixes } from './plausible.ts';
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
export function findCookies({ text, end }: Segment, at: number, report: Report): void {
  let p = at;
  while (p < end && p < at + 3 && '"\'\\s'.includes(text.charAt(p))) p++;
  p = skip(text, p, end, BLANK);
  const sign = text.charAt(p);
  const flag = text.startsWith('--', at - 8);
  if (sign !== ':' && sign !== '=' && !flag) return;
  findPairs({ text, end }, skip(text, flag && sign !== '=' ? at : p + 1, end, BLANK), report);
}

/** `a=b; c=d`, in quotes or not. */
export function findPairs(
  { text, end }: Pick<Segment, 'text' | 'end'>,
  at: number,
  report: Report,
): void {
  let p = at;
  while (p < end && '"\'\\'.includes(text.charAt(p))) p++;
  for (let pairs = 0; pairs < 64 && p < end; pairs++) {
    const stop = skip(text, p, Math.min(end, p + 80), NAME);
    if (stop === p || text.charAt(stop) !== '=') return;
    const close = valueEnd(text, stop + 1, end);
    judge(text, text.slice(p, stop), [stop + 1, close], report);
    if (text.charAt(close) !== ';') return;
    p = skip(text, close + 1, end, BLANK);
    // `; HttpOnly; Secure`
    const word = skip(text, p, end, NAME);
    if (text.charAt(word) === ';') p = skip(text, word + 1, end, BLANK);
  }
}

function valueEnd(text: string, at: number, end: number): number {
  let p = at;
  while (p < end && text.charCodeAt(p) > 32 && !';"\'\\,'.includes(text.charAt(p))) p++;
  return p;
}

function judge(text: string, name: string, [start, end]: [number, number], report: Report): void {
  if (benign.test(name) || end - start < 8) return;
  const value = text.slice(start, Math.min(end, start + 200));
  if (isReference(value) || isPlaceholder(value)) return;
  const telling = session.test(name) || classifyName(name) === 'secret';
  const random = mixes(text, start, end) && wordiness(text, start, end) < 0.4;
  if (telling ? random || end - start >= 16 : random && end - start >= 24) {
    report(found([start, end], 'cookie', telling ? 0.95 : 0.75, name));
  }
}
