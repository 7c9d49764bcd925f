/**
 * Views of a text: the text itself, and the text as it was before tools wrote something before
 * its lines or made string literals of them. Each is a list of ranges of the text to be read one
 * after the other, so that what is found can be shown where it stands.
 */
import { literalRanges } from './view-literal.ts';
import { markerEnd, markersEnd, prefixEnd } from './view-prefix.ts';
import { sharedPrefixes } from './view-shared.ts';

export type ViewName = 'text' | 'prefix' | 'marker' | 'literal';

export interface View {
  readonly name: ViewName;
  /** Byte ranges `from, to, from, to …` in ascending order. */
  readonly ranges: readonly number[];
}

/** Lines before and after a changed one that are read with it. */
const contextLines = 2;

/** At most seven, the text itself first; the others only where they differ from it. */
export function viewsOf(bytes: Uint8Array): readonly View[] {
  // One character a byte, so that places in the string are places in the bytes.
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  const lines = lineStarts(text);
  const count = lines.length - 1;
  const prefix = new Array<number>(count);
  const marker = new Array<number>(count);
  const markers = new Array<number>(count);
  for (let i = 0; i < count; i += 1) {
    const [from = 0, to = 0] = [lines[i], lines[i + 1]];
    const end = prefixEnd(text, from, to);
    prefix[i] = end;
    marker[i] = markerEnd(text, end, to);
    markers[i] = marker[i] === end ? end : markersEnd(text, end, to);
  }
  const shared = sharedPrefixes(text, lines, prefix);
  const plain = lines.slice(0, -1);
  const bare = plain.map((from, i) =>
    prefix[i] === from ? (marker[i] ?? from) : markerEnd(text, from, lines[i + 1] ?? from),
  );
  const all: View[] = [{ name: 'text', ranges: [0, bytes.length] }];
  const known = [plain];
  const steps = [
    ['prefix', prefix],
    ['prefix', shared],
    ['marker', bare],
    ['marker', marker],
    ['marker', markers],
  ] as const;
  for (const [name, starts] of steps) {
    if (known.some((other) => other.every((from, i) => from === starts[i]))) continue;
    known.push(starts);
    all.push({ name, ranges: rangesOf(lines, starts) });
  }
  const literals = literalRanges(text, lines, shared);
  if (literals.length > 0) all.push({ name: 'literal', ranges: literals });
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
function rangesOf(lines: readonly number[], starts: readonly number[]): number[] {
  const ranges: number[] = [];
  let shownTo = 0;
  for (let i = 0; i < starts.length; i += 1) {
    if (starts[i] === lines[i]) continue;
    const last = Math.min(starts.length - 1, i + contextLines);
    for (let at = Math.max(shownTo, i - contextLines); at <= last; at += 1) {
      ranges.push(starts[at] ?? 0, lines[at + 1] ?? 0);
    }
    shownTo = Math.max(shownTo, last + 1);
  }
  return ranges;
}
