/**
 * Lists of words: keywords, names of events, months. Who writes one independently writes the same,
 * so a word that everybody has says little in a list, and less in one that is in order.
 */
import { isPublicWord } from './background-words.ts';
import { lineEnd } from './view-normal.ts';

/** Fewer words between the same marks are no list. */
const itemsMin = 8;
const itemCharsMax = 40;
const separatorCharsMax = 6;
/** What choosing one known word says: of 40,000 about 15 bits, three characters. */
const chosenChars = 3;
const orderedChars = 1;
/** Neighbours in order, of all, from which a list counts as in order. */
const orderedShare = 0.8;
/** `, | " + [ ]` */
const separators = new Set([0x2c, 0x7c, 0x22, 0x2b, 0x5b, 0x5d, lineEnd]);

type Item = readonly [from: number, to: number];

/** Marks (1) what of the lists in `chars[from, to)` says nothing; `marks[0]` is that of `from`. */
export function markWordLists(
  chars: Uint8Array,
  from: number,
  to: number,
  marks: Uint8Array,
): void {
  let items: Item[] = [];
  for (let at = from; at < to;) {
    const end = itemEnd(chars, at, to);
    if (end > at && end - at <= itemCharsMax) {
      const last = items.at(-1);
      if (last === undefined || at - last[1] > 0) items.push([at, end]);
    }
    const next = separatorEnd(chars, end, to);
    if (next === end || end - at > itemCharsMax) {
      markList(chars, items, marks, from);
      items = [];
    }
    at = Math.max(next, at + 1);
  }
  markList(chars, items, marks, from);
}

function itemEnd(chars: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to && isItem(chars[at] ?? 0)) at += 1;
  return at;
}

/** Behind at most so many marks between words; `from` where something else stands there. */
function separatorEnd(chars: Uint8Array, from: number, to: number): number {
  let at = from;
  let length = 0;
  while (at < to && separators.has(chars[at] ?? 0)) {
    if (chars[at] !== lineEnd) length += 1;
    at += 1;
  }
  return length <= separatorCharsMax && (at === to || isItem(chars[at] ?? 0)) ? at : from;
}

/** Letters, digits, `_ $ - .`; other scripts too, whose words nobody here knows. */
function isItem(char: number): boolean {
  const lower = char | 0x20;
  if (char >= 0x80 || (lower >= 0x61 && lower <= 0x7a)) return true;
  return (char >= 0x30 && char <= 0x39) || [0x5f, 0x24, 0x2d, 0x2e].includes(char);
}

function markList(
  chars: Uint8Array,
  items: readonly Item[],
  marks: Uint8Array,
  base: number,
): void {
  if (items.length < itemsMin) return;
  const texts = items.map(([from, to]) =>
    Buffer.from(chars.subarray(from, to)).toString('latin1').toLowerCase(),
  );
  const following = texts.filter((text, i) => i > 0 && (texts[i - 1] ?? '') <= text).length;
  const ordered = following >= (texts.length - 1) * orderedShare;
  let knownTo = 0;
  for (const [i, [from, to]] of items.entries()) {
    const next = isNext(texts[i - 1], texts[i]);
    const known = next || isKnown(chars, from, to);
    // What stands between two that nobody knows holds them together.
    if (known && knownTo > 0) marks.fill(1, knownTo - base, from - base);
    knownTo = known ? to : 0;
    const said = next ? from : from + (ordered ? orderedChars : chosenChars);
    if (known && said < to) marks.fill(1, said - base, to - base);
  }
}

/** Whether a number follows the one before it. */
function isNext(before: string | undefined, text: string | undefined): boolean {
  if (before === undefined || text === undefined || !/^\d{1,9}$/.test(text)) return false;
  return /^\d{1,9}$/.test(before) && Number(text) === Number(before) + 1;
}

/** Whether all parts of a name with dashes and dots are everybody's; numbers are nobody's. */
function isKnown(chars: Uint8Array, from: number, to: number): boolean {
  const first = chars[from] ?? 0;
  if (first >= 0x30 && first <= 0x39) return false;
  for (let at = from; at < to;) {
    let end = at;
    while (end < to && chars[end] !== 0x2d && chars[end] !== 0x2e) end += 1;
    if (!isPublicWord(chars, at, end)) return false;
    at = end + 1;
  }
  return true;
}
