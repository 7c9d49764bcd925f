/**
 * Parts of a text that are not its letters and digits.
 *
 * Escapes of one character: `\x67`, `\147`, `\u0067`, `\U00000067`, `\u{67}`, `%67`, `%u0067`,
 * `&#103;`, `&#x67;`, and of characters that are no symbol: `\n`, `&amp;`, `\\`. Control sequences
 * of terminals. Lines that begin with an offset or a number:
 *
 *     00000010: 5741 656d 6962 686f 6965 6f57 4c69 4162  WAemibhoieoWLiAb      xxd
 *     00000010  57 41 65 6d 69 62 68 6f  69 65 6f 57 4c 69 41 62  |WAemibho…|  hexdump -C
 *     0000020 040527 066545 061151 067550 062551 053557 064514 061101          od
 *          2	o1FsqJUH                                                           cat -n
 *
 * The symbols have neither the gutter nor the column that repeats the bytes as characters, so that
 * a value stays in one run over several lines. A line whose column differs from its bytes is no
 * dump: it is read as any text.
 */

/** The escape is incomplete, so it is undecided. */
export const escapeUnfinished = -1;
/** The longest escape: `&#x00000067;`. */
export const escapeBytesMax = 12;
const lengthShift = 21;

/** Bytes of the escape. */
export const escapeLength = (escape: number): number => escape >> lengthShift;
/** The character of the escape; 0: it is no symbol. */
export const escapeCode = (escape: number): number => escape & ((1 << lengthShift) - 1);

const escapeOf = (length: number, code: number): number =>
  (length << lengthShift) | (code >= 0 && code <= 0x10ffff ? code : 0);

/**
 * The escape at `at`, as one number for {@link escapeLength} and {@link escapeCode}; 0: there is
 * none; {@link escapeUnfinished}: it is too short to decide, never with `last`.
 */
export function escapeAt(bytes: Uint8Array, at: number, end: number, last: boolean): number {
  const more = last ? 0 : escapeUnfinished;
  switch (bytes[at] ?? 0) {
    case 0x5c:
      return backslash(bytes, at, end, more);
    case 0x25:
      return percent(bytes, at, end, more);
    case 0x26:
      return entity(bytes, at, end, more);
  }
  return 0;
}

/** Whether an escape can start with this byte. */
export const canBeginEscape = (byte: number): boolean =>
  byte === 0x5c || byte === 0x25 || byte === 0x26;

/** The value of a hexadecimal digit, or -1. */
export function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

