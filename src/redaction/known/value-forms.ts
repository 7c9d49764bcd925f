/**
 * The forms in which a value is searched for. Escapes (`\x67`, `%67`, `&#103;`), case, separators,
 * line breaks and control sequences need no forms: the symbols that forms are compared with have
 * none of them.
 *
 * Not found, because nothing of the value is left to compare: encryption and XOR, every n-th
 * character, characters in any order but forwards or backwards, images, look-alikes from other
 * alphabets, and compression other than gzip, zlib or zstd directly in base64 or plain hexadecimal
 * digits. Not found, because too little is left: parts of a value with fewer than ten letters and
 * digits, and values of fewer than twelve bytes in dumps of words that begin or end in the middle
 * of one.
 */
import {
  encodeAsNumbers,
  encodeBase32,
  encodeBase32Hex,
  encodeBase64,
  encodeBase85Variants,
  uuencode,
} from '../../encodings/bases.ts';
import { reverseText, rotateLetters } from '../../encodings/text.ts';

export interface ValueForm {
  /** One character for each byte. */
  readonly text: string;
  /** How many symbols in a row identify the value. */
  readonly window: number;
  /** Symbols on either side that carry some bits of the value. */
  readonly pad: number;
  /** Whether it consists of the value's own characters, which can be words, and in which order. */
  readonly plain: 'forwards' | 'backwards' | null;
  /** The fewest symbols to search for if the form has no more. */
  readonly least: number;
}

/** The window of forms whose characters carry at least four bits. */
export const windowSymbols = 12;
/**
 * The window of forms whose characters carry at least five bits: most values, and base64. Only
 * values with fewer symbols have shorter windows.
 */
export const hashedSymbols = 10;
/** The fewest symbols to search for. */
export const symbolsMin = 6;
/** The same where there are many forms of a kind. */
const rotatedSymbolsMin = 8;
/** For digits that carry at most three bits, which occur in any list of numbers. */
const digitsWindow = 24;
const bitsWindow = 48;
/** For characters with their indices between them. */
const countedWindow = 20;
const digitsFactor = 1.7;
export const windowSymbolsMax = bitsWindow;

const numberBytesMax = 128;
/** Up to this length, all windows of a value are searched for; beyond, only some. */
export const everyWindowBytesMax = 512;
/** In how many forms long values are searched for, by the memory that they take. */
export type FormCoverage = 'full' | 'less';
const nestedBytesMax = { full: 1_024, less: 256 } as const satisfies Record<FormCoverage, number>;
const manyBytesMax = { full: 4_096, less: 512 } as const satisfies Record<FormCoverage, number>;

const form = (text: string, window = windowSymbols, pad = 0): ValueForm => ({
  text,
  window,
  pad,
  plain: null,
  least: windowSymbols,
});
const packed = (texts: readonly string[], pad = 1): ValueForm[] =>
  texts.map((text) => ({ ...form(text, hashedSymbols, pad), least: hashedSymbols }));
const written = (text: string, least = symbolsMin): ValueForm => ({
  ...form(text, writtenWindow(text)),
  least,
});

/**
 * Hexadecimal digits are frequent in output, and so are the first bytes of letters in one script.
 */
function writtenWindow(text: string): number {
  const beyond = text.match(/[^\p{ASCII}]/gu)?.length ?? 0;
  if (beyond * 4 > text.length) return digitsWindow;
  return onlyDigits(text) ? windowSymbols : hashedSymbols;
}

/** Every form of these bytes; fewer for longer values. */
export function makeValueForms(bytes: Buffer, coverage: FormCoverage): ValueForm[] {
  const forms = [...basicForms(bytes)];
  if (bytes.length <= manyBytesMax[coverage]) forms.push(...manyForms(bytes));
  if (bytes.length <= nestedBytesMax[coverage]) forms.push(...nestedForms(bytes));
  if (bytes.length <= everyWindowBytesMax) forms.push(...nearlyPlain(bytes));
  if (bytes.length <= numberBytesMax) {
    forms.push(...encodeAsNumbers(bytes).map((text) => form(text, digitsWindow)));
    forms.push(...[0, 1].map((first) => form(counted(bytes, first), countedWindow)));
    forms.push(...substituted(bytes));
  }
  const digits = onlyDigits(bytes.toString('latin1'));
  return digits ? forms.map(widened) : forms;
}

