/**
 * Symbols: what is left of bytes when only letters and digits count, without their case. `0`: the
 * byte is no symbol. Bytes from 0x80 are symbols only where a value with letters outside ASCII is
 * looked for.
 */
export const breakSymbol = 255;
const wideFirst = 37;

/** The symbol of each byte; bytes from 0x80 have none. */
export const narrowSymbols: Readonly<Uint8Array> = symbolTable(false);
export const wideSymbols: Readonly<Uint8Array> = symbolTable(true);

function symbolTable(wide: boolean): Uint8Array {
  const table = new Uint8Array(256);
  for (let digit = 0; digit < 10; digit += 1) table[0x30 + digit] = 1 + digit;
  for (let letter = 0; letter < 26; letter += 1) {
    table[0x41 + letter] = 11 + letter;
    table[0x61 + letter] = 11 + letter;
  }
  if (wide) for (let byte = 0x80; byte < 0x100; byte += 1) table[byte] = wideFirst + byte - 0x80;
  return table;
}

/**
 * How many bytes from `at` on are punctuation or invisible characters beyond ASCII: U+0080 to
 * U+00BF, U+2000 to U+2BFF, and the byte order mark; 0: the byte there is part of a letter.
 */
export function widePunctuation(bytes: Uint8Array, at: number): number {
  const byte = bytes[at] ?? 0;
  if (byte === 0xc2) return 2;
  if (byte === 0xe2) return 3;
  return byte === 0xef && (bytes[at + 1] === 0xbb || bytes[at + 1] === 0xb8) ? 3 : 0;
}

/** The symbols of a text as it stands: nothing in it is read as an escape. */
export function toSymbols(text: Uint8Array, wide: boolean): Uint8Array {
  const table = wide ? wideSymbols : narrowSymbols;
  const symbols = new Uint8Array(text.length);
  let count = 0;
  for (let at = 0; at < text.length; at += 1) {
    const byte = text[at] ?? 0;
    if (wide && byte >= 0x80) {
      const skipped = widePunctuation(text, at);
      if (skipped > 0) {
        at += skipped - 1;
        continue;
      }
    }
    const symbol = table[byte] ?? 0;
    if (symbol !== 0) symbols[count++] = symbol;
  }
  return symbols.subarray(0, count);
}

const multiplier = 0x01000193;

/** Rolling hash of the last `length` symbols: `next = hash * multiplier + in - out[leaving]`. */
export const hashMultiplier = multiplier;

const weightsOf = new Map<number, Int32Array>();

/** What each symbol weighs in the hash when it leaves a window of `length`. */
export function leavingWeights(length: number): Int32Array {
  const cached = weightsOf.get(length);
  if (cached !== undefined) return cached;
  let power = 1;
  for (let step = 0; step < length; step += 1) power = Math.imul(power, multiplier);
  const weights = Int32Array.from({ length: 256 }, (_, symbol) => Math.imul(symbol, power));
  weightsOf.set(length, weights);
  return weights;
}

/** The hash of the `length` symbols before each offset; fewer at the start. */
export function symbolHashes(symbols: Uint8Array, length: number): Int32Array {
  const weights = leavingWeights(length);
  const hashes = new Int32Array(symbols.length + 1);
  let hash = 0;
  for (let at = 0; at < symbols.length; at += 1) {
    const leaving = at < length ? 0 : (weights[symbols[at - length] ?? 0] ?? 0);
    hash = (Math.imul(hash, multiplier) + (symbols[at] ?? 0) - leaving) | 0;
    hashes[at + 1] = hash;
  }
  return hashes;
}

/** Spreads a hash over 32 bits: the low bits of the rolling hash depend on few symbols. */
export const spreadHash = (hash: number): number => Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);

/** The bits that a spread hash sets in a word of the filter; its high bits name the word. */
export const hashFilterBits = (mixed: number): number =>
  (1 << (mixed & 31)) | (1 << ((mixed >>> 5) & 31)) | (1 << ((mixed >>> 10) & 31));
