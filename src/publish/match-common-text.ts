/**
 * The parts of a passage that anyone can write without copying: alphabets, numbering, lists of
 * known words, addresses of public hosts, notices and directives.
 *
 * Lists: keywords, names of events, months. Two authors write the same list independently, so a
 * common word counts little in a list, and less in a sorted one.
 */
import { isPublicWord, publicSuffix } from './background.ts';
import { unitEnd } from './index-lines.ts';
import { lineEnd } from './view-normal.ts';

/**
 * Characters around a passage that are examined with it: words and lists continue beyond its ends.
 */
const around = 64;
/** So many characters in ascending order are a sequence, and no text. */
const risingMin = 5;
const repeatedMin = 8;
/** A long common word counts no more than a short one. */
const wordChars = 8;
const longWord = /\w{12,32}/g;
const dependency = /("(?:@[\w.-]{1,40}\/)?[\w.-]{1,60}"):"[\^~<>=v]{0,3}\d+(?:\.[\dx*]+){0,2}",?/g;
const noticeCharsMax = 200;
const addressCharsMax = 160;

const elements =
  'a|abbr|article|b|blockquote|body|br|button|code|dd|div|dl|dt|em|footer|form|g|h[1-6]|head|' +
  'header|hr|html|i|img|input|label|li|link|main|meta|nav|ol|option|p|path|pre|script|section|' +
  'select|small|span|strong|style|svg|table|tbody|td|th|thead|title|tr|ul';
const attributes =
  'align|alink|alt|bgcolor|border|cellpadding|cellspacing|class|className|color|content|height|' +
  'href|id|lang|link|name|rel|src|style|text|title|type|valign|vlink|width';
const markup = new RegExp(
  String.raw`</?(?:${elements})(?=[>/"]|[a-zA-Z-]{1,20}=|$)/?>?|"?(?:${attributes})="|"/?>`,
  'gi',
);
/**
 * White space is already removed. Directives to tools that read source files, without their
 * reasons.
 */
const directive = new RegExp(
  String.raw`^[/*#<!\-{("]{0,6}(?:` +
    String.raw`eslint-(?:disable|enable)(?:-next-line|-line)?(?:[\w@/,]|-(?!-))*|` +
    String.raw`@ts-(?:ignore|expect-error|nocheck|check)|istanbulignore(?:next|if|else|file)?|` +
    String.raw`(?:c8|v8)ignore(?:next|start|stop)?|prettier-ignore|noqa(?::[\w,]+)?|` +
    String.raw`pylint:(?:disable|enable)=[\w,-]*|type:ignore|@flow|usestrict)`,
  'i',
);
const notice = new RegExp(
  String.raw`(?:copyright|\(c\)|©).{0,12}(?:19|20)\d\d|(?:19|20)\d\d.{0,16}copyright|` +
    String.raw`licensed?underthe|seetheLICENSE(?:file|for)|allrightsreserved|SPDX-License-Ident`,
  'i',
);

/** A mark (1) for each character of `chars[from, to)` that anyone can write without copying. */
export function markCommonText(chars: Uint8Array, from: number, to: number): Uint8Array {
  const first = Math.max(0, from - around);
  const last = Math.min(chars.length, to + around);
  const marks = new Uint8Array(last - first);
  markRepeats(chars, first, last, marks);
  markRising(chars, first, last, marks);
  markCounting(chars, first, last, marks);
  markWordEnds(chars, first, last, marks);
  markTags(chars, first, last, marks);
  markDependencies(chars, first, last, marks);
  markWordLists(chars, first, last, marks);
  markAddresses(chars, first, last, marks);
  markLines(chars, first, last, marks);
  return marks.subarray(from - first, to - first);
}

/** Zeros, rules, padding. */
function markRepeats(chars: Uint8Array, from: number, to: number, marks: Uint8Array): void {
  for (let at = from; at < to;) {
    const start = at;
    while (at < to && chars[at] === chars[start]) at += 1;
    if (at - start >= repeatedMin) marks.fill(1, start - from, at - from);
  }
}

/** `abcdef`, `0123456789`, also in characters of two bytes. */
function markRising(chars: Uint8Array, from: number, to: number, marks: Uint8Array): void {
  for (const [first, step] of [
    [from, 1],
    [from, 2],
    [from + 1, 2],
  ] as const) {
    let start = first;
    for (let at = first + step; at <= to; at += step) {
      if (at + step <= to && isRise(chars, at, step)) continue;
      if (at - start >= risingMin * step) marks.fill(1, start - from, at - from);
      start = at;
    }
  }
}

function isRise(chars: Uint8Array, at: number, step: number): boolean {
  if (step === 2 && (chars[at] !== chars[at - 2] || (chars[at] ?? 0) < 0xc0)) return false;
  return chars[at + step - 1] === (chars[at - 1] ?? 0) + 1;
}

