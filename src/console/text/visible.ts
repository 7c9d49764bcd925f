/**
 * Untrusted text, split so that hidden characters can be made visible. This module makes no markup:
 * its users make text nodes of the segments.
 */
import { unicodeEscape, isHiddenCharacter } from '../../hidden-characters.ts';

/**
 * `escape`: replaces a character that is invisible, moves others, or looks like a space; `foreign`:
 * printable, but outside ASCII, where it may look like another letter.
 */
export interface TextFragment {
  readonly kind: 'plain' | 'escape' | 'foreign';
  /** What is drawn. */
  readonly text: string;
  /** UTF-16 offset in the text, and the number of units that it replaces. */
  readonly at: number;
  readonly length: number;
}

const named: ReadonlyMap<string, string> = new Map([
  ['\0', '\\0'],
  ['\u{7}', '\\a'],
  ['\b', '\\b'],
  ['\t', '\\t'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\u{1B}', '\\e'],
]);

/** `\u{202E}`; `\t` and similar ones by their names in shells. */
const shortOf = (character: string): string => named.get(character) ?? unicodeEscape(character);

/** The segments of `text` in order. A line end is its own segment: `\n`. */
export function splitTextFragments(text: string): TextFragment[] {
  const fragments: TextFragment[] = [];
  let plainFrom = 0;
  let at = 0;
  const flush = (): void => {
    if (at > plainFrom) {
      const plain = text.slice(plainFrom, at);
      fragments.push({ kind: 'plain', text: plain, at: plainFrom, length: plain.length });
    }
  };
  while (at < text.length) {
    const unit = text.charCodeAt(at);
    if (unit >= 0x20 && unit < 0x7f) {
      at += 1;
      continue;
    }
    flush();
    const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
    const { length } = character;
    if (isHiddenCharacter(character)) {
      fragments.push({ kind: 'escape', text: shortOf(character), at, length });
      at += length;
    } else {
      const foreign = foreignAt(text, at);
      fragments.push({ kind: 'foreign', text: foreign, at, length: foreign.length });
      at += foreign.length;
    }
    plainFrom = at;
  }
  flush();
  return fragments;
}

/** The printable text at `at`, up to ASCII or something hidden. */
function foreignAt(text: string, from: number): string {
  let at = from;
  while (at < text.length && text.charCodeAt(at) >= 0x80) {
    const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
    if (isHiddenCharacter(character)) break;
    at += character.length;
  }
  return text.slice(from, at);
}

/** One line of text with nothing hidden, for titles and announcements. */
export function toVisibleLine(text: string): string {
  return splitTextFragments(text)
    .map(({ text: shown }) => shown)
    .join('');
}

/** A command in one line, for rows of lists: its lines with `↵` between, cut at `most` letters. */
export function toCommandSummary(text: string, most = 300): string {
  const lines = text.slice(0, most * 4).split('\n');
  const shown = lines.flatMap((line) => (line.trim() === '' ? [] : [toVisibleLine(line.trim())]));
  const joined = shown.join(' ↵ ');
  const isCut = joined.length > most || text.length > most * 4;
  return isCut ? `${joined.slice(0, most)}…` : joined;
}
