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
const sequenceBytesMax = 4096;

export function plainText(text: Uint8Array): PlainText {
  if (!text.includes(ESC) && !text.includes(BS)) return { bytes: text, at: null };
  const bytes = new Uint8Array(text.length);
  const at = new Uint32Array(text.length);
  let length = 0;
  for (let from = 0; from < text.length;) {
    const byte = text[from] ?? 0;
    if (byte === ESC) {
      from = sequenceEnd(text, from);
    } else if (byte === BS) {
      // Manuals print `_` or the character itself, go back, and print the character.
      length = Math.max(0, length - 1);
      from += 1;
    } else {
      bytes[length] = byte;
      at[length] = from;
      length += 1;
      from += 1;
    }
  }
  return { bytes: bytes.subarray(0, length), at: at.subarray(0, length) };
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
