/** Runs: stretches of a text and of a denied content that are the same, character by character. */
import type { IndexedContent } from './index-contents.ts';
import { ignoredChars, type NormalText } from './view-normal.ts';

/** Offsets `[from, to)` of characters, what comparisons pass over not counted in `length`. */
export interface MatchRun {
  readonly content: IndexedContent;
  readonly textFrom: number;
  readonly textTo: number;
  readonly from: number;
  readonly to: number;
  readonly length: number;
}

/** The longest run through the character `textAt` of the text and `at` of the content. */
export function findRunThrough(
  text: NormalText,
  textAt: number,
  content: IndexedContent,
  at: number,
): MatchRun {
  const { chars, length } = text;
  const denied = content.chars;
  let [textTo, to] = [textAt, at];
  let same = 0;
  for (let [i, j] = [textAt, at]; i < length && j < denied.length; i += 1, j += 1) {
    while (i < length && ignoredChars[chars[i] ?? 0] === 1) i += 1;
    while (j < denied.length && ignoredChars[denied[j] ?? 0] === 1) j += 1;
    if (i === length || j === denied.length || chars[i] !== denied[j]) break;
    same += 1;
    [textTo, to] = [i + 1, j + 1];
  }
  let [textFrom, from] = [textAt, at];
  for (let [i, j] = [textAt - 1, at - 1]; i >= 0 && j >= 0; i -= 1, j -= 1) {
    while (i >= 0 && ignoredChars[chars[i] ?? 0] === 1) i -= 1;
    while (j >= 0 && ignoredChars[denied[j] ?? 0] === 1) j -= 1;
    if (i < 0 || j < 0 || chars[i] !== denied[j]) break;
    same += 1;
    [textFrom, from] = [i, j];
  }
  return { content, textFrom, textTo, from, to, length: same };
}
