/**
 * Two forms of a text.
 *
 * Plain: as a terminal shows it, without escape sequences (colours, titles, links) and overstruck
 * characters, which would otherwise split words.
 *
 * Normal: what survives re-indenting, re-wrapping and a formatter. White space and invisible
 * characters are removed, all quotes are one, letters are lower-case and of one width. Line ends,
 * and signs that filters use for spaces or around words, stay as marks that fingerprints and
 * comparisons ignore.
 */

export const lineEnd = 0x0a;
const quote = 0x22;
const drop = 0;
const special = 1;

/** Marks (1) for the characters that comparisons ignore. */
export const ignoredChars = new Uint8Array(256);
for (const char of '\n_-.+*~') ignoredChars[char.charCodeAt(0)] = 1;

/** Letters of other alphabets that look like ASCII ones (Unicode TR39), and small capitals. */
const lookalikes: ReadonlyMap<number, number> = new Map(
  [
    ['аАвВеЕкКмМнНоОрРсСтТхХуУіІјЈѕЅԁɡһҺԛԝѵ', 'aabbeekkmmhhooppccttxxyyiijjssdghhqwv'],
    ['αΑΒΕΖΗΙιΚκΜΝνΟοΡρΤτυΥΧχ', 'aabezhiikkmnvooppttuyxx'],
    ['ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ', 'abcdefghijklmnoprstuvwyz'],
  ].flatMap(([like = '', letters = '']) =>
    Array.from(like, (char, at): [number, number] => [
      char.codePointAt(0) ?? 0,
      letters.charCodeAt(at),
    ]),
  ),
);

const classes = new Uint8Array(256).map((_, byte) => classOf(byte));

function classOf(byte: number): number {
  if (byte === lineEnd) return lineEnd;
  if (byte <= 0x20 || byte === 0x7f) return drop;
  if (byte === 0x22 || byte === 0x27 || byte === 0x60) return quote;
  if (byte === 0xc2 || byte === 0xe2 || byte === 0xe3 || byte === 0xef) return special;
  if (byte === 0xf0 || byte === 0xf3 || byte === 0xe1 || byte === 0xea) return special;
  // U+0240..U+02BF, U+0300..U+057F: marks on letters, letters that look alike.
  if ((byte >= 0xc9 && byte <= 0xca) || (byte >= 0xcc && byte <= 0xd4)) return special;
  if (byte >= 0x41 && byte <= 0x5a) return byte + 32;
  return byte;
}

export class NormalText {
  chars = new Uint8Array(0);
  /** The position of each character in the original text. */
  at = new Uint32Array(0);
  length = 0;

  clear(bytes: number): void {
    this.length = 0;
    if (this.chars.length < bytes) {
      this.chars = new Uint8Array(bytes);
      this.at = new Uint32Array(bytes);
    }
  }

  /** Adds bytes `[from, to)` of `text`; `clear` made room for them. */
  add(text: Uint8Array, from: number, to: number): void {
    const { chars, at } = this;
    let length = this.length;
    for (let i = from; i < to; i += 1) {
      const byte = text[i] ?? 0;
      let char = classes[byte] ?? drop;
      if (char === drop) continue;
      if (char === special) {
        const bytes = invisible(text, i);
        if (bytes > 0) {
          i += bytes - 1;
          continue;
        }
        const other = compatible(text, i);
        if (other !== null) {
          char = classes[other.char] ?? drop;
          at[length] = i;
          i += other.bytes - 1;
          if (char === drop) continue;
          chars[length] = char;
          length += 1;
          continue;
        }
        char = byte;
      }
      chars[length] = char;
      at[length] = i;
      length += 1;
    }
    this.length = length;
  }
}

/** Bytes of the invisible character or blank at `at` in UTF-8; 0: there is none. */
function invisible(text: Uint8Array, at: number): number {
  const [a, b = 0, c = 0] = [text[at], text[at + 1], text[at + 2]];
  // No-break space and soft hyphen.
  if (a === 0xc2) return b === 0xa0 || b === 0xad ? 2 : 0;
  // U+0300..U+036F: accents on the letter before.
  if (a === 0xcc) return b >= 0x80 && b <= 0xbf ? 2 : 0;
  if (a === 0xcd) return b >= 0x80 && b <= 0xaf ? 2 : 0;
  if (a !== 0xe2 && a !== 0xe3 && a !== 0xef) return 0;
  // Byte order mark.
  if (a === 0xef) return b === 0xbb && c === 0xbf ? 3 : 0;
  // Ideographic space.
  if (a === 0xe3) return b === 0x80 && c === 0x80 ? 3 : 0;
  // U+2000..U+200F, U+2028..U+202F, U+205F..U+206F.
  if (b === 0x80) return (c >= 0x80 && c <= 0x8f) || (c >= 0xa8 && c <= 0xaf) ? 3 : 0;
  return b === 0x81 && c >= 0x9f && c <= 0xaf ? 3 : 0;
}

/**
 * The ASCII character that one looks like: a typographic quote, a letter of another width or font.
 */
