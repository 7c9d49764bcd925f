/**
 * Lines that start with an offset or a number, as hex dumps, `cat -n` and `grep -n` print them:
 *
 *     00000010: 5741 656d 6962 686f 6965 6f57 4c69 4162  WAemibhoieoWLiAb      xxd
 *     00000010  57 41 65 6d 69 62 68 6f  69 65 6f 57 4c 69 41 62  |WAemibho…|  hexdump -C
 *     0000020 040527 066545 061151 067550 062551 053557 064514 061101          od
 *          2	o1FsqJUH                                                           cat -n
 *
 * The gutter, and the column that repeats the bytes as characters, are left out of the symbols, so
 * that what goes on from line to line stays in one piece. A line whose column says anything else
 * is no dump: what it says is read as any text.
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
  const feed = bytes.subarray(place, Math.min(end, at + dumpLineBytesMax + 1)).indexOf(lineFeed);
  if (feed < 0 && end - at > dumpLineBytesMax) return null;
  if (feed < 0 && !last) return 'more';
  return parse(bytes, place, feed < 0 ? end : place + feed, count);
}

const blank = (byte: number | undefined): boolean => byte === space || byte === tab;

/** Whether these digits look like an offset: they start with a zero, or a colon follows. */
function lookAhead(bytes: Uint8Array, from: number, gutterEnd: number): boolean {
  return bytes[from] === 0x30 || bytes[gutterEnd] === colon || gutterEnd - from >= 6;
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
  if (columns < (width < 6 ? 2 : 1)) return null;
  const text = (from: number, to: number): string =>
    Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('latin1');
  return repeats(text(digitsEnd, end), text(data, digitsEnd)) ? { data, digitsEnd, end } : null;
}

/** Whether no letter or digit of a line's end is another than the one that its digits say. */
function repeats(column: string, digits: string): boolean {
  const shown = column.replace(/^[ \t]*[|>]?/, '').replace(/[|<]?\s*$/, '');
  if (!/[\p{L}\p{N}]/u.test(shown)) return true;
  return readings(digits.trim().split(/[ \t]+/)).some((wanted) =>
    Array.from(shown).every(
      (sign, at) => !/[\p{L}\p{N}]/u.test(sign) || sign.charCodeAt(0) === wanted[at],
    ),
  );
}

/** The bytes that groups of digits may say. */
function readings(groups: readonly string[]): readonly Uint8Array[] {
  const all = (form: RegExp): boolean => groups.every((group) => form.test(group));
  const found: Uint8Array[] = [];
  if (all(/^(?:..)+$/)) {
    const said = groups.map((group) => Buffer.from(group, 'hex'));
    // `xxd -e`, and `od -t x2z`, show words whose last byte is the first.
    found.push(Buffer.concat(said));
    found.push(Buffer.concat(said.map((group) => Uint8Array.from(group).toReversed())));
  }
  for (const [form, base] of [
    [/^[01]{8}$/, 2],
    [/^[0-3][0-7]{2}$/, 8],
  ] as const) {
    if (all(form)) found.push(Uint8Array.from(groups, (group) => Number.parseInt(group, base)));
  }
  // Blanks of the column cannot be told from those before it.
  const blanks = (bytes: Uint8Array): number => bytes.findIndex((byte) => byte !== space);
  return [...found, ...found.map((bytes) => bytes.subarray(Math.max(0, blanks(bytes))))];
}

/** How many hexadecimal digits start here and are followed by a blank or the end. */
function group(bytes: Uint8Array, from: number, end: number): number {
  let place = from;
  while (place < end && hexDigit(bytes[place]) >= 0) place += 1;
  return place >= end || blank(bytes[place]) || bytes[place] === 0x0d ? place - from : 0;
}
