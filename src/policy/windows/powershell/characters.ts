/** The characters that PowerShell reads alike: curly quotes, dashes and blanks of all kinds. */

export const isSingleQuote = (letter: string): boolean => "'‘’‚‛".includes(letter) && letter !== '';
export const isDoubleQuote = (letter: string): boolean => '"“”„'.includes(letter) && letter !== '';
export const isNewline = (letter: string): boolean => letter === '\n' || letter === '\r';
export const isBlank = (letter: string): boolean =>
  letter === ' ' || letter === '\t' || (!isNewline(letter) && /^[\s\u{85}]$/u.test(letter));

const escapes = new Map([
  ['0', '\0'],
  ['a', '\x07'],
  ['b', '\b'],
  ['e', '\x1b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['v', '\v'],
]);

/** What a backtick and the letter after it stand for. */
export const decodeBacktickEscape = (letter: string): string => escapes.get(letter) ?? letter;
