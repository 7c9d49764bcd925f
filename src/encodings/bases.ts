/**
 * Encodings that pack bytes into other characters.
 *
 * Each encoder returns one text for every position that the first byte can have in a group of the
 * encoding: the characters that depend on these bytes alone, which are the same wherever the bytes
 * are in something longer.
 */
const base32Alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const base32HexAlphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUV';
const base64Alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const uuAlphabet = Array.from({ length: 64 }, (_, value) =>
  String.fromCharCode(value === 0 ? 0x60 : 0x20 + value),
).join('');
const base58Alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const z85Alphabet =
  '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#';
const base85Alphabet =
  '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~';
const ascii85Alphabet = Array.from({ length: 85 }, (_, value) =>
  String.fromCharCode(0x21 + value),
).join('');

export const encodeBase32 = (bytes: Uint8Array): string[] => aligned(bytes, 5, base32Alphabet);
export const encodeBase32Hex = (bytes: Uint8Array): string[] =>
  aligned(bytes, 5, base32HexAlphabet);
export const encodeBase64 = (bytes: Uint8Array): string[] => aligned(bytes, 6, base64Alphabet);
export const uuencode = (bytes: Uint8Array): string[] => aligned(bytes, 6, uuAlphabet);
export const encodeBase85Variants = (bytes: Uint8Array): string[] =>
  [ascii85Alphabet, base85Alphabet, z85Alphabet].flatMap((alphabet) =>
    encodeGroups85(bytes, alphabet),
  );

/** One text for each number of bytes that can precede these in a group: 3 or 5 texts. */
function aligned(bytes: Uint8Array, bits: 5 | 6, alphabet: string): string[] {
  return Array.from({ length: bits === 6 ? 3 : 5 }, (_, before) => {
    const shift = (before * 8) % bits;
    // Whole characters only: the bits of the first byte that complete a character are skipped.
    let skip = shift === 0 ? 0 : bits - shift;
    let text = '';
    let held = 0;
    let count = 0;
    for (const byte of bytes) {
      held = (held << 8) | byte;
      count += 8;
      if (skip > 0) {
        count -= skip;
        skip = 0;
      }
      while (count >= bits) {
        count -= bits;
        text += alphabet[(held >> count) & ((1 << bits) - 1)] ?? '';
      }
      held &= (1 << count) - 1;
    }
    return text;
  });
}

function encodeGroups85(bytes: Uint8Array, alphabet: string): string[] {
  return Array.from({ length: 4 }, (_, before) => {
    let text = '';
    for (let at = (4 - before) % 4; at < bytes.length; at += 4) {
      let value = 0;
      for (let place = at; place < at + 4; place += 1) value = value * 256 + (bytes[place] ?? 0);
      let five = '';
      for (let digit = 0; digit < 5; digit += 1) {
        five = (alphabet[value % 85] ?? '') + five;
        value = Math.floor(value / 85);
      }
      text += five.slice(0, Math.min(4, bytes.length - at) + 1);
    }
    return text;
  });
}

/** The bytes as one big number, in base 58 and in base 10. */
export function encodeAsNumbers(bytes: Uint8Array): string[] {
  const number = BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
  let base58 = '';
  for (let rest = number; rest > 0n; rest /= 58n) {
    base58 = (base58Alphabet[Number(rest % 58n)] ?? '') + base58;
  }
  return [base58, number.toString(10)];
}

export function decodeBase32(text: string): Uint8Array {
  const out: number[] = [];
  let [bits, pending] = [0, 0];
  for (const letter of text) {
    const value = base32Alphabet.indexOf(letter);
    if (value < 0) continue;
    pending = ((pending << 5) | value) & 0xfff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    out.push((pending >> bits) & 255);
  }
  return Uint8Array.from(out);
}

/** RFC 1924 (also git and Python), and Adobe's. */
export const base85Names = ['base85', 'ascii85'] as const;
export type Base85Name = (typeof base85Names)[number];

const digitTables85 = { base85: digitTable(base85Alphabet), ascii85: digitTable(ascii85Alphabet) };

/** The value of each ASCII character; -1: it is no digit. */
function digitTable(alphabet: string): Int8Array {
  const table = new Int8Array(128).fill(-1);
  for (const [value, digit] of Array.from(alphabet).entries()) table[digit.charCodeAt(0)] = value;
  return table;
}

/**
 * `null`: a character is no digit. A group of five digits can exceed 32 bits: with `fail` the
 * result is `null`, too; with `wrap` only the low bits count, as in git.
 */
export function decodeBase85(
  text: string,
  alphabet: Base85Name,
  onOverflow: 'fail' | 'wrap' = 'fail',
): Uint8Array | null {
  const table = digitTables85[alphabet];
  const out = new Uint8Array(Math.ceil(text.length / 5) * 4);
  let length = 0;
  for (let at = 0; at < text.length; at += 5) {
    let value = 0;
    for (let i = at; i < at + 5; i += 1) {
      const digit = i < text.length ? (table[text.charCodeAt(i)] ?? -1) : 84;
      if (digit < 0) return null;
      value = value * 85 + digit;
    }
    if (value > 0xffffffff && onOverflow === 'fail') return null;
    for (const shift of [24, 16, 8, 0]) {
      out[length] = value >>> shift;
      length += 1;
    }
  }
  const short = (5 - (text.length % 5)) % 5;
  return out.subarray(0, length - short);
}

/** `null`: a line is shorter than its first character says. */
export function uudecode(lines: string): Uint8Array | null {
  const out: number[] = [];
  for (const line of lines.split(/\r?\n/)) {
    const length = (line.charCodeAt(0) - 32) & 63;
    if (line.length - 1 < Math.ceil(length / 3) * 4) return null;
    for (let at = 1, left = length; left > 0; at += 4, left -= 3) {
      const [a = 0, b = 0, c = 0, d = 0] = [0, 1, 2, 3].map(
        (next) => (line.charCodeAt(at + next) - 32) & 63,
      );
      const group = [(a << 2) | (b >> 4), (b << 4) | (c >> 2), (c << 6) | d];
      out.push(...group.slice(0, left).map((one) => one & 255));
    }
  }
  return Uint8Array.from(out);
}
