/**
 * Escapes that stand for one character: `\x67`, `\147`, `\u0067`, `\U00000067`, `\u{67}`, `%67`,
 * `%u0067`, `&#103;`, `&#x67;`, and those that stand for none of the symbols: `\n`, `&amp;`, `\\`.
 */

/** An escape cannot be told yet: its end has not come. */
export const escapeUnfinished = -1;
/** The longest escape: `&#x00000067;`. */
export const escapeBytesMax = 12;
const lengthShift = 21;

/** Bytes of the escape. */
export const escapeLength = (escape: number): number => escape >> lengthShift;
/** The character that it stands for; 0: one that is no symbol. */
export const escapeCode = (escape: number): number => escape & ((1 << lengthShift) - 1);

const escapeOf = (length: number, code: number): number =>
  (length << lengthShift) | (code >= 0 && code <= 0x10ffff ? code : 0);

/**
 * The escape that starts at `at`, as one number for {@link escapeLength} and {@link escapeCode};
 * 0: there is none; {@link escapeUnfinished}: what is there is too short to tell, unless `last`.
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

/** Whether an escape may start with this byte. */
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

/** Whether everything from `from` on may be hexadecimal digits of an escape. */
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

/** `%C3%A9`: one character. `%F5` alone is none: it may be the text itself. */
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
 * The offset after a control sequence, or -1: its end has not come. Only those that move and
 * colour are left out, with numbers and titles too short for a value: what else a title or a link
 * holds is text that leaves as any other.
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
    // No row or column has so many.
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
