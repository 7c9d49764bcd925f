/**
 * Denied files that are too short for fingerprints: a token, a password, a host name in a file of
 * its own. They are found only as a whole, and only if they look like a token: a file
 * `module.exports = {}` is no news. Files of fewer than 12 characters, and other short ones, are
 * never found, since their text occurs everywhere.
 */
import { gramChars, hashFactor, leavingFactor } from './fingerprint.ts';
import type { IndexedContent } from './index-table.ts';
import type { MatchChain, MatchRun } from './match-run.ts';
import { lineEnd, type NormalText } from './view-normal.ts';

/** Characters in the hash of a content's beginning. */
const shortCharsMin = 8;
const markBits = 0xffff;
/** A token-like content of so many characters is reviewed, or blocked. */
const reviewedCharsMin = 12;
const blockedCharsMin = 20;
/** Longer contents have the usual score. */
const tokenCharsMax = 128;
const reviewScore = 60;
const blockScore = 120;
const leaving = leavingFactor(shortCharsMin);

interface ShortContent {
  readonly content: IndexedContent;
  /** Without line ends. */
  readonly token: Uint8Array;
}

export class ShortContents {
  /** By the hash of the first characters. */
  readonly #byStart = new Map<number, ShortContent[]>();
  /** Marks for the last bits of these hashes: almost no position of a text needs the map. */
  readonly #marked = new Uint8Array(markBits + 1);

  add(content: IndexedContent): void {
    const token = shortOf(content);
    if (token === null) return;
    const start = hashStart(token);
    const list = this.#byStart.get(start);
    this.#marked[start & markBits] = 1;
    if (list === undefined) this.#byStart.set(start, [{ content, token }]);
    else list.push({ content, token });
  }

  delete(content: IndexedContent): void {
    const token = shortOf(content);
    if (token === null) return;
    const start = hashStart(token);
    const list = this.#byStart.get(start)?.filter((one) => one.content !== content) ?? [];
    if (list.length === 0) this.#byStart.delete(start);
    else this.#byStart.set(start, list);
  }

  /** Whether the content, if it is found as a whole, scores more than its characters. */
  has(content: IndexedContent): boolean {
    if (content.chars.length > 2 * tokenCharsMax) return false;
    const token = withoutLineEnds(content.chars);
    return token.length >= reviewedCharsMin && tokenLike(token);
  }

  /** The positions of whole contents in the text. */
  runs(text: NormalText): MatchRun[] {
    if (this.#byStart.size === 0) return [];
    const runs: MatchRun[] = [];
    const chars = new Uint8Array(text.length);
    const positions = new Uint32Array(text.length);
    let length = 0;
    const starts: number[] = [];
    const marked = this.#marked;
    let hash = 0;
    for (let i = 0; i < text.length; i += 1) {
      const char = text.chars[i] ?? 0;
      if (char === lineEnd) continue;
      chars[length] = char;
      positions[length] = i;
      const gone = length >= shortCharsMin ? (chars[length - shortCharsMin] ?? 0) : 0;
      hash = (Math.imul(hash, hashFactor) + char - Math.imul(gone, leaving)) | 0;
      length += 1;
      if (length < shortCharsMin || marked[hash & markBits] === 0) continue;
      if (this.#byStart.has(hash)) starts.push(length - shortCharsMin);
    }
    for (const at of starts) {
      for (const short of this.#startingAt(chars, at)) {
        const run = wholeRun(text, { chars, positions, length }, at, short);
        if (run !== null) runs.push(run);
      }
    }
    return runs;
  }

  #startingAt(chars: Uint8Array, at: number): readonly ShortContent[] {
    return this.#byStart.get(hashStart(chars.subarray(at))) ?? [];
  }

  /** The score of a chain with a whole token-like content is at least that of a token. */
  weigh(chain: MatchChain, novel: number): number {
    const { content, length } = chain;
    if (content.chars.length > 2 * tokenCharsMax || chain.runs.length > 1) return novel;
    const token = withoutLineEnds(content.chars);
    if (length < token.length || !tokenLike(token)) return novel;
    if (length >= blockedCharsMin) return Math.max(novel, blockScore);
    return length >= reviewedCharsMin ? Math.max(novel, reviewScore) : novel;
  }
}

/** Whether two characters of the text are neighbours within a word. */
function continues(text: NormalText, one: number, two: number): boolean {
  const adjacent = (text.at[one] ?? 0) + 1 === text.at[two];
  return adjacent && isWord(text.chars[one] ?? 0) && isWord(text.chars[two] ?? 0);
}

function isWord(char: number): boolean {
  return /[A-Za-z0-9_]/.test(String.fromCharCode(char));
}

/** The characters of a content that is too short for fingerprints and looks like a token. */
function shortOf(content: IndexedContent): Uint8Array | null {
  if (content.chars.length > 2 * gramChars) return null;
  const token = withoutLineEnds(content.chars);
  const short = token.length >= reviewedCharsMin && token.length < gramChars;
  return short && tokenLike(token) ? token : null;
}

interface Line {
  readonly chars: Uint8Array;
  /** The position of each character in the normalised text. */
  readonly positions: Uint32Array;
  readonly length: number;
}

/** `null`: it is incomplete, or within a longer word. */
function wholeRun(text: NormalText, line: Line, at: number, short: ShortContent): MatchRun | null {
  const { token, content } = short;
  const { chars, positions, length } = line;
  const end = at + token.length;
  if (end > length || token.some((char, i) => chars[at + i] !== char)) return null;
  const before = at > 0 && continues(text, positions[at - 1] ?? 0, positions[at] ?? 0);
  const after = end < length && continues(text, positions[end - 1] ?? 0, positions[end] ?? 0);
  if (before && after) return null;
  const textFrom = positions[at] ?? 0;
  const textTo = (positions[end - 1] ?? 0) + 1;
  return { content, textFrom, textTo, from: 0, to: content.chars.length, length: token.length };
}

function hashStart(chars: Uint8Array): number {
  let hash = 0;
  for (let at = 0; at < shortCharsMin; at += 1) {
    hash = (Math.imul(hash, hashFactor) + (chars[at] ?? 0)) | 0;
  }
  return hash;
}

/** For a long content only the beginning, which is already too long for a token. */
function withoutLineEnds(chars: Uint8Array): Uint8Array {
  return chars.subarray(0, 4 * tokenCharsMax).filter((char) => char !== lineEnd);
}

/**
 * Whether it looks generated: one word with at least two digits among letters. Words with dots,
 * brackets or blanks are text.
 */
function tokenLike(token: Uint8Array): boolean {
  const text = Buffer.from(token).toString('latin1');
  const word = /^(?:[\w.-]{1,40}[=:]"?)?([\w+/=.~!@#$%^&*-]{10,})"?;?$/.exec(text)?.[1] ?? '';
  const digits = word.replaceAll(/[^0-9]/g, '').length;
  const letters = word.replaceAll(/[^A-Za-z]/g, '').length;
  const rising = token.filter((char, i) => i > 0 && char === (token[i - 1] ?? 0) + 1).length;
  // An alphabet is as long and as mixed as a token, but no secret.
  if (rising * 2 > token.length) return false;
  return digits >= 2 && letters >= 4 && new Set(word).size >= 8;
}
