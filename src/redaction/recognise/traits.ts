/** What a token is made of, in one pass: so that most are told apart without a pattern. */

export const HEX_LOWER = 1;
export const HEX_UPPER = 2;
export const OTHER_LOWER = 4;
export const OTHER_UPPER = 8;
export const DIGIT = 16;
export const DASH = 32;
export const UNDERSCORE = 64;
export const DOT = 128;
export const COLON = 256;
export const SLASH = 512;
export const PLUS = 1024;
export const EQUALS = 2048;
export const REST = 4096;

const kinds = new Uint16Array(256).fill(REST);
for (let code = 0x30; code <= 0x39; code += 1) kinds[code] = DIGIT;
for (let code = 0x61; code <= 0x7a; code += 1) {
  kinds[code] = code <= 0x66 ? HEX_LOWER : OTHER_LOWER;
  kinds[code - 0x20] = code <= 0x66 ? HEX_UPPER : OTHER_UPPER;
}
for (const [sign, kind] of [
  ['-', DASH],
  ['_', UNDERSCORE],
  ['.', DOT],
  [':', COLON],
  ['/', SLASH],
  ['+', PLUS],
  ['=', EQUALS],
] as const) {
  kinds[sign.charCodeAt(0)] = kind;
}

export interface Traits {
  /** The kinds that occur. */
  readonly kinds: number;
  readonly letters: number;
  readonly digits: number;
}

/** Of the first 256 characters. */
export function traitsOf(text: string, start: number, end: number): Traits {
  let [seen, letters, digits] = [0, 0, 0];
  const last = Math.min(end, start + 256);
  for (let at = start; at < last; at += 1) {
    const kind = kinds[text.charCodeAt(at) & 0xff] ?? REST;
    seen |= kind;
    if (kind < DIGIT) letters += 1;
    else if (kind === DIGIT) digits += 1;
  }
  return { kinds: seen, letters, digits };
}

/** Whether nothing but `allowed` occurs. */
export function only({ kinds: seen }: Traits, allowed: number): boolean {
  return (seen & ~allowed) === 0;
}