function compatible(
  text: Uint8Array,
  at: number,
): { readonly char: number; readonly bytes: number } | null {
  const [a = 0, b = 0, c = 0, d = 0] = [text[at], text[at + 1], text[at + 2], text[at + 3]];
  // U+2018..U+201F.
  if (a === 0xe2) return b === 0x80 && c >= 0x98 && c <= 0x9f ? { char: quote, bytes: 3 } : null;
  // U+FF01..U+FF5E.
  if (a === 0xef && (b === 0xbc || b === 0xbd)) {
    const char = (b << 6) + c - 0xbc * 0x40 - 0x81 + 0x21;
    return char >= 0x21 && char <= 0x7e ? { char, bytes: 3 } : null;
  }
  const like =
    a < 0xe0 ? ((a & 31) << 6) | (b & 63) : ((a & 15) << 12) | ((b & 63) << 6) | (c & 63);
  const letter = a < 0xf0 ? lookalikes.get(like) : undefined;
  if (letter !== undefined) return { char: letter, bytes: a < 0xe0 ? 2 : 3 };
  // U+E0020..U+E007E: tags, which are never visible.
  if (a === 0xf3 && b === 0xa0 && (c === 0x80 || c === 0x81)) {
    const char = ((c & 1) << 6) | (d & 63);
    return char >= 0x20 && char <= 0x7e ? { char, bytes: 4 } : null;
  }
  // U+1D400..U+1D7FF: mathematical letters.
  if (a !== 0xf0 || b !== 0x9d || c < 0x90 || c > 0x9f) return null;
  const code = 0x1d000 + ((c & 0x3f) << 6) + (d & 0x3f);
  const char = String.fromCodePoint(code).normalize('NFKC').codePointAt(0) ?? 0;
  return char < 0x80 ? { char, bytes: 4 } : null;
}

/** The characters of a whole file, in a new array. */
export function normaliseText(text: Uint8Array, scratch: NormalText): Uint8Array {
  scratch.clear(text.length);
  scratch.add(text, 0, text.length);
  return scratch.chars.slice(0, scratch.length);
}

export interface PlainText {
  readonly bytes: Uint8Array;
  /** The position of each byte in the original text; `null`: all are unchanged. */
  readonly at: Uint32Array | null;
}

const ESC = 0x1b;
const BEL = 0x07;
const BS = 0x08;
const LF = 0x0a;
const underscore = 0x5f;
const sequenceBytesMax = 4096;
/** Text shorter than a gram cannot match. */
const carriedBytesMin = 24;

/**
 * The text within a sequence (a title, a link, the clipboard) leaves, too: it is appended, on lines
 * of its own.
 */
export function toPlainText(text: Uint8Array): PlainText {
  if (!text.includes(ESC) && !text.includes(BS)) return { bytes: text, at: null };
  const room = 2 * text.length + 1;
  const bytes = new Uint8Array(room);
  const at = new Uint32Array(room);
  let length = 0;
  const carriedTexts: (readonly [number, number])[] = [];
  const add = (position: number, byte = text[position] ?? 0): void => {
    bytes[length] = byte;
    at[length] = position;
    length += 1;
  };
  for (let from = 0; from < text.length;) {
    const byte = text[from] ?? 0;
    if (byte === ESC) {
      const end = sequenceEnd(text, from);
      if (end - from >= carriedBytesMin) carriedTexts.push([from + 2, end]);
      from = end;
    } else if (byte === BS) {
      if (isOverstruck(text, from)) length = Math.max(0, length - 1);
      from += 1;
    } else {
      add(from);
      from += 1;
    }
  }
  for (const [from, to] of carriedTexts) {
    add(from, LF);
    for (let position = from; position < to; position += 1) add(position);
  }
  return { bytes: bytes.subarray(0, length), at: at.subarray(0, length) };
}

/**
 * Manuals print `_` or the character itself, go back, and print the character; in other text
 * nothing is removed.
 */
function isOverstruck(text: Uint8Array, at: number): boolean {
  const [before, after] = [text[at - 1], text[at + 1]];
  if (before === BS || after === BS) return false;
  return before === after || before === underscore || after === underscore;
}

/** The end of the escape sequence that begins at `from` (ECMA-48), at least one byte later. */
function sequenceEnd(text: Uint8Array, from: number): number {
  const kind = text[from + 1] ?? 0;
  if (kind === 0x5b) return findCsiEnd(text, from, sequenceBytesMax);
  const limit = Math.min(text.length, from + sequenceBytesMax);
  // OSC, DCS, SOS, PM, APC: a string up to BEL or ST, on one line.
  if (kind === 0x5d || kind === 0x50 || kind === 0x58 || kind === 0x5e || kind === 0x5f) {
    for (let at = from + 2; at < limit; at += 1) {
      const byte = text[at] ?? 0;
      if (byte === BEL) return at + 1;
      if (byte === ESC) return text[at + 1] === 0x5c ? at + 2 : at;
      // Without an end it is no sequence, and the rest is text.
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

/**
 * The end of a control sequence (CSI of ECMA-48) that begins at `from`: parameters, then one byte
 * of `@` to `~`. It is cut off after `bytesMax`.
 */
export function findCsiEnd(text: Uint8Array, from: number, bytesMax: number): number {
  const limit = Math.min(text.length, from + bytesMax);
  for (let at = from + 2; at < limit; at += 1) {
    const byte = text[at] ?? 0;
    if (byte >= 0x40 && byte <= 0x7e) return at + 1;
    if (byte < 0x20 || byte > 0x7e) return at;
  }
  return limit;
}
