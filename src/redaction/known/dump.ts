/**
 * Lines that start with an offset or a number, as hex dumps, `cat -n` and `grep -n` print them:
 *
 *     00000010: 5741 656d 6962 686f 6965 6f57 4c69 4162  WAemibhoieoWLiAb      xxd
 *     00000010  57 41 65 6d 69 62 68 6f  69 65 6f 57 4c 69 41 62  |WAemibho…|  hexdump -C
 *     0000020 040527 066545 061151 067550 062551 053557 064514 061101          od
 *          2	o1FsqJUH                                                           cat -n
 *
 * The gutter, and the column that repeats the bytes as characters, are left out of the symbols, so
 * that what goes on from line to line stays in one piece.
 */
import { hexDigit } from './escapes.ts';

/** Which part of a line is data. */
export interface DumpLine {
  /** Offset of the first byte after the gutter. */
  readonly data: number;
  /** Offset after the last digit of the data; `null`: only a gutter, what follows is any text. */
  readonly digitsEnd: number | null;
  /** Offset of the line feed, or of the end of what there is. */
  readonly end: number;
}

/** A longer line is no dump. */
export const dumpLineBytesMax = 512;
const gutterDigitsMax = 16;
const gutterBlanksMax = 24;
const space = 0x20;
const tab = 0x09;
const lineFeed = 0x0a;
const colon = 0x3a;

/**
 * The line that starts at `at`; `null`: it has no gutter; `'more'`: its end is needed to tell and
 * has not come, which is never answered when `last`.
 */
export function dumpLine(
  bytes: Uint8Array,
  at: number,
  end: number,
  last: boolean,
): DumpLine | null | 'more' {
  let place = at;
  while (place < end && place < at + gutterBlanksMax && blank(bytes[place])) place += 1;
  const from = place;
  let decimal = true;
  while (place < end && place <= from + gutterDigitsMax && hexDigit(bytes[place]) >= 0) {
    if ((bytes[place] ?? 0) > 0x39) decimal = false;
    place += 1;
  }
  if (place >= end) return last || place - at > dumpLineBytesMax ? null : 'more';
  const count = place - from;
  if (count === 0 || count > gutterDigitsMax) return null;
  const next = bytes[place];
  if (next !== colon && !blank(next)) return null;
  const offset = count >= 4 && lookAhead(bytes, from, place);
  if (!offset) {
    // A line number: `12:`, but not `67:68:70`, or with a tab behind it.
    if (next === colon && place + 4 > end && !last) return 'more';
    const list = bytes[place + 3] === colon && hexDigit(bytes[place + 1]) >= 0;
    const numbered = decimal && count <= 7 && (next === tab || (next === colon && !list));
    return numbered ? { data: place + 1, digitsEnd: null, end: place + 1 } : null;
  }
  const lineEnd = endOfLine(bytes, place, end);
  if (lineEnd === end && !last && lineEnd - at <= dumpLineBytesMax) return 'more';
  return parse(bytes, place, lineEnd, count);
}

const blank = (byte: number | undefined): boolean => byte === space || byte === tab;

/** Whether these digits look like an offset: they start with a zero, or a colon follows. */
function lookAhead(bytes: Uint8Array, from: number, gutterEnd: number): boolean {
  return bytes[from] === 0x30 || bytes[gutterEnd] === colon || gutterEnd - from >= 6;
}

function endOfLine(bytes: Uint8Array, from: number, end: number): number {
  const found = bytes.subarray(from, Math.min(end, from + dumpLineBytesMax)).indexOf(lineFeed);
  return found < 0 ? end : from + found;
}

function parse(bytes: Uint8Array, gutterEnd: number, end: number, width: number): DumpLine | null {
  const withColon = bytes[gutterEnd] === colon;
  const data = withColon ? gutterEnd + 1 : gutterEnd;
  let place = data;
  while (place < end && blank(bytes[place])) place += 1;
  const first = group(bytes, place, end);
  const zero = bytes[gutterEnd - width] === 0x30;
  // Without a colon, groups as wide as the first one are a dump that prints no offsets.
  if (first < 2 || (!withColon && first === width)) {
    return zero && width >= 6 && first !== width ? { data, digitsEnd: null, end: data } : null;
  }
  let digitsEnd = place;
  let columns = 0;
  while (place < end) {
    const digits = group(bytes, place, end);
    // Characters that happen to be digits.
    const apart = place - digitsEnd > 1 && digits > 3 && digits !== first;
    if (digits === 0 || apart) break;
    columns += 1;
    place += digits;
    digitsEnd = place;
    const gap = place;
    while (place < end && blank(bytes[place])) place += 1;
    if (withColon && place - gap > 1) break;
  }
  // `0010 20 apples` is text; so few digits need more than one group behind them.
  return columns < (width < 6 ? 2 : 1) ? null : { data, digitsEnd, end };
}

/** How many hexadecimal digits start here and are followed by a blank or the end. */
function group(bytes: Uint8Array, from: number, end: number): number {
  let place = from;
  while (place < end && hexDigit(bytes[place]) >= 0) place += 1;
  return place >= end || blank(bytes[place]) || bytes[place] === 0x0d ? place - from : 0;
}
