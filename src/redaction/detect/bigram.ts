/**
 * How much a text reads like the words, paths and names of code and logs: a model of pairs of
 * neighbouring characters.
 */
import { bigramWeights } from './bigram-weights.ts';

/** One cell is the logarithm to base 2 of how much likelier a pair is than by chance, times 16. */
const cells = new Int8Array(Buffer.from(bigramWeights, 'base64'));
const size = 96;

/** By byte, its row and column: printable ASCII has one each, the rest shares the last. */
const columns = Uint8Array.from({ length: 256 }, (_, code) =>
  code >= 32 && code < 127 ? code - 32 : size - 1,
);

/** Bits for the pair of two bytes. */
export function pairBits(first: number, second: number): number {
  const row = columns[first] ?? size - 1;
  return (cells[row * size + (columns[second] ?? size - 1)] ?? 0) / 16;
}

/**
 * Mean bits a pair: above 1 for words and identifiers, below 0 for what was drawn at random.
 * Texts of fewer than two characters have 0.
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
  // Sixteenths add up exactly.
  return sum / 16 / (end - start - 1);
}
