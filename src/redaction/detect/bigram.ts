/**
 * How much a text reads like the words, paths and names of code and logs: a model of pairs of
 * neighbouring characters.
 */
import { bigramWeights } from './bigram-weights.ts';

/** One cell is the logarithm to base 2 of how much likelier a pair is than by chance, times 16. */
const cells = new Int8Array(Buffer.from(bigramWeights, 'base64'));
const size = 96;

/** Bits for the pair of two bytes; printable ASCII has a cell each, the rest shares the last. */
export function pairBits(first: number, second: number): number {
  const row = first >= 32 && first < 127 ? first - 32 : 95;
  const column = second >= 32 && second < 127 ? second - 32 : 95;
  return (cells[row * size + column] ?? 0) / 16;
}

/**
 * Mean bits a pair: above 1 for words and identifiers, below 0 for what was drawn at random.
 * Texts of fewer than two characters have 0.
 */
export function wordiness(text: string, start: number, end: number): number {
  let sum = 0;
  for (let at = start + 1; at < end; at++) {
    sum += pairBits(text.charCodeAt(at - 1), text.charCodeAt(at));
  }
  return end - start < 2 ? 0 : sum / (end - start - 1);
}
