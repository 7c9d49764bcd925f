/**
 * The forms that a value is looked for in. Not among them are escapes (`\x67`, `%67`, `&#103;`),
 * case, separators, line breaks and control sequences: all of those are gone from the symbols that
 * forms are compared with.
 *
 * Out of reach, because nothing of the value is left to compare with: encryption and XOR, every
 * n-th character, characters in another order than forwards or backwards, images, characters of
 * other alphabets that look alike, and compression that is not gzip, zlib or zstd right behind
 * base64 or plain hexadecimal digits. Out of reach, because too little is left: parts of a value
 * with fewer than ten letters and digits, and values of fewer than twelve bytes in dumps of words
 * that start or end in the middle of one.
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
  /** Characters of which each stands for one byte. */
  readonly text: string;
  /** How many symbols in a row are enough to know the value by. */
  readonly window: number;
  /** Symbols on either side that hold some bits of the value, too. */
  readonly pad: number;
  /** Whether the value's own characters stand there, which may be words: in which order. */
  readonly plain: 'forwards' | 'backwards' | null;
  /** How few symbols are looked for where they are all there is. */
  readonly least: number;
}

/** A window of any form whose characters hold four bits and more. */
export const windowSymbols = 12;
/**
 * The same where characters hold five bits and more: most values, and base64. No window is
 * shorter, but for values that have fewer symbols.
 */
export const hashedSymbols = 10;
/** Fewer symbols are never looked for. */
export const symbolsMin = 6;
/** The same where there are many forms of a kind. */
const rotatedSymbolsMin = 8;
/** For digits that hold three bits and less, which are found in any list of numbers. */
const digitsWindow = 24;
const bitsWindow = 48;
/** For characters with their numbers between them. */
const countedWindow = 20;
const digitsFactor = 1.7;
export const windowSymbolsMax = bitsWindow;

const numberBytesMax = 128;
/** Up to this length every window of a value is looked for, beyond it only some. */
export const everyWindowBytesMax = 512;
/** How many forms long values are looked for in: as many as there is memory for. */
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

/** Digits of base 16 are common in output, and so are the first bytes of letters of one script. */
function writtenWindow(text: string): number {
  const beyond = text.match(/[^\p{ASCII}]/gu)?.length ?? 0;
  if (beyond * 4 > text.length) return digitsWindow;
  return onlyDigits(text) ? windowSymbols : hashedSymbols;
}

/** Every form of a value of these bytes; fewer of them the longer it is. */
export function makeValueForms(bytes: Buffer, care: FormCoverage): ValueForm[] {
  const forms = [...basicForms(bytes)];
  if (bytes.length <= manyBytesMax[care]) forms.push(...manyForms(bytes));
  if (bytes.length <= nestedBytesMax[care]) forms.push(...nestedForms(bytes));
  if (bytes.length <= everyWindowBytesMax) forms.push(...nearlyPlain(bytes));
  if (bytes.length <= numberBytesMax) {
    forms.push(...encodeAsNumbers(bytes).map((text) => form(text, digitsWindow)));
    forms.push(...[0, 1].map((first) => form(counted(bytes, first), countedWindow)));
    forms.push(...substituted(bytes));
  }
  const digits = onlyDigits(bytes.toString('latin1'));
  return digits ? forms.map(widened) : forms;
}

/** Whether a value is written in digits of base 16: each character holds four bits at most. */
const onlyDigits = (text: string): boolean => /^[0-9a-f\W_]*$/i.test(text);

/** With a window that holds as much of a value of digits as of any other. */
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

/** What case, order and composition make of letters beyond ASCII. */
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
 * Where only punctuation and letters beyond ASCII are written in another way. Only where every
 * window is looked for: a run that starts in one of these must be able to go on in another.
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

/** Forms of forms, and encodings that are rare. */
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

/** As UTF-16: `\0` between the letters in hexadecimal and base64, and PowerShell's base64. */
function utf16Forms(bytes: Buffer): ValueForm[] {
  const wide = Buffer.from(bytes.toString('utf8'), 'utf16le');
  const big = Buffer.from(wide).swap16();
  return [
    form(wide.toString('hex'), digitsWindow),
    form(big.toString('hex'), digitsWindow),
    ...encodeBase64(wide).map((text) => form(text, 18, 1)),
  ];
}

/** Letters exchanged for others: all rotations, the alphabet backwards, and rot47. */
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

/** `0:a 1:b 2:c`, as lists of characters with their places are printed. */
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

/** Words of `size` bytes, the last byte first, for each place where a word may start. */
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
    // The last word of what ends here is filled with zeros, or shorter.
    if (at < bytes.length && size !== 2) text += hexWord(bytes.subarray(at));
    return form(text, windowSymbols, pad);
  });
}
