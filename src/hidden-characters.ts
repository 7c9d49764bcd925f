/** Characters by which a text can look like another one. */

/**
 * Controls, format characters (what reorders text, joiners, tags), what is not assigned or private,
 * what is drawn as nothing, and spaces other than the plain one.
 */
const pattern = [
  String.raw`[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]`,
  String.raw`[\p{Default_Ignorable_Code_Point}\u2800]`,
  String.raw`(?! )\p{Zs}`,
].join('|');
const one = new RegExp(pattern, 'u');
const each = new RegExp(pattern, 'gu');

export const isHiddenCharacter = (character: string): boolean => one.test(character);

export function replaceHiddenCharacters(text: string, by: (character: string) => string): string {
  return text.replaceAll(each, by);
}

/** `\u{202E}`. */
export const unicodeEscape = (character: string): string =>
  `\\u{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`;
