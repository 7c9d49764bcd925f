/**
 * The characters at the ends of a value that are no symbols: the `!` of `Tr0ub4dor&3!`. They are
 * hidden next to its symbols, escaped or not, with separators between characters.
 */
import { namedEntities } from '../../encodings/text.ts';
import { controlSequenceEnd, escapeAt, escapeCode, escapeLength } from './escapes.ts';

/** Bytes next to a run that are examined. */
export const edgeBytesMax = 96;
const betweenMax = 4;

interface Character {
  readonly code: number;
  readonly from: number;
  readonly to: number;
}

/** Offset after the characters of `tail`, if they begin at `from`. */
export function findTailEnd(bytes: Uint8Array, from: number, to: number, tail: string): number {
  if (tail === '' || to <= from) return from;
  const found = characters(bytes, from, Math.min(to, from + edgeBytesMax));
  let end = from;
  for (const character of sameAs(found, tail)) end = Math.max(end, character.to);
  return end;
}

/** Offset of the characters of `lead`, if they end at `to`. */
export function findLeadStart(bytes: Uint8Array, from: number, to: number, lead: string): number {
  if (lead === '' || to <= from) return to;
  const found = characters(bytes, Math.max(from, to - edgeBytesMax), to).toReversed();
  let start = to;
  for (const character of sameAs(found, Array.from(lead).toReversed().join(''))) {
    start = Math.min(start, character.from);
  }
  return start;
}

/** The leading characters of `found` that equal those of `wanted`, in order. */
function sameAs(found: readonly Character[], wanted: string): Character[] {
  const same: Character[] = [];
  let between = 0;
  for (const character of found) {
    if (character.code === wanted.charCodeAt(same.length)) {
      same.push(character);
      between = 0;
      if (same.length === wanted.length) break;
    } else if (++between > betweenMax) break;
  }
  return same;
}

function characters(bytes: Uint8Array, from: number, to: number): Character[] {
  const found: Character[] = [];
  const text = Buffer.from(bytes.subarray(from, to)).toString('latin1');
  for (let at = from; at < to;) {
    if (bytes[at] === 0x1b) {
      at = controlSequenceEnd(bytes, at, to, true);
      continue;
    }
    const escape = escapeAt(bytes, at, to, true);
    const length = escape === 0 ? 1 : escapeLength(escape);
    const code =
      escape === 0 ? (bytes[at] ?? 0) : escapeCode(escape) || entityCode(text, at - from);
    found.push({ code: length === 1 ? (bytes[at] ?? 0) : code, from: at, to: at + length });
    at += length;
  }
  return found;
}

const named = /&([a-z]+);/y;
const backslashed: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
]);

/** The character of an escape without a numeric code. */
function entityCode(text: string, at: number): number {
  if (text[at] === '\\') return (backslashed.get(text[at + 1] ?? '') ?? '\0').charCodeAt(0);
  named.lastIndex = at;
  return (namedEntities.get(named.exec(text)?.[1] ?? '') ?? '\0').charCodeAt(0);
}
