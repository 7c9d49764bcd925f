/** Base32 (RFC 4648), Ascii85 and base85 as Python writes them, and uuencode, within text. */

export interface BaseEncodedText {
  readonly bytes: Uint8Array;
  readonly via: 'base32' | 'base85' | 'uuencode';
  readonly span: readonly [number, number];
}

const base32Run = /[A-Z2-7]{32,}(?:\r?\n[A-Z2-7]{8,})*={0,6}/g;
/** From the first sign of a run alone: text has many runs that are too short. */
const base85Run = /(?<![!-~])[!-~]{40,}(?:\r?\n[!-~]{5,})*/g;
const uuRun = /(?:^|\n)((?:M[ -`]{60}\r?\n)*[!-M][ -`]{4,60})(?=\r?\n|$)/g;
const letters32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const letters85 =
  '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~';
const ascii85 = Array.from({ length: 85 }, (_, at) => String.fromCharCode(at + 33)).join('');
const alphabets85 = [letters85, ascii85].map((letters) => {
  const digits = new Int8Array(128).fill(-1);
  for (const [digit, letter] of Array.from(letters).entries()) digits[letter.charCodeAt(0)] = digit;
  return digits;
});

export function* findBaseEncoded(text: string): Generator<BaseEncodedText> {
  for (const { 0: run, index } of text.matchAll(base32Run)) {
    yield { bytes: base32(run), via: 'base32', span: [index, index + run.length] };
  }
  for (const { 0: run, index } of text.matchAll(base85Run)) {
    for (const digits of alphabets85) {
      const bytes = base85(run, digits);
      const span = [index, index + run.length] as const;
      if (bytes !== null) yield { bytes, via: 'base85', span };
    }
  }
  for (const { 0: run, 1: lines = '', index } of text.matchAll(uuRun)) {
    const bytes = uudecoded(lines);
    if (bytes !== null) yield { bytes, via: 'uuencode', span: [index, index + run.length] };
  }
}

function base32(run: string): Uint8Array {
  const out: number[] = [];
  let [bits, held] = [0, 0];
  for (const letter of run) {
    const value = letters32.indexOf(letter);
    if (value < 0) continue;
    held = ((held << 5) | value) & 0xfff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    out.push((held >> bits) & 255);
  }
  return Uint8Array.from(out);
}

/** `null`: a sign of it is none of the letters. */
function base85(run: string, digits: Int8Array): Uint8Array | null {
  const signs = run.replaceAll(/\s|^<~|~>$/g, '');
  const out = new Uint8Array(Math.ceil(signs.length / 5) * 4);
  let length = 0;
  for (let at = 0; at < signs.length; at += 5) {
    let value = 0;
    for (let i = at; i < at + 5; i += 1) {
      const digit = i < signs.length ? (digits[signs.charCodeAt(i)] ?? -1) : 84;
      if (digit < 0) return null;
      value = value * 85 + digit;
    }
    if (value > 0xffffffff) return null;
    for (const shift of [24, 16, 8, 0]) {
      out[length] = value >>> shift;
      length += 1;
    }
  }
  const short = (5 - (signs.length % 5)) % 5;
  return out.subarray(0, length - short);
}

function uudecoded(lines: string): Uint8Array | null {
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