/** Whether a value consists of hexadecimal digits: each character carries at most four bits. */
const onlyDigits = (text: string): boolean => /^[0-9a-f\W_]*$/i.test(text);

/** With a window that carries as much of a value of digits as of any other. */
const widened = (found: ValueForm): ValueForm => ({
  ...found,
  window:
    found.plain === null
      ? Math.min(windowSymbolsMax, Math.ceil(found.window * digitsFactor))
      : found.window,
});

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
const reversed = (bytes: Buffer): Buffer => Buffer.from(bytes.toReversed());

function basicForms(bytes: Buffer): ValueForm[] {
  const plain = bytes.toString('latin1');
  return [
    { ...written(plain), plain: 'forwards' },
    { ...written(reverseText(plain)), plain: 'backwards' },
    form(bytes.toString('hex')),
    ...packed(encodeBase64(bytes)),
    ...(/[^\p{ASCII}]/u.test(plain) ? scripts(bytes.toString('utf8')) : []),
  ];
}

/** Letters beyond ASCII in other cases, order and composition. */
function scripts(value: string): ValueForm[] {
  const forms = [value.toUpperCase(), value.toLowerCase(), reverseText(value)];
  forms.push(value.normalize('NFD'), value.normalize('NFC'));
  return forms.map((text) => written(Buffer.from(text, 'utf8').toString('latin1')));
}

function manyForms(bytes: Buffer): ValueForm[] {
  const back = reversed(bytes);
  const plain = bytes.toString('latin1');
  const lower = plain.toLowerCase();
  return [
    written(rotateLetters(plain, 13)),
    form(back.toString('hex')),
    form(reverseText(bytes.toString('hex'))),
    ...words(bytes, 2, hexWord, 4),
    ...words(bytes, 4, hexWord, 8),
    form(
      each(bytes, (byte) => byte.toString(8).padStart(3, '0')),
      digitsWindow,
    ),
    ...words(bytes, 2, octalWord, 6).map((found) => ({ ...found, window: digitsWindow })),
    form(
      each(bytes, (byte) => String(byte)),
      digitsWindow,
    ),
    form(
      each(bytes, (byte) => String(byte).padStart(3, '0')),
      digitsWindow,
    ),
    form(
      each(bytes, (byte) => byte.toString(2).padStart(8, '0')),
      bitsWindow,
    ),
    ...packed(encodeBase32(bytes)),
    ...packed(encodeBase64(back)),
    ...packed(encodeBase64(bytes).map(reverseText)),
    ...utf16Forms(bytes),
    ...(lower === plain ? [] : packed(encodeBase64(latin1(lower)))),
    ...packed(encodeBase64(latin1(plain.toUpperCase()))),
  ];
}

/**
 * Forms that change only punctuation and letters beyond ASCII. Only for values with all windows: a
 * run that begins in one of these must be able to continue in another.
 */
function nearlyPlain(bytes: Buffer): ValueForm[] {
  const plain = bytes.toString('latin1');
  return [
    written(escapedForUrl(plain)),
    written(escapedForUrl(escapedForUrl(plain))),
    written(quotedPrintable(plain)),
    form(each(bytes, (byte) => (byte < 0x80 ? String.fromCharCode(byte) : octal(byte)))),
  ];
}

/** Forms of forms, and rare encodings. */
function nestedForms(bytes: Buffer): ValueForm[] {
  const plain = bytes.toString('latin1');
  const hex = bytes.toString('hex');
  const standard = encodeBase64(bytes);
  const forUrl = standard.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'));
  const once = [...new Set([...standard, ...forUrl])];
  return [
    ...once.flatMap((text) => packed(encodeBase64(latin1(text)), 3)),
    ...once.map((text) => form(latin1(text).toString('hex'), 16, 2)),
    ...packed(encodeBase64(latin1(hex))),
    ...packed(encodeBase64(latin1(hex.toUpperCase()))),
    ...packed(encodeBase64(latin1(rotateLetters(plain, 13)))),
    form(base64Thrice(bytes), 16),
    ...[rotateLetters(plain, 13), plain.toUpperCase(), plain.toLowerCase()].map((text) =>
      form(latin1(text).toString('hex')),
    ),
    ...packed(encodeBase64(base32Padded(bytes))),
    ...packed(encodeBase32Hex(bytes)),
    form(latin1(hex).toString('hex'), digitsWindow),
    form(
      each(bytes, (byte) => `u${byte.toString(16).padStart(4, '0')}`),
      digitsWindow,
    ),
    ...words(bytes, 8, hexWord, 16),
    ...words(bytes, 2, (word) => String(numberOf(word)), 4).map((found) => ({
      ...found,
      window: digitsWindow,
    })),
    ...packed(uuencode(bytes)),
    ...packed(encodeBase85Variants(bytes), 4),
  ];
}

