/**
 * Words that everybody has: names of the web platform and of Python, keywords, English as manuals
 * use it. Kept as a Bloom filter, which takes about one in five hundred other words for one of
 * them. Made by tools/word-background.ts.
 */
import data from './background-words.json' with { type: 'json' };

/** 2^19 bits for at most 44,000 words. */
export const wordFilterBytes = 1 << 16;
const bitMask = wordFilterBytes * 8 - 1;
const hashes = 8;

const filter = Uint8Array.from(Buffer.from(data.filter, 'base64'));

/** Bits of the filter that belong to the word `chars[from, to)`, whatever its case. */
export function wordFilterBits(chars: Uint8Array, from: number, to: number): Uint32Array {
  let one = 0x811c9dc5;
  let two = 0x27d4eb2f;
  for (let at = from; at < to; at += 1) {
    const char = chars[at] ?? 0;
    const lower = char >= 0x41 && char <= 0x5a ? char + 32 : char;
    one = Math.imul(one ^ lower, 0x01000193);
    two = (Math.imul(two, 0x2c9277b5) + lower) | 0;
  }
  one = Math.imul(one ^ (one >>> 16), 0x7feb352d);
  two = Math.imul(two ^ (two >>> 15), 0x846ca68b) | 1;
  const bits = new Uint32Array(hashes);
  for (let i = 0; i < hashes; i += 1) {
    one = (one + two) | 0;
    bits[i] = (one ^ (one >>> 13)) & bitMask;
  }
  return bits;
}

/** Words of one and two characters are everybody's. */
export function isPublicWord(chars: Uint8Array, from: number, to: number): boolean {
  if (to - from < 3) return true;
  return wordFilterBits(chars, from, to).every(
    (bit) => ((filter[bit >>> 3] ?? 0) & (1 << (bit & 7))) > 0,
  );
}
