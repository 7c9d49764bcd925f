/** The kinds of characters in a token, in one pass, so that most tokens need no pattern. */

export const KIND_HEX_LOWER = 1;
export const KIND_HEX_UPPER = 2;
export const KIND_OTHER_LOWER = 4;
export const KIND_OTHER_UPPER = 8;
export const KIND_DIGIT = 16;
export const KIND_DASH = 32;
export const KIND_UNDERSCORE = 64;
export const KIND_DOT = 128;
export const KIND_COLON = 256;
export const KIND_SLASH = 512;
export const KIND_PLUS = 1024;
export const KIND_EQUALS = 2048;
export const KIND_REST = 4096;

const kinds = new Uint16Array(256).fill(KIND_REST);
for (let code = 0x30; code <= 0x39; code += 1) kinds[code] = KIND_DIGIT;
for (let code = 0x61; code <= 0x7a; code += 1) {
  kinds[code] = code <= 0x66 ? KIND_HEX_LOWER : KIND_OTHER_LOWER;
  kinds[code - 0x20] = code <= 0x66 ? KIND_HEX_UPPER : KIND_OTHER_UPPER;
}
for (const [sign, kind] of [
  ['-', KIND_DASH],
  ['_', KIND_UNDERSCORE],
  ['.', KIND_DOT],
  [':', KIND_COLON],
  ['/', KIND_SLASH],
  ['+', KIND_PLUS],
  ['=', KIND_EQUALS],
] as const) {
  kinds[sign.charCodeAt(0)] = kind;
}

export interface TokenTraits {
  /** The kinds that occur. */
  readonly kinds: number;
  readonly letters: number;
  readonly digits: number;
}

/** Of the first 256 characters. */
export function measureTokenTraits(text: string, start: number, end: number): TokenTraits {
  let [seen, letters, digits] = [0, 0, 0];
  const last = Math.min(end, start + 256);
  for (let at = start; at < last; at += 1) {
    const kind = kinds[text.charCodeAt(at) & 0xff] ?? KIND_REST;
    seen |= kind;
    if (kind < KIND_DIGIT) letters += 1;
    else if (kind === KIND_DIGIT) digits += 1;
  }
  return { kinds: seen, letters, digits };
}

/** Whether only `allowed` kinds occur. */
export function hasOnlyKinds({ kinds: seen }: TokenTraits, allowed: number): boolean {
  return (seen & ~allowed) === 0;
}
