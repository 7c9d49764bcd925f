/** Classes of bytes, as bits in a table: one look-up instead of a chain of comparisons. */

export const UPPER = 1;
export const LOWER = 2;
export const DIGIT = 4;
/** Joins the parts of a name: `_ - .` */
export const JOINER = 8;
/** Space and tab. */
export const BLANK = 16;
/** `" ' `` ` */
export const QUOTE = 32;
/** Occurs in keys besides letters and digits: `_ - + / = ~`. */
export const TOKEN_SIGN = 64;
export const LETTER = UPPER | LOWER;
export const ALNUM = LETTER | DIGIT;
export const NAME = ALNUM | JOINER;
export const TOKEN = ALNUM | TOKEN_SIGN;

export const characterClasses: Uint8Array = new Uint8Array(256);
for (let code = 48; code <= 57; code++) characterClasses[code] = DIGIT;
for (let code = 65; code <= 90; code++) characterClasses[code] = UPPER;
for (let code = 97; code <= 122; code++) characterClasses[code] = LOWER;
for (const [signs, bit] of [
  ['_-.', JOINER],
  [' \t', BLANK],
  ['"\'`', QUOTE],
  ['_-+/=~', TOKEN_SIGN],
] as const) {
  for (const sign of signs) {
    const code = sign.charCodeAt(0);
    characterClasses[code] = (characterClasses[code] ?? 0) | bit;
  }
}

/** Whether the character at an offset is in one of the classes; false outside of the text. */
export function isCharacterOf(text: string, at: number, bits: number): boolean {
  // Reading outside of a text is slow, and slows down all later reads.
  if (at < 0 || at >= text.length) return false;
  return ((characterClasses[text.charCodeAt(at)] ?? 0) & bits) !== 0;
}

/** The first offset from `at` on, at most `end`, whose character is in none of the classes. */
export function skipCharactersOf(text: string, at: number, end: number, bits: number): number {
  let p = at;
  while (p < end && ((characterClasses[text.charCodeAt(p)] ?? 0) & bits) !== 0) p++;
  return p;
}
