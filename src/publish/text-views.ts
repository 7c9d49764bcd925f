/**
 * Views of a text: the text itself, and the text as it was before tools wrote something before
 * its lines or made string literals of them. Each is a list of ranges of the text to be read one
 * after the other, so that what is found can be shown where it stands.
 */
import { findRangesBetweenTags } from './view-markup.ts';
import { findUndoubledRanges } from './view-doubled.ts';
import { findLiteralRanges } from './view-literal.ts';
import {
  findDiffMarkEnd,
  findFirstPrefixEnd,
  findLoosePrefixEnd,
  findMarkerEnd,
  findMarkersEnd,
  findPrefixEnd,
} from './view-prefix.ts';
import { findSharedPrefixes } from './view-shared-prefix.ts';

export type TextViewName = 'text' | 'prefix' | 'marker' | 'literal' | 'doubled' | 'markup';

export interface TextView {
  readonly name: TextViewName;
  /** Byte ranges `from, to, from, to …` in ascending order. */
  readonly ranges: readonly number[];
}

/** Lines before and after a changed one that are read with it. */
const contextLines = 2;

/** At most thirteen, the text itself first; the others only where they differ from it. */
export function makeTextViews(bytes: Uint8Array): readonly TextView[] {
  // One character a byte, so that places in the string are places in the bytes.
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  const lines = lineStarts(text);
  const plain = lines.slice(0, -1);
  const at = (starts: readonly number[], end: typeof findMarkerEnd): number[] =>
    starts.map((from, i) => end(text, from, lines[i + 1] ?? from));
  const prefix = at(plain, findPrefixEnd);
  const shared = findSharedPrefixes(text, lines, prefix);
  const all: TextView[] = [{ name: 'text', ranges: [0, bytes.length] }];
  const known: (readonly number[])[] = [plain];
  const steps = [
    ['prefix', at(plain, findFirstPrefixEnd)],
    ['prefix', prefix],
    ['prefix', at(plain, findLoosePrefixEnd)],
    ['prefix', shared],
    ['marker', at(plain, findDiffMarkEnd)],
    ['marker', at(prefix, findDiffMarkEnd)],
    ['marker', at(plain, findMarkerEnd)],
    ['marker', at(prefix, findMarkerEnd)],
    ['marker', at(prefix, findMarkersEnd)],
  ] as const;
  for (const [name, starts] of steps) {
    if (known.some((other) => other.every((from, i) => from === starts[i]))) continue;
    known.push(starts);
    all.push({ name, ranges: rangesOf(text, lines, starts) });
  }
  const literals = findLiteralRanges(text, lines, prefix);
  if (literals.length > 0) all.push({ name: 'literal', ranges: literals });
  const undoubled = findUndoubledRanges(text);
  if (undoubled.length > 0) all.push({ name: 'doubled', ranges: undoubled });
  const unmarked = findRangesBetweenTags(text);
  if (unmarked.length > 0) all.push({ name: 'markup', ranges: unmarked });
  return all;
}

/** Where lines begin, and the end of the text. */
function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
    starts.push(at + 1);
  }
  if (starts.at(-1) !== text.length) starts.push(text.length);
  return starts;
}

/** Lines from `starts` on; those far from any that begin later than in the text are left out. */
function rangesOf(text: string, lines: readonly number[], starts: readonly number[]): number[] {
  const ranges: number[] = [];
  let shownTo = 0;
  for (let i = 0; i < starts.length; i += 1) {
    if (starts[i] === lines[i]) continue;
    const last = Math.min(starts.length - 1, i + contextLines);
    for (let at = Math.max(shownTo, i - contextLines); at <= last; at += 1) {
      const [line = 0, from = 0, to = 0] = [lines[at], starts[at], lines[at + 1]];
      ranges.push(from, cellEnd(text, line, from, to));
    }
    shownTo = Math.max(shownTo, last + 1);
  }
  return ranges;
}

/** A line that lost a bar at its beginning loses one at its end. */
function cellEnd(text: string, line: number, from: number, to: number): number {
  if (text[from - 1] !== '|' && text[from - 2] !== '|') return to;
  const end = text.slice(from, to).trimEnd();
  return from > line && end.endsWith(' |') ? from + end.length - 1 : to;
}
