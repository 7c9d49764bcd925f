/** Whether the value that belongs to a name is a secret, and what is told of it. */
import { wordiness } from './bigram.ts';
import { ALNUM, BLANK, DIGIT, NAME, QUOTE, is } from './characters.ts';
import { isResource } from './expression.ts';
import { found, looksMax, type Report, type Segment } from './finder.ts';
import type { NameClass } from './names.ts';
import { mixes, plausible, type Place } from './plausible.ts';
import { readUntil, readValue, type Value } from './values.ts';

export interface Name {
  /** Without dashes before it. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly class: NameClass;
  /** It is a flag: `--name`, `-name`. */
  readonly flag: boolean;
}

/** What came of a name: `open`: the value is expected on the lines after. */
export type Outcome = 'found' | 'none' | 'open' | 'label';

export interface Aim {
  readonly at: number;
  readonly place: Place;
  readonly rule: string;
}

export function judge(segment: Segment, name: Name, aim: Aim, report: Report): Outcome {
  const value = readValue(
    segment.text,
    aim.at,
    segment.end,
    aim.place === 'shell' ? 'assignment' : 'field',
  );
  if (value === null) return 'none';
  return judgeValue(segment, name, { ...aim, value }, report);
}

export function judgeValue(
  { text, spent }: Segment,
  name: Name,
  { value, place, rule }: Omit<Aim, 'at'> & { readonly value: Value },
  report: Report,
): Outcome {
  const held = name.class === 'password' || !refersTo(text, name, value);
  const score = held ? plausible(text, value, name.class, value.quoted ? 'data' : place) : 0;
  if (score === 0) {
    if (value.end - value.start > 200 && ++spent.looks > looksMax) spent.until = value.end;
    return 'none';
  }
  spent.until = value.end;
  report(found([value.start, value.end], rule, score, name.text));
  return 'found';
}

/** Whether the value names the object that holds the secret. */
function refersTo(text: string, name: Name, { start, end, quoted }: Value): boolean {
  // `--secret-id prod/db`: where a store of secrets keeps one.
  if (/secret[._-]?id$/iu.test(name.text)) {
    const value = text.slice(start, Math.min(end, start + 128));
    const words = /secret|password|cred|token|prod|staging|database/iu.test(value);
    return words || (wordiness(text, start, end) > 0.2 && !/^[\da-f-]+$/iu.test(value));
  }
  const mapped = !quoted && text.charAt(name.end) === ':' && is(text, name.end + 1, BLANK);
  return isResource(text.slice(start, Math.min(end, start + 128)), name.text, mapped);
}

/** To the quote that began around or before, or as far as a field goes. */
export function quoteEnd({ text, end }: Segment, at: number, quote: string): Value | null {
  const inside = /["'`]/u.test(quote) ? readUntil(text, at, end, quote) : null;
  return inside ?? readValue(text, at, end, 'field');
}

/** Letters and digits or signs, and not the look of words. */
export function isMixed(text: string, { start, end }: Value): boolean {
  if (mixes(text, start, end)) {
    let digits = 0;
    for (let at = start; at < end; at++) if (is(text, at, DIGIT)) digits++;
    return end - start > 5 && (digits * 3 > end - start || wordiness(text, start, end) < 1);
  }
  for (let at = start + 1; at < end - 1; at++) {
    if (text.charCodeAt(at) < 128 && !is(text, at, NAME)) return true;
  }
  return false;
}

/** Whether only blanks, a gutter, a mark of a diff or a word like `export` stand before it. */
export function leadsLine({ text, start }: Segment, { start: at }: Name): boolean {
  let p = at;
  while (p > start && (is(text, p - 1, BLANK | QUOTE) || '+-></#*'.includes(text.charAt(p - 1)))) {
    p--;
  }
  if (p === start) return true;
  if (text.charAt(p - 1) === ':') return at - start < 200 && !/[=,{]/u.test(text.slice(start, p));
  let from = p;
  while (from > start && is(text, from - 1, ALNUM)) from--;
  const word = text.slice(from, p).toLowerCase();
  if (word === 'var' && text.charAt(from - 1) === '-') return true;
  return /^(?:export|set|setenv|declare|x|env|arg|local|readonly|typeset|add|e|\d+)$/u.test(word);
}
