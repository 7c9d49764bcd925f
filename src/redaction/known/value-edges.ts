/**
 * The characters of a value that are no symbols and stand at its ends: the `!` of `Tr0ub4dor&3!`.
 * They are hidden where they stand beside its symbols, as they are or escaped, with what may have
 * been put between characters.
 */
import { namedEntities } from '../../encodings/text.ts';
import { controlSequenceEnd, escapeAt, escapeCode, escapeLength } from './escapes.ts';

/** Bytes beside a run that are looked at. */
export const edgeBytesMax = 96;
const betweenMax = 4;

interface Character {
  readonly code: number;
  readonly from: number;
  readonly to: number;
}

/** Offset after the characters of `tail`, which start at `from` or not at all. */
export function findTailEnd(bytes: Uint8Array, from: number, to: number, tail: string): number {
  if (tail === '' || to <= from) return from;
  const found = characters(bytes, from, Math.min(to, from + edgeBytesMax));
  let end = from;
  for (const character of sameAs(found, tail)) end = Math.max(end, character.to);
  return end;
}

/** Offset of the characters of `lead`, which end at `to` or are not there. */
export function findLeadStart(bytes: Uint8Array, from: number, to: number, lead: string): number {
  if (lead === '' || to <= from) return to;
  const found = characters(bytes, Math.max(from, to - edgeBytesMax), to).toReversed();
  let start = to;
  for (const character of sameAs(found, Array.from(lead).toReversed().join(''))) {
    start = Math.min(start, character.from);
  }
  return start;
}

/** Those of `found` that are the characters of `wanted` in their order, as far as they are. */
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

/** What an escape without a code of its own stands for. */
function entityCode(text: string, at: number): number {
  if (text[at] === '\\') return (backslashed.get(text[at + 1] ?? '') ?? '\0').charCodeAt(0);
  named.lastIndex = at;
  return (namedEntities.get(named.exec(text)?.[1] ?? '') ?? '\0').charCodeAt(0);
}
