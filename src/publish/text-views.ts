/**
 * Views of a text: the text itself, and the text before tools added something: prefixes of lines,
 * string literals (`"text\n" +`, a list of lines in JSON, logs of containers), doubled quotes (CSV,
 * SQL, shells), tags of HTML and XML. Each view is a list of ranges of the text, to be read one
 * after the other, so that a match can be shown at its place.
 */
import { latin1 } from '../encodings/text.ts';
import {
  findDiffMarkEnd,
  findFirstPrefixEnd,
  findLoosePrefixEnd,
  findMarkerEnd,
  findMarkersEnd,
  findPrefixEnd,
  findSharedPrefixes,
} from './view-prefix.ts';

export type TextViewName = 'text' | 'prefix' | 'marker' | 'literal' | 'doubled' | 'markup';

export interface TextView {
  readonly name: TextViewName;
  /** Byte ranges `from, to, from, to …` in ascending order. */
  readonly ranges: readonly number[];
}

/** Lines around a changed one that are read with it. */
const contextLines = 2;

/** At most thirteen, the text itself first, then only those that differ from it. */
export function makeTextViews(bytes: Uint8Array): readonly TextView[] {
  const text = latin1(bytes);
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

/** The starts of all lines, and the end of the text. */
function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
    starts.push(at + 1);
  }
  if (starts.at(-1) !== text.length) starts.push(text.length);
  return starts;
}

/** The lines that begin later in `starts` than in the text, with the lines around them. */
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

/** A line that lost a bar at its beginning also loses one at its end. */
function cellEnd(text: string, line: number, from: number, to: number): number {
  if (text[from - 1] !== '|' && text[from - 2] !== '|') return to;
  const end = text.slice(from, to).trimEnd();
  return from > line && end.endsWith(' |') ? from + end.length - 1 : to;
}

const simpleEscapes = 'nrtbfv0';

/**
 * Ranges of the text in which each line that is mostly one string literal is replaced by the
 * content of the literal, without the backslashes of escaped quotes. Other lines begin at `starts`.
 * Empty: there is no such line.
 */
export function findLiteralRanges(
  text: string,
  lines: readonly number[],
  starts: readonly number[],
): number[] {
  const ranges: number[] = [];
  let found = false;
  for (let i = 0; i < starts.length; i += 1) {
    const from = starts[i] ?? 0;
    const to = lines[i + 1] ?? 0;
    const literal = longestLiteral(text, from, to);
    if (literal === null) {
      ranges.push(from, to);
      continue;
    }
    found = true;
    addUnescaped(text, literal, ranges);
    // The line end stays, as a mark between lines.
    if (text[to - 1] === '\n') ranges.push(to - 1, to);
  }
  return found ? ranges : [];
}

/** Without its quotes; at least a third of the line. */
function longestLiteral(text: string, from: number, to: number): readonly [number, number] | null {
  const logged = logLiteral(text, from, to);
  if (logged !== null) return logged;
  let best: readonly [number, number] | null = null;
  let open = '';
  for (let at = from; at < to; at += 1) {
    const quote = text[at];
    if (quote !== '"' && quote !== "'" && quote !== '`') continue;
    if (open.includes(quote)) continue;
    const end = literalEnd(text, at + 1, to, quote);
    if (end < 0) {
      // The next quote of this kind would not be closed either; each would be followed to the end.
      open += quote;
      continue;
    }
    if (best === null || end - at - 1 > best[1] - best[0]) best = [at + 1, end];
    at = end;
  }
  if (best === null) return null;
  const contentLength = text.slice(from, to).trim().length;
  return (best[1] - best[0] + 2) * 3 >= contentLength ? best : null;
}

const logKey = /\s*\{"(?:log|message|msg|line|text|content|output|data|body)":"/y;

/** The message of a log line in JSON, however short. */
function logLiteral(text: string, from: number, to: number): readonly [number, number] | null {
  logKey.lastIndex = from;
  if (!logKey.test(text)) return null;
  const begin = logKey.lastIndex;
  const end = literalEnd(text, begin, to, '"');
  return end < 0 ? null : [begin, end];
}

function literalEnd(text: string, from: number, to: number, quote: string): number {
  for (let at = from; at < to; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === quote) return at;
  }
  return -1;
}

function addUnescaped(text: string, [from, to]: readonly [number, number], ranges: number[]): void {
  let start = from;
  for (let at = text.indexOf('\\', from); at >= 0 && at < to; at = text.indexOf('\\', at + 2)) {
    if (at > start) ranges.push(start, at);
    // Escaped white space is dropped; any other escape is its second character.
    start = simpleEscapes.includes(text[at + 1] ?? '') ? at + 2 : at + 1;
  }
  if (to > start) ranges.push(start, to);
}

/** Beside a word, two quotes are no empty string. */
const doubledAtWord = /\w(?:""|'')|(?:""|'')\w/;
const doubled = /""|''/g;

/** Ranges of the text without the second of two quotes; empty: no quote looks doubled. */
export function findUndoubledRanges(text: string): number[] {
  if (!doubledAtWord.test(text)) return [];
  const ranges: number[] = [];
  let from = 0;
  for (const { index } of text.matchAll(doubled)) {
    ranges.push(from, index + 1);
    from = index + 2;
  }
  if (from < text.length) ranges.push(from, text.length);
  return ranges;
}

const tag = /<\/?[a-z][^<>]{0,200}>/gi;
/** Between fewer tags the text is long enough without this view. */
const tagsMin = 6;

/** Ranges of the text between tags; empty: there are only few. */
export function findRangesBetweenTags(text: string): number[] {
  const ranges: number[] = [];
  let from = 0;
  for (const { 0: found, index } of text.matchAll(tag)) {
    if (index > from) ranges.push(from, index);
    from = index + found.length;
  }
  if (ranges.length < 2 * tagsMin) return [];
  if (from < text.length) ranges.push(from, text.length);
  return ranges;
}
