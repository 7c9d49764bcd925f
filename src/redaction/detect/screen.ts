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
  if (wordiness(text, start, end) > 0.7) return 'words';
  const length = end - start;
  if (digests.has(length) && isLowerHex(text, start, end)) return 'digest';
  if (length === 36 && uuid.test(text.slice(start, end))) return 'uuid';
  return null;
}

function isLowerHex(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code < 48 || code > 102 || (code > 57 && code < 97)) return false;
  }
  return true;
}
