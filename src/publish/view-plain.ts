/**
 * Text as a terminal shows it: without escape sequences (colours, titles, links) and overstruck
 * characters, which would otherwise stand in the middle of words.
 */

export interface PlainText {
  readonly bytes: Uint8Array;
  /** Where each byte is in the text as given; `null`: at the same place. */
  readonly at: Uint32Array | null;
}

const ESC = 0x1b;
const BEL = 0x07;
const BS = 0x08;
const LF = 0x0a;
const underscore = 0x5f;
const sequenceBytesMax = 4096;
/** Less than a gram says nothing. */
const carriedBytesMin = 24;

/**
 * What a sequence carries as text (a title, a link, the clipboard) is as public as the rest: it
 * follows at the end, on lines of its own.
 */
export function toPlainText(text: Uint8Array): PlainText {
  if (!text.includes(ESC) && !text.includes(BS)) return { bytes: text, at: null };
  const room = 2 * text.length + 1;
  const bytes = new Uint8Array(room);
  const at = new Uint32Array(room);
  let length = 0;
  const carried: (readonly [number, number])[] = [];
  const add = (place: number, byte = text[place] ?? 0): void => {
    bytes[length] = byte;
    at[length] = place;
    length += 1;
  };
  for (let from = 0; from < text.length;) {
    const byte = text[from] ?? 0;
    if (byte === ESC) {
      const end = sequenceEnd(text, from);
      if (end - from >= carriedBytesMin) carried.push([from + 2, end]);
      from = end;
    } else if (byte === BS) {
      if (isOverstruck(text, from)) length = Math.max(0, length - 1);
      from += 1;
    } else {
      add(from);
      from += 1;
    }
  }
  for (const [from, to] of carried) {
    add(from, LF);
    for (let place = from; place < to; place += 1) add(place);
  }
  return { bytes: bytes.subarray(0, length), at: at.subarray(0, length) };
}

/** Manuals print `_` or the character itself, go back, and print it; other text stays there. */
function isOverstruck(text: Uint8Array, at: number): boolean {
  const [before, after] = [text[at - 1], text[at + 1]];
  if (before === BS || after === BS) return false;
  return before === after || before === underscore || after === underscore;
}

/** The end of the escape sequence that begins at `from` (ECMA-48); at least one byte. */
function sequenceEnd(text: Uint8Array, from: number): number {
  const kind = text[from + 1] ?? 0;
  const limit = Math.min(text.length, from + sequenceBytesMax);
  // CSI: parameters and intermediates, then one final byte.
  if (kind === 0x5b) {
    for (let at = from + 2; at < limit; at += 1) {
      const byte = text[at] ?? 0;
      if (byte >= 0x40 && byte <= 0x7e) return at + 1;
      if (byte < 0x20 || byte > 0x7e) return at;
    }
    return limit;
  }
  // OSC, DCS, SOS, PM, APC: a string up to BEL or ST, of one line.
  if (kind === 0x5d || kind === 0x50 || kind === 0x58 || kind === 0x5e || kind === 0x5f) {
    for (let at = from + 2; at < limit; at += 1) {
      const byte = text[at] ?? 0;
      if (byte === BEL) return at + 1;
      if (byte === ESC) return text[at + 1] === 0x5c ? at + 2 : at;
      // Without an end it is no sequence: what follows must be looked at.
      if (byte === 0x0a) return from + 2;
    }
    return from + 2;
  }
  // Intermediates (as in `ESC ( B`) and a final byte.
  let at = from + 1;
  while (at < limit && (text[at] ?? 0) >= 0x20 && (text[at] ?? 0) <= 0x2f) at += 1;
  const final = text[at] ?? 0;
  return final >= 0x30 && final <= 0x7e ? at + 1 : Math.max(at, from + 1);
}