/** Scheme, public host, and the known words and short numbers of the path. */
function markAddresses(chars: Uint8Array, from: number, to: number, marks: Uint8Array): void {
  for (let at = chars.indexOf(0x3a, from); at >= 0 && at < to; at = chars.indexOf(0x3a, at + 1)) {
    if (chars[at + 1] !== 0x2f || chars[at + 2] !== 0x2f) continue;
    const text = latin1(chars, Math.max(from, at - 5), Math.min(to, at + addressCharsMax));
    const found = /^.{0,5}?(https?:\/\/)([\w.-]+)([\w./#?=&%~+@:-]*)/.exec(text);
    const [whole = '', scheme = '', host = '', path = ''] = found ?? [];
    const suffix = publicSuffix(host);
    if (found === null || (suffix === '' && !host.startsWith('www.'))) continue;
    const start = Math.max(from, at - 5) + whole.length - scheme.length - host.length - path.length;
    const pathStart = start + scheme.length + host.length;
    marks.fill(1, start - from, start + scheme.length - from);
    if (suffix !== '') {
      // The name of a project or company before the host is a word like any other.
      markWords(chars, [start + scheme.length, pathStart - suffix.length], marks, from);
      marks.fill(1, pathStart - suffix.length - from, pathStart - from);
    }
    markWords(chars, [pathStart, pathStart + path.length], marks, from);
  }
}

function markWords(
  chars: Uint8Array,
  [from, to]: readonly [number, number],
  marks: Uint8Array,
  base: number,
): void {
  const text = latin1(chars, from, to);
  for (const { 0: part, index } of text.matchAll(/[A-Za-z0-9_]+|[^A-Za-z0-9_]+/g)) {
    const [start, end] = [from + index, from + index + part.length];
    const known = /^\d{1,4}$|^\W+$/.test(part) || isPublicWord(chars, start, end);
    if (known) marks.fill(1, start - base, end - base);
  }
}

/** `case 7: case 8: case 9:`: each step of a count after the first. */
function markCounting(chars: Uint8Array, from: number, to: number, marks: Uint8Array): void {
  let before: readonly [number, string] | null = null;
  for (const { 0: step, 1: digits, 2: separator = '', index } of latin1(chars, from, to).matchAll(
    /(\d{1,6})([^\d]{1,40})(?=\d)/g,
  )) {
    const number = Number(digits);
    const goesOn = before?.[0] === number - 1 && before[1] === separator;
    if (goesOn) marks.fill(1, index, index + step.length);
    before = [number, separator];
  }
}

/** The rest of long common words. */
function markWordEnds(chars: Uint8Array, from: number, to: number, marks: Uint8Array): void {
  for (const { 0: word, index } of latin1(chars, from, to).matchAll(longWord)) {
    if (!isPublicWord(chars, from + index, from + index + word.length)) continue;
    marks.fill(1, index + wordChars, index + word.length);
  }
}

/** Names of elements and attributes; the content is between and within them. */
function markTags(chars: Uint8Array, from: number, to: number, marks: Uint8Array): void {
  if (!chars.subarray(from, to).includes(0x3c)) return;
  for (const { 0: tag, index } of latin1(chars, from, to).matchAll(markup)) {
    marks.fill(1, index, index + tag.length);
  }
}

/** `"name":"^1.2.3",`: the version, and the rest of a long name of common words. */
function markDependencies(chars: Uint8Array, from: number, to: number, marks: Uint8Array): void {
  for (const found of latin1(chars, from, to).matchAll(dependency)) {
    const [entry, name = ''] = found;
    const start = from + found.index;
    marks.fill(1, found.index + name.length, found.index + entry.length);
    const words = name.matchAll(/\w+/g);
    const known = words.every((word) => {
      const at = start + word.index;
      return isPublicWord(chars, at, at + word[0].length);
    });
    if (known) marks.fill(1, found.index + wordChars, found.index + name.length);
  }
}

/** Directives and notices. */
function markLines(chars: Uint8Array, from: number, to: number, marks: Uint8Array): void {
  for (let at = from; at < to;) {
    const end = Math.min(to, unitEnd(chars, at));
    const text = latin1(chars, at, Math.min(end, at + noticeCharsMax + 1));
    const directiveLength = directive.exec(text)?.[0].length ?? 0;
    if (text.length <= noticeCharsMax && notice.test(text)) marks.fill(1, at - from, end - from);
    else if (directiveLength > 0) marks.fill(1, at - from, at + directiveLength - from);
    at = chars[end] === lineEnd ? end + 1 : Math.max(end, at + 1);
  }
}

function latin1(chars: Uint8Array, from: number, to: number): string {
  return Buffer.from(chars.subarray(from, to)).toString('latin1');
}

/** Fewer words between equal marks are no list. */
const itemsMin = 8;
const itemCharsMax = 40;
const separatorCharsMax = 6;
/** The worth of one known word in a list: one of 40,000 is about 15 bits, three characters. */
const chosenChars = 3;
const orderedChars = 1;
/** The share of sorted neighbours from which a list counts as sorted. */
const orderedShare = 0.8;
/** `, | " + [ ]` */
const separators = new Set([0x2c, 0x7c, 0x22, 0x2b, 0x5b, 0x5d, lineEnd]);

type Item = readonly [from: number, to: number];

/**
 * Marks (1) the characters of lists in `chars[from, to)` that do not count; `marks[0]` is for
 * `from`.
 */
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

/** The end of the separator between two words; `from` if it is none. */
function separatorEnd(chars: Uint8Array, from: number, to: number): number {
  let at = from;
  let length = 0;
  while (at < to && separators.has(chars[at] ?? 0)) {
    if (chars[at] !== lineEnd) length += 1;
    at += 1;
  }
  return length <= separatorCharsMax && (at === to || isItem(chars[at] ?? 0)) ? at : from;
}

/** Letters, digits, `_ $ - .`; also other scripts, whose words are never common. */
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
    // A separator between two unknown words counts as part of them.
    if (known && knownTo > 0) marks.fill(1, knownTo - base, from - base);
    knownTo = known ? to : 0;
    const countedTo = next ? from : from + (ordered ? orderedChars : chosenChars);
    if (known && countedTo < to) marks.fill(1, countedTo - base, to - base);
  }
}

/** Whether a number follows the one before it. */
function isNext(before: string | undefined, text: string | undefined): boolean {
  if (before === undefined || text === undefined || !/^\d{1,9}$/.test(text)) return false;
  return /^\d{1,9}$/.test(before) && Number(text) === Number(before) + 1;
}

/** Whether all parts of a name with dashes and dots are common words. Numbers are not. */
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
