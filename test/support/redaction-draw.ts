// Draws tokens from the notation of the rules, so that no file of the repository holds a key.
import {
  characterClassOf,
  parseShapeParts,
  type ShapePart,
} from '../../src/redaction/rules/key-shape.ts';

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export interface Drawn {
  readonly text: string;
  /** Where in `text` the secret is. */
  readonly start: number;
  readonly end: number;
}

export function draw(notation: string, random: () => number): Drawn {
  let [text, start, end] = ['', 0, -1];
  for (const part of parseShapeParts(notation)) {
    if (part.kind === 'open') start = text.length;
    else if (part.kind === 'close') end = text.length;
    else text += drawPart(part, random);
  }
  return { text, start, end: end < 0 ? text.length : end };
}

function drawPart(part: ShapePart, random: () => number): string {
  const pick = (from: string): string => from.charAt(Math.floor(random() * from.length));
  if (part.kind === 'text') return part.options[Math.floor(random() * part.options.length)] ?? '';
  if (part.kind !== 'run') return '';
  const hex = '0123456789abcdef';
  const many = (from: string, count: number): string =>
    Array.from({ length: count }, () => pick(from)).join('');
  if (part.of === 'U') return [8, 4, 4, 4, 12].map((count) => many(hex, count)).join('-');
  const from = members(part.of);
  const longest = Math.min(part.max, part.min + 40);
  return many(from, part.min + Math.floor(random() * (longest - part.min + 1)));
}

/** The letters, digits and signs of a class; only letters and digits where it has them. */
function members(letter: string): string {
  const allowed = new RegExp(`[${characterClassOf(letter)}]`);
  const all = Array.from({ length: 96 }, (_, at) => String.fromCharCode(32 + at));
  const found = all.filter((char) => allowed.test(char));
  const plain = found.filter((char) => /[A-Za-z0-9]/.test(char));
  return (plain.length > 1 ? plain : found).join('');
}
