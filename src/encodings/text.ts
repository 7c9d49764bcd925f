/** Ways to write the same text: wide characters, entities of HTML, letters in another order. */

/** One character for each byte. */
export function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

/** UTF-16, with or without its byte order mark, as UTF-8. */
export function utf16ToUtf8(bytes: Uint8Array, order: 'little' | 'big'): Uint8Array {
  const text = new TextDecoder(order === 'little' ? 'utf-16le' : 'utf-16be').decode(bytes);
  return Buffer.from(text, 'utf8');
}

/** Letters moved by so many places of the alphabet; by 13 it is rot13. */
export function rotateLetters(text: string, by: number): string {
  return text.replaceAll(/[A-Za-z]/g, (letter) => {
    const base = letter <= 'Z' ? 0x41 : 0x61;
    return String.fromCharCode(((letter.charCodeAt(0) - base + by) % 26) + base);
  });
}

export const reverseText = (text: string): string => Array.from(text).toReversed().join('');

/** The ASCII characters that HTML names; white space is a blank. */
export const namedEntities: ReadonlyMap<string, string> = new Map([
  ...(
    'lt:< gt:> amp:& quot:" apos:\' lpar:( rpar:) lcub:{ rcub:} lbrace:{ rbrace:} lsqb:[ rsqb:] ' +
    'lbrack:[ rbrack:] sol:/ bsol:\\ colon:: semi:; equals:= plus:+ num:# dollar:$ percnt:% ' +
    'ast:* excl:! quest:? commat:@ lowbar:_ grave:` vert:| verbar:| period:. comma:, Hat:^'
  )
    .split(' ')
    .map((pair) => [pair.slice(0, pair.indexOf(':')), pair.slice(pair.indexOf(':') + 1)] as const),
  ...['nbsp', 'Tab', 'NewLine'].map((name) => [name, ' '] as const),
]);
