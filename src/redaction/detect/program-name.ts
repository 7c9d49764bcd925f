/**
 * Names that programs give: `xmlSecKeyDataGetKlass`, `PKCS7PrivateKeyTypes`, `MAX_RETRY_COUNT`.
 * They are built of words; what is drawn at random turns from case to case every other character.
 */
import { wordiness } from './bigram.ts';

const nameMax = 80;
const name = /^[$_]{0,3}[A-Za-z]\w*$/u;
const path = /^(?:::)?[$_]{0,3}[A-Za-z]\w*(?:(?:\.|::|->|\?\.)#?[$_]{0,3}[A-Za-z]\w*)+[!?;]{0,2}$/u;
const between = /\?\.|\.|::|->/u;
const pieces = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/gu;
/** `win32api`, `py3k` */
const module = /^[a-z]{2,8}\d{0,2}[a-z]{0,4}$/u;
const vowel = /[aeiouy]/iu;
/** Mean letters between a name's turns; random ones of base 62 have about two. */
const lettersMin = 3.2;
/** The mean of pairs of 999 of 1,000 random tokens of base 62 lies below. */
const drawnBits = -1;
/** Fewer characters behind `_` are no key. */
const partMin = 10;
/** Of one word alone, or of one that is longer than most. */
const wordBits = 1;
const wordMax = 14;
/** The same of one case, which a turn cannot tell from words. */
const drawnBitsOfOneCase = 0;

/** Whether a text is one name that is built of words. */
export function isProgramName(value: string): boolean {
  if (value.length > nameMax || !name.test(value)) return false;
  if (wordiness(value, 0, value.length) <= drawnBits) return false;
  // A key behind words with `_`: `acme_prod_…`.
  const last = value.slice(value.lastIndexOf('_') + 1);
  return isWordy(value) && (last.length < partMin || last === value || isWordy(last));
}

function isWordy(value: string): boolean {
  const parts = value.match(pieces) ?? [];
  const words = parts.filter((part) => !isDigit(part));
  const digits = parts.filter(isDigit);
  const letters = lengthOf(words);
  if (digits.some((part) => part.length > 4) || lengthOf(digits) * 4 > letters) return false;
  if (digits.length > 1 + value.length / 12 || letters < lettersMin * words.length) return false;
  if (words.some((word) => word.length > wordMax && wordiness(word, 0, word.length) <= wordBits)) {
    return false;
  }
  const long = words.filter((word) => word.length > 2);
  const spoken = long.filter((word) => vowel.test(word));
  if (lengthOf(long) * 4 < letters * 3 || spoken.length * 2 < long.length) return false;
  const bits = wordiness(value, 0, value.length);
  if (words.length === 1 && bits <= wordBits) return false;
  return bits > (new Set(words.map(caseOf)).size > 1 ? drawnBits : drawnBitsOfOneCase);
}

/** `OSSL.Kind.AtToken`, `r.C0.ESC`, `self->passwd`: names with dots or arrows between. */
export function isProgramPath(value: string): boolean {
  if (value.length > 160 || !path.test(value)) return false;
  const names = value
    .replace(/[!?;]+$/u, '')
    .split(between)
    .filter((one) => one !== '');
  return names.every(
    (one) => one.length <= 4 || module.test(one) || isTitled(one) || isProgramName(one),
  );
}

const isTitled = (one: string): boolean =>
  /^(?:[A-Z][a-z]+){2,6}$/u.test(one) && wordiness(one, 0, one.length) > 0;

const isDigit = (part: string): boolean => /^\d/u.test(part);

const lengthOf = (parts: readonly string[]): number =>
  parts.reduce((sum, part) => sum + part.length, 0);

function caseOf(word: string): 'upper' | 'lower' | 'title' {
  if (/^[a-z]/u.test(word)) return 'lower';
  return word.length > 1 && /[a-z]$/u.test(word) ? 'title' : 'upper';
}
