/** Decides whether the value that belongs to a name is a secret, and reports it. */
import { wordiness } from './bigram.ts';
import { ALNUM, BLANK, DIGIT, NAME, QUOTE, isCharacterOf } from './characters.ts';
import { isResourceName } from './expression.ts';
import {
  makeFinding,
  segmentLooksMax,
  type ReportFinding,
  type LineSegment,
} from './line-segment.ts';
import type { NameClass } from './name-class.ts';
import { mixesLettersAndDigits, valuePlausibility, type ValueContext } from './plausibility.ts';
import { readValueToQuote, readValue, type ValueSpan } from './values.ts';

export interface NameInText {
  /** Without leading dashes. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly class: NameClass;
  /** It is a flag: `--name`, `-name`. */
  readonly flag: boolean;
}

/**
 * The result for a name. `open`: the value is expected on the next lines. `label`: it can label a
 * later value.
 */
export type NameOutcome = 'found' | 'none' | 'open' | 'label';

export interface ValueTarget {
  readonly at: number;
  readonly context: ValueContext;
  readonly rule: string;
}

export function judgeNamedValue(
  segment: LineSegment,
  name: NameInText,
  aim: ValueTarget,
  report: ReportFinding,
): NameOutcome {
  const value = readValue(
    segment.text,
    aim.at,
    segment.end,
    aim.context === 'shell' ? 'assignment' : 'field',
  );
  if (value === null) return 'none';
  return judgeFoundValue(segment, name, { ...aim, value }, report);
}

export function judgeFoundValue(
  { text, spent }: LineSegment,
  name: NameInText,
  { value, context, rule }: Omit<ValueTarget, 'at'> & { readonly value: ValueSpan },
  report: ReportFinding,
): NameOutcome {
  const canBeSecret = name.class === 'password' || !refersTo(text, name, value);
  const score = canBeSecret
    ? valuePlausibility(text, value, name.class, value.quoted ? 'data' : context)
    : 0;
  if (score === 0) {
    if (value.end - value.start > 200 && ++spent.looks > segmentLooksMax) spent.until = value.end;
    return 'none';
  }
  spent.until = value.end;
  report(makeFinding([value.start, value.end], rule, score, name.text));
  return 'found';
}

/** Whether the value names the object that contains the secret. */
function refersTo(text: string, name: NameInText, { start, end, quoted }: ValueSpan): boolean {
  // `--secret-id prod/db`: the place of a secret in a store.
  if (/secret[._-]?id$/iu.test(name.text)) {
    const value = text.slice(start, Math.min(end, start + 128));
    const words = /secret|password|cred|token|prod|staging|database/iu.test(value);
    return words || (wordiness(text, start, end) > 0.2 && !/^[\da-f-]+$/iu.test(value));
  }
  const mapped =
    !quoted && text.charAt(name.end) === ':' && isCharacterOf(text, name.end + 1, BLANK);
  return isResourceName(text.slice(start, Math.min(end, start + 128)), name.text, mapped);
}

/** To the quote that began before the name, or to the end of the field. */
export function readToQuoteEnd(
  { text, end }: LineSegment,
  at: number,
  quote: string,
): ValueSpan | null {
  const inside = /["'`]/u.test(quote) ? readValueToQuote(text, at, end, quote) : null;
  return inside ?? readValue(text, at, end, 'field');
}

/** Letters with digits or signs, unlike words. */
export function hasMixedCharacters(text: string, { start, end }: ValueSpan): boolean {
  if (mixesLettersAndDigits(text, start, end)) {
    let digits = 0;
    for (let at = start; at < end; at++) if (isCharacterOf(text, at, DIGIT)) digits++;
    return end - start > 5 && (digits * 3 > end - start || wordiness(text, start, end) < 1);
  }
  for (let at = start + 1; at < end - 1; at++) {
    if (text.charCodeAt(at) < 128 && !isCharacterOf(text, at, NAME)) return true;
  }
  return false;
}

/** Whether only blanks, a gutter, a mark of a diff or a word such as `export` precede it. */
export function isAtLineStart({ text, start }: LineSegment, { start: at }: NameInText): boolean {
  let p = at;
  while (
    p > start &&
    (isCharacterOf(text, p - 1, BLANK | QUOTE) || '+-></#*'.includes(text.charAt(p - 1)))
  ) {
    p--;
  }
  if (p === start) return true;
  if (text.charAt(p - 1) === ':') return at - start < 200 && !/[=,{]/u.test(text.slice(start, p));
  let from = p;
  while (from > start && isCharacterOf(text, from - 1, ALNUM)) from--;
  const word = text.slice(from, p).toLowerCase();
  if (word === 'var' && text.charAt(from - 1) === '-') return true;
  return /^(?:export|set|setenv|declare|x|env|arg|local|readonly|typeset|add|e|\d+)$/u.test(word);
}