function base64Thrice(bytes: Buffer): string {
  const twice = latin1(bytes.toString('base64')).toString('base64');
  return latin1(twice).toString('base64').slice(0, -8);
}

const base32Padded = (bytes: Buffer): Buffer => latin1(encodeBase32(bytes)[0] ?? '');

/** UTF-16: hexadecimal and base64 with `\0` between the letters, as in PowerShell's base64. */
function utf16Forms(bytes: Buffer): ValueForm[] {
  const wide = Buffer.from(bytes.toString('utf8'), 'utf16le');
  const big = Buffer.from(wide).swap16();
  return [
    form(wide.toString('hex'), digitsWindow),
    form(big.toString('hex'), digitsWindow),
    ...encodeBase64(wide).map((text) => form(text, 18, 1)),
  ];
}

/** Substituted letters: all rotations, the reversed alphabet, and rot47. */
function substituted(bytes: Buffer): ValueForm[] {
  const plain = bytes.toString('latin1');
  const forms = [
    written(atbash(plain)),
    written(rot47(plain)),
    written(rotateLetters(reverseText(plain), 13)),
  ];
  for (let by = 1; by < 26; by += 1) {
    if (by !== 13) forms.push(written(rotateLetters(plain, by), rotatedSymbolsMin));
  }
  return forms;
}

const mapped = (text: string, to: (code: number) => number): string =>
  String.fromCharCode(...Array.from(text, (letter) => to(letter.charCodeAt(0))));

const atbash = (text: string): string =>
  text.replaceAll(/[A-Za-z]/g, (letter) =>
    String.fromCharCode((letter <= 'Z' ? 0x9b : 0xdb) - letter.charCodeAt(0)),
  );

const rot47 = (text: string): string =>
  mapped(text, (code) => (code > 0x20 && code < 0x7f ? ((code - 33 + 47) % 94) + 33 : code));

const escapedForUrl = (text: string): string =>
  text.replaceAll(/[^A-Za-z0-9_.~-]/g, (letter) => `%${hexByte(letter.charCodeAt(0))}`);

const quotedPrintable = (text: string): string =>
  text.replaceAll(/[^!-<>-~ ]/g, (letter) => `=${hexByte(letter.charCodeAt(0))}`);

/** `0:a 1:b 2:c`, as lists of characters with their indices are printed. */
const counted = (bytes: Buffer, first: number): string =>
  Array.from(bytes, (byte, at) => `${at + first}${String.fromCharCode(byte)}`).join('');

const hexByte = (byte: number): string => byte.toString(16).padStart(2, '0');
const octal = (byte: number): string => byte.toString(8).padStart(3, '0');

function each(bytes: Buffer, write: (byte: number) => string): string {
  let text = '';
  for (const byte of bytes) text += write(byte);
  return text;
}

/** `word` has its bytes in the order of the text. */
const hexWord = (word: Buffer): string => reversed(word).toString('hex');
const octalWord = (word: Buffer): string => numberOf(word).toString(8).padStart(6, '0');
const numberOf = (word: Buffer): number => word.readUInt16LE(0);

/** Words of `size` bytes, the last byte first, for each possible start of a word. */
function words(
  bytes: Buffer,
  size: number,
  write: (word: Buffer) => string,
  pad: number,
): ValueForm[] {
  return Array.from({ length: size }, (_, start) => {
    let text = '';
    let at = start;
    for (; at + size <= bytes.length; at += size) text += write(bytes.subarray(at, at + size));
    // The last word is padded with zeros, or shorter.
    if (at < bytes.length && size !== 2) text += hexWord(bytes.subarray(at));
    return form(text, windowSymbols, pad);
  });
}
