/**
 * Fingerprints by robust winnowing (Schleimer, Wilkerson, Aiken: Winnowing, SIGMOD 2003). Of the
 * hashes of each `windowGrams` neighbouring grams of `gramChars` characters, the smallest is kept,
 * so that any copy of `gramChars + windowGrams - 1` = 40 characters contains a kept one. A search
 * uses all grams of a text, so most shorter copies are found, too.
 */
import { ignoredChars } from './view-normal.ts';

export const gramChars = 24;
const windowGrams = 17;

/** The factor of rolling hashes. */
export const hashFactor = 0x2c9277b5;
const leaving = leavingFactor(gramChars);

/** The factor of the character that leaves a window of `windowChars`. */
export function leavingFactor(windowChars: number): number {
  let product = 1;
  for (let i = 0; i < windowChars; i += 1) product = Math.imul(product, hashFactor);
  return product;
}

/** The hashes of a text's grams, and the position of the first character of each. */
export class GramHashes {
  hashes = new Uint32Array(0);
  starts = new Uint32Array(0);
  count = 0;

  /** All grams of `chars[0, length)`, without characters that comparisons ignore. */
  compute(chars: Uint8Array, length: number): void {
    if (this.hashes.length < length) {
      this.hashes = new Uint32Array(length);
      this.starts = new Uint32Array(length);
    }
    const { hashes, starts } = this;
    let seen = 0;
    let oldest = 0;
    let count = 0;
    let hash = 0;
    for (let i = 0; i < length; i += 1) {
      const char = chars[i] ?? 0;
      if (ignoredChars[char] === 1) continue;
      hash = (Math.imul(hash, hashFactor) + char) | 0;
      seen += 1;
      if (seen < gramChars) continue;
      while (ignoredChars[chars[oldest] ?? 0] === 1) oldest += 1;
      if (seen > gramChars) {
        hash = (hash - Math.imul(chars[oldest] ?? 0, leaving)) | 0;
        oldest += 1;
        while (ignoredChars[chars[oldest] ?? 0] === 1) oldest += 1;
      }
      let mixed = hash ^ (hash >>> 15);
      mixed = Math.imul(mixed, 0x2c1b3c6d);
      mixed ^= mixed >>> 12;
      mixed = Math.imul(mixed, 0x297a2d39);
      hashes[count] = mixed ^ (mixed >>> 15);
      starts[count] = oldest;
      count += 1;
    }
    this.count = count;
  }
}

/** Writes to `kept` the fingerprints of a text, without those of repetitive text. */
export function winnowGrams(chars: Uint8Array, grams: GramHashes, kept: GramHashes): void {
  const { hashes, count } = grams;
  if (kept.hashes.length < count) {
    kept.hashes = new Uint32Array(count);
    kept.starts = new Uint32Array(count);
  }
  kept.count = 0;
  let smallest = -1;
  for (let at = Math.min(windowGrams, count) - 1; at >= 0 && at < count; at += 1) {
    if (smallest < 0 || smallest <= at - windowGrams) {
      smallest = at;
      const first = Math.max(0, at - windowGrams + 1);
      for (let i = at - 1; i >= first; i -= 1) {
        if ((hashes[i] ?? 0) < (hashes[smallest] ?? 0)) smallest = i;
      }
    } else if ((hashes[at] ?? 0) < (hashes[smallest] ?? 0)) {
      smallest = at;
    } else {
      continue;
    }
    const start = grams.starts[smallest] ?? 0;
    if (!isVaried(chars, start)) continue;
    kept.hashes[kept.count] = hashes[smallest] ?? 0;
    kept.starts[kept.count] = start;
    kept.count += 1;
  }
}

/** Whether a gram has five different characters; fewer are rules, padding, zeros. */
function isVaried(chars: Uint8Array, start: number): boolean {
  // No array: this runs for each fingerprint.
  let [one, two, three, four] = [-1, -1, -1, -1];
  let seen = 0;
  for (let i = start; seen < gramChars && i < chars.length; i += 1) {
    const char = chars[i] ?? 0;
    if (ignoredChars[char] === 1) continue;
    seen += 1;
    if (char === one || char === two || char === three || char === four) continue;
    if (one < 0) one = char;
    else if (two < 0) two = char;
    else if (three < 0) three = char;
    else if (four < 0) four = char;
    else return true;
  }
  return false;
}
