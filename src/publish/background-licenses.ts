/**
 * The texts of common licenses, which everybody has and many files quote: fingerprints of their
 * letters and digits, so that comment marks, bullets and line breaks do not matter. Made by
 * tools/license-background.ts; the data file says from which texts.
 */
import data from './background-licenses.json' with { type: 'json' };
import { extractLetters } from './background-letters.ts';
import { GramHashes, gramChars } from './fingerprint.ts';
import { lineEnd } from './view-normal.ts';

/** Characters around a run that are looked at with it: licenses go on at its ends. */
const around = 96;
/** Between two fingerprints of one license text there are at most so many characters. */
const bridgedMax = 40;

const licenses = numbers(data.fingerprints);

/** Base64 of ascending 32-bit numbers, little endian. */
function numbers(base64: string): Uint32Array {
  const bytes = Uint8Array.from(Buffer.from(base64, 'base64'));
  return new Uint32Array(bytes.buffer, 0, bytes.length >>> 2);
}

function isLicense(hash: number): boolean {
  let [low, high] = [0, licenses.length - 1];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((licenses[middle] ?? 0) < hash) low = middle + 1;
    else high = middle;
  }
  return licenses[low] === hash;
}

/**
 * A mark (1) for each character of `chars[from, to)` that is license text; `null`: there is none.
 */
export function markLicenseText(chars: Uint8Array, from: number, to: number): Uint8Array | null {
  const first = Math.max(0, from - around);
  const last = Math.min(chars.length, to + around);
  const letters = extractLetters(chars, first, last);
  const grams = new GramHashes();
  grams.compute(letters.chars, letters.length);
  let marks: Uint8Array | null = null;
  let markedTo = 0;
  for (let i = 0; i < grams.count; i += 1) {
    if (!isLicense(grams.hashes[i] ?? 0)) continue;
    marks ??= new Uint8Array(last - first);
    const start = grams.starts[i] ?? 0;
    let place = letters.at[start] ?? 0;
    if (markedTo > 0 && start - markedTo <= bridgedMax) {
      const end = letters.at[markedTo - 1] ?? 0;
      if (!isCode(chars, end, place)) place = Math.min(end, place);
    }
    markedTo = start + gramChars;
    marks.fill(1, place - first, (letters.at[markedTo - 1] ?? 0) + 1 - first);
  }
  if (marks === null) return null;
  wholeLines(chars, first, marks);
  return marks.subarray(from - first, to - first);
}

/** What is written between the helpers of compilers is the author's, a name of an export say. */
function isCode(chars: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) {
    const char = chars[at] ?? 0;
    if (char === 0x7b || char === 0x7d || char === 0x3d) return true;
  }
  return false;
}

/** The rest of a line that is mostly license text belongs to it: a name, a year, a full stop. */
function wholeLines(chars: Uint8Array, first: number, marks: Uint8Array): void {
  for (let from = 0; from < marks.length;) {
    const found = chars.indexOf(lineEnd, first + from) - first;
    const to = found < 0 || found > marks.length ? marks.length : found;
    let marked = 0;
    for (let at = from; at < to; at += 1) marked += marks[at] ?? 0;
    const prose = to - from < 400 && !isCode(chars, first + from, first + to);
    if (marked * 2 > to - from && prose) marks.fill(1, from, to);
    from = to + 1;
  }
}