function digits(bytes: Uint8Array, from: number, count: number): number {
  let value = 0;
  for (let at = from; at < from + count; at += 1) {
    const digit = hexDigit(bytes[at]);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

function fixed(bytes: Uint8Array, at: number, lead: number, count: number): number {
  const value = digits(bytes, at + lead, count);
  return value < 0 ? 0 : escapeOf(lead + count, value);
}

const backslashNames = new Set(Array.from('nrtabfve0', (name) => name.charCodeAt(0)));

function backslash(bytes: Uint8Array, at: number, end: number, more: number): number {
  if (at + 1 >= end) return more;
  const next = bytes[at + 1] ?? 0;
  const plain = escapeOf(1, 0);
  if (next === 0x78 || next === 0x75 || next === 0x55) {
    if (at + 2 < end && bytes[at + 2] === 0x7b) return braced(bytes, at, end, more) || plain;
    const count = next === 0x78 ? 2 : next === 0x75 ? 4 : 8;
    if (at + 2 + count > end && more !== 0) return hexTo(bytes, at + 2, end) ? more : plain;
    return (at + 2 + count <= end && fixed(bytes, at, 2, count)) || plain;
  }
  if (next >= 0x30 && next <= 0x37) {
    if (at + 4 > end && more !== 0) return more;
    let value = 0;
    for (let place = at + 1; place < at + 4; place += 1) {
      const digit = (place < end ? (bytes[place] ?? 0) : 0) - 0x30;
      if (digit < 0 || digit > 7) return next === 0x30 ? escapeOf(2, 0) : plain;
      value = value * 8 + digit;
    }
    return escapeOf(4, value & 0xff);
  }
  return backslashNames.has(next) ? escapeOf(2, 0) : plain;
}

/** Whether everything from `from` on can be hexadecimal digits of an escape. */
function hexTo(bytes: Uint8Array, from: number, end: number): boolean {
  for (let at = from; at < end; at += 1) if (hexDigit(bytes[at]) < 0) return false;
  return true;
}

/** `\u{67}` */
function braced(bytes: Uint8Array, at: number, end: number, more: number): number {
  for (let place = at + 3; place < at + escapeBytesMax; place += 1) {
    if (place >= end) return more;
    if (bytes[place] === 0x7d) {
      const value = digits(bytes, at + 3, place - at - 3);
      return value < 0 ? 0 : escapeOf(place + 1 - at, value);
    }
    if (hexDigit(bytes[place]) < 0) return 0;
  }
  return 0;
}

function percent(bytes: Uint8Array, at: number, end: number, more: number): number {
  if (at + 1 >= end) return more;
  const next = bytes[at + 1];
  if (next === 0x75) {
    if (at + 6 > end) return more !== 0 && hexTo(bytes, at + 2, end) ? more : 0;
    return fixed(bytes, at, 2, 4);
  }
  if (hexDigit(next) < 0) return 0;
  if (at + 3 > end) return more;
  const first = digits(bytes, at + 1, 2);
  return first < 0x80 ? fixed(bytes, at, 1, 2) : percentUtf8(bytes, at, { first, end, more });
}

/** `%C3%A9`: one character. `%F5` alone is none: it can be the text itself. */
function percentUtf8(
  bytes: Uint8Array,
  at: number,
  { first, end, more }: { readonly first: number; readonly end: number; readonly more: number },
): number {
  if (first < 0xc2 || first > 0xf4) return 0;
  const count = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  let code = first & (0x7f >> count);
  for (let place = at + 3; place < at + 3 * count; place += 3) {
    if (place < end && bytes[place] !== 0x25) return 0;
    if (place + 3 > end) return more;
    const next = digits(bytes, place + 1, 2);
    if (next >> 6 !== 2) return 0;
    code = (code << 6) | (next & 0x3f);
  }
  return escapeOf(3 * count, code);
}

const named = ['amp', 'lt', 'gt', 'quot', 'apos', 'nbsp', 'sol', 'equals', 'plus', 'num', 'excl'];
const entityNames = new Set([...named, 'dollar', 'percnt', 'colon', 'semi', 'commat', 'lowbar']);

function entity(bytes: Uint8Array, at: number, end: number, more: number): number {
  let name = '';
  for (let place = at + 1; place < at + escapeBytesMax; place += 1) {
    if (place >= end) return more;
    const byte = bytes[place] ?? 0;
    if (byte === 0x3b) return entityOf(name, place + 1 - at);
    const inside = (byte === 0x23 && name === '') || hexDigit(byte) >= 0 || (byte | 0x20) > 0x60;
    if (!inside || byte > 0x7a) return 0;
    name += String.fromCharCode(byte);
  }
  return 0;
}

function entityOf(name: string, length: number): number {
  if (/^#x[0-9a-f]{1,8}$/i.test(name)) {
    return escapeOf(length, Number.parseInt(name.slice(2), 16));
  }
  if (/^#[0-9]{1,8}$/.test(name)) return escapeOf(length, Number(name.slice(1)));
  return entityNames.has(name.toLowerCase()) ? escapeOf(length, 0) : 0;
}

const controlBytesMax = 64;
const controlDigitsMax = 5;
const titleBytesMax = 40;
const titleLettersMax = 5;
/** Sequences of two bytes that move and save the cursor: `ESC 7`, `ESC M`. */
const cursorFinals = new Set(Buffer.from('78=>DEHMc'));

/**
 * The offset after a control sequence, or -1: it is incomplete. Only sequences that move and colour
 * are left out, and titles and numbers too short for a value: longer titles and links are text like
 * any other.
 */
export function controlSequenceEnd(
  bytes: Uint8Array,
  at: number,
  end: number,
  last: boolean,
): number {
  if (at + 1 >= end) return last ? at + 1 : -1;
  if (bytes[at + 1] === 0x28 || bytes[at + 1] === 0x29) {
    return at + 3 <= end ? at + 3 : last ? end : -1;
  }
  if (bytes[at + 1] === 0x5d) return titleEnd(bytes, at, end, last);
  if (cursorFinals.has(bytes[at + 1] ?? 0)) return at + 2;
  if (bytes[at + 1] !== 0x5b) return at + 1;
  let digitsHere = 0;
  for (let place = at + 2; place < at + controlBytesMax; place += 1) {
    if (place >= end) return last ? end : -1;
    const byte = bytes[place] ?? 0;
    if (byte >= 0x40 && byte <= 0x7e) return place + 1;
    if (byte < 0x20 || byte > 0x3f) return at + 1;
    digitsHere = hexDigit(byte) < 0 ? 0 : digitsHere + 1;
    // No row or column has so many digits.
    if (digitsHere > controlDigitsMax) return at + 1;
  }
  return at + 1;
}

/** `ESC ] 0 ; t BEL`, or with `ESC \` at its end. */
function titleEnd(bytes: Uint8Array, at: number, end: number, last: boolean): number {
  let letters = 0;
  for (let place = at + 2; place < at + titleBytesMax; place += 1) {
    if (place >= end) return last ? at + 1 : -1;
    const byte = bytes[place] ?? 0;
    if (byte === 0x07) return place + 1;
    if (byte === 0x1b) {
      if (place + 1 >= end) return last ? at + 1 : -1;
      return bytes[place + 1] === 0x5c ? place + 2 : at + 1;
    }
    if (byte < 0x20) return at + 1;
    if (isLetterOrDigit(byte) && ++letters > titleLettersMax) return at + 1;
  }
  return at + 1;
}

const isLetterOrDigit = (byte: number): boolean =>
  (byte >= 0x30 && byte <= 0x39) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a) || byte > 0x7f;

/** The part of a line that is data. */
export interface DumpLine {
  /** Offset of the first byte after the gutter. */
  readonly data: number;
  /** Offset after the last digit of the data; `null`: only a gutter precedes ordinary text. */
  readonly digitsEnd: number | null;
  /** Offset of the line feed, or of the end of the bytes. */
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
 * The line at `at`; `null`: it has no gutter; `'more'`: it is too short to decide, never with
 * `last`.
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
    // A line number: `12:`, but not `67:68:70`, or with a tab after it.
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

/** Whether these digits look like an offset: they begin with a zero, or a colon follows. */
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
  // Without a colon, equally wide groups are a dump without offsets.
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
  // `0010 20 apples` is text; after few digits, more than one group must follow.
  if (columns < (width < 6 ? 2 : 1)) return null;
  const text = (from: number, to: number): string =>
    Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('latin1');
  return repeats(text(digitsEnd, end), text(data, digitsEnd)) ? { data, digitsEnd, end } : null;
}

/** Whether every letter and digit in the column equals the byte that its digits say. */
function repeats(column: string, digits: string): boolean {
  const shown = column.replace(/^[ \t]*[|>]?/, '').replace(/[|<]?\s*$/, '');
  if (!/[\p{L}\p{N}]/u.test(shown)) return true;
  return readings(digits.trim().split(/[ \t]+/)).some((wanted) =>
    Array.from(shown).every(
      (sign, at) => !/[\p{L}\p{N}]/u.test(sign) || sign.charCodeAt(0) === wanted[at],
    ),
  );
}

/** The bytes that groups of digits can mean. */
function readings(groups: readonly string[]): readonly Uint8Array[] {
  const all = (form: RegExp): boolean => groups.every((group) => form.test(group));
  const found: Uint8Array[] = [];
  if (all(/^(?:..)+$/)) {
    const said = groups.map((group) => Buffer.from(group, 'hex'));
    // `xxd -e` and `od -t x2z` print words with the last byte first.
    found.push(Buffer.concat(said));
    found.push(Buffer.concat(said.map((group) => Uint8Array.from(group).toReversed())));
  }
  for (const [form, base] of [
    [/^[01]{8}$/, 2],
    [/^[0-3][0-7]{2}$/, 8],
  ] as const) {
    if (all(form)) found.push(Uint8Array.from(groups, (group) => Number.parseInt(group, base)));
  }
  // Blanks of the column look like those before it.
  const blanks = (bytes: Uint8Array): number => bytes.findIndex((byte) => byte !== space);
  return [...found, ...found.map((bytes) => bytes.subarray(Math.max(0, blanks(bytes))))];
}

/** How many hexadecimal digits begin here, followed by a blank or the end. */
function group(bytes: Uint8Array, from: number, end: number): number {
  let place = from;
  while (place < end && hexDigit(bytes[place]) >= 0) place += 1;
  return place >= end || blank(bytes[place]) || bytes[place] === 0x0d ? place - from : 0;
}
