/**
 * How much a text resembles the words, paths and names in code and logs, by a model of pairs of
 * neighbouring characters.
 */
import { bigramWeights } from './bigram-weights.ts';

/** A cell is 16 times the base-2 logarithm of how much more frequent a pair is than by chance. */
const cells = new Int8Array(Buffer.from(bigramWeights, 'base64'));
const size = 96;

/**
 * The row and column of each byte: each printable ASCII character has its own, all others share the
 * last.
 */
const columns = Uint8Array.from({ length: 256 }, (_, code) =>
  code >= 32 && code < 127 ? code - 32 : size - 1,
);

/** Bits of a pair of bytes. */
export function pairBits(first: number, second: number): number {
  const row = columns[first] ?? size - 1;
  return (cells[row * size + (columns[second] ?? size - 1)] ?? 0) / 16;
}

/**
 * Mean bits of all pairs: above 1 for words and identifiers, below 0 for random text, 0 for fewer
 * than two characters.
 */
export function wordiness(text: string, start: number, end: number): number {
  if (end - start < 2) return 0;
  let sum = 0;
  let row = columns[text.charCodeAt(start)] ?? size - 1;
  for (let at = start + 1; at < end; at++) {
    const column = columns[text.charCodeAt(at)] ?? size - 1;
    sum += cells[row * size + column] ?? 0;
    row = column;
  }
  // Sums of sixteenths are exact.
  return sum / 16 / (end - start - 1);
}
