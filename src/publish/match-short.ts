/**
 * Denied files that are too short for fingerprints: a token, a password, a host name in a file of
 * its own. They are found whole or not at all. Only what looks like a token counts as found: a
 * file that says `module.exports = {}` says nothing. Files of fewer than `shortCharsMin`
 * characters are not looked for: whatever is that short is everywhere.
 */
import { gramChars } from './fingerprint.ts';
import type { Content } from './index-contents.ts';
import type { Chain } from './match-chain.ts';
import type { Run } from './match-run.ts';
import { lineEnd, type NormalText } from './view-normal.ts';

export const shortCharsMin = 8;
/** Token-like contents of so many characters are reviewed, and blocked. */
const reviewedCharsMin = 12;
const blockedCharsMin = 20;
/** Longer contents are scored as any other. */
const tokenCharsMax = 128;
const reviewScore = 60;
const blockScore = 120;

export class ShortContents {
  /** By the hash of their first characters. */
  readonly #byStart = new Map<number, Content[]>();

  add(content: Content): void {
    const start = startOf(content);
    if (start === null) return;
    const list = this.#byStart.get(start);
    if (list === undefined) this.#byStart.set(start, [content]);
    else list.push(content);
  }

  delete(content: Content): void {
    const start = startOf(content);
    const list = start === null ? undefined : this.#byStart.get(start);
    if (start === null || list === undefined) return;
    list.splice(list.indexOf(content), 1);
    if (list.length === 0) this.#byStart.delete(start);
  }

  /** Where the text has one of them whole. */
  runs(text: NormalText): Run[] {
    if (this.#byStart.size === 0) return [];
    const runs: Run[] = [];
    const chars = text.chars.subarray(0, text.length).filter((char) => char !== lineEnd);
    const places = new Uint32Array(chars.length);
    for (let [i, n] = [0, 0]; i < text.length; i += 1) {
      if (text.chars[i] === lineEnd) continue;
      places[n] = i;
      n += 1;
    }
    for (let at = 0; at + shortCharsMin <= chars.length; at += 1) {
      for (const content of this.#byStart.get(hashStart(chars, at)) ?? []) {
        const said = withoutLineEnds(content.chars);
        const end = at + said.length;
        if (end > chars.length || said.some((char, i) => chars[at + i] !== char)) continue;
        if (
          continues(text, places[at - 1], places[at]) &&
          continues(text, places[end - 1], places[end])
        ) {
          continue;
        }
        runs.push({
          content,
          textFrom: places[at] ?? 0,
          textTo: (places[end - 1] ?? 0) + 1,
          from: 0,
          to: content.chars.length,
          length: said.length,
        });
      }
    }
    return runs;
  }

  /** The score of a chain that has a token-like content whole is at least that of a token. */
  weighed(chain: Chain, novel: number): number {
    const { content, length } = chain;
    if (length > tokenCharsMax || chain.runs.length > 1) return novel;
    const said = withoutLineEnds(content.chars);
    if (length < said.length || !tokenLike(said)) return novel;
    if (length >= blockedCharsMin) return Math.max(novel, blockScore);
    return length >= reviewedCharsMin ? Math.max(novel, reviewScore) : novel;
  }
}

/** Whether two characters of the text stand side by side and are both of a word. */
function continues(text: NormalText, one: number | undefined, two: number | undefined): boolean {
  if (one === undefined || two === undefined) return false;
  const adjacent = (text.at[one] ?? 0) + 1 === text.at[two];
  return adjacent && isWord(text.chars[one] ?? 0) && isWord(text.chars[two] ?? 0);
}

function isWord(char: number): boolean {
  return /[A-Za-z0-9_]/.test(String.fromCharCode(char));
}

function startOf(content: Content): number | null {
  const said = withoutLineEnds(content.chars);
  return said.length >= shortCharsMin && said.length < gramChars ? hashStart(said, 0) : null;
}

function hashStart(chars: Uint8Array, from: number): number {
  let hash = 0;
  for (let at = from; at < from + shortCharsMin; at += 1) {
    hash = (Math.imul(hash, 0x2c9277b5) + (chars[at] ?? 0)) | 0;
  }
  return hash;
}

/** Of short contents; of others the beginning, which is too long for what is asked. */
function withoutLineEnds(chars: Uint8Array): Uint8Array {
  return chars.subarray(0, 4 * tokenCharsMax).filter((char) => char !== lineEnd);
}

/**
 * One word with at least two digits among letters, or of both cases with a digit: what generators
 * make. Words with dots, brackets or blanks in them are text.
 */
function tokenLike(said: Uint8Array): boolean {
  const text = Buffer.from(said).toString('latin1');
  const word = /^(?:[\w.-]{1,40}[=:]"?)?([\w+/=.~!@#$%^&*-]{10,})"?;?$/.exec(text)?.[1] ?? '';
  const digits = word.replaceAll(/[^0-9]/g, '').length;
  const letters = word.replaceAll(/[^A-Za-z]/g, '').length;
  return digits >= 2 && letters >= 4 && new Set(word).size >= 8;
}
