/** Which tokens are told apart from keys by their form alone, before any score. */
import { wordiness } from './bigram.ts';

const digests = new Set([24, 32, 40, 56, 64, 96, 128]);
const uuid = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/iu;

/** The family of what must stay readable, or null. */
export function screen(
  text: string,
  start: number,
  end: number,
  _line: { readonly start: number; readonly end: number },
): string | null {
  const token = text.slice(start, end);
  if (uuid.test(token)) return 'uuid';
  if (/^[\da-f]+$/u.test(token) && digests.has(token.length)) return 'digest';
  if (/^[\d.:-]+$/u.test(token)) return 'number';
  if (wordiness(text, start, end) > 0.7) return 'words';
  return null;
}
