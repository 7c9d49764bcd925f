/**
 * Restores the values of tags in a text that was read, partly hidden, and written back. A value
 * goes only to the line of the same file that already has it, so that it reaches no new place.
 * Pure.
 */
import { isUtf8 } from 'node:buffer';
import { tagPattern, type IssuedTags } from '../../redacted.ts';

/** Lines that one value may go over: a key in several lines is one. */
const valueLinesMax = 200;
const valueBytesMax = 64 * 1024;
/** What is compared with tags at most; beyond, nothing is put back. */
const stepsMax = 5_000;
const linesMax = 50_000;
const bytesMax = 16 * 1024 * 1024;

/**
 * The text with each tag that this runtime gave out replaced by its value. `null`: it is no text,
 * or of one of the tags no line of `before` has its value between the same words. White space
 * before a line, and white space, commas and semicolons behind it, may be others.
 *
 * @param before bytes as latin1, as are `after` and the answer
 */
export function restoreTagValues(before: string, after: string, tags: IssuedTags): string | null {
  if (after.includes('\0') || !isUtf8(Buffer.from(after, 'latin1'))) return null;
  const written = after.split('\n');
  if (written.length > linesMax || lineCount(before) > linesMax) return null;
  const search = new Search(before, tags);
  const isPlaced = (tag: string): boolean => tags.has(tag) && !before.includes(tag);
  const lines: string[] = [];
  for (const [index, line] of written.entries()) {
    const placed = [...line.matchAll(tagPattern)].filter(([tag]) => isPlaced(tag));
    if (placed.length === 0) {
      lines.push(line);
      continue;
    }
    const words: string[] = [];
    let at = 0;
    for (const { index: start, 0: tag } of placed) {
      words.push(line.slice(at, start));
      at = start + tag.length;
    }
    words.push(line.slice(at));
    const values = search.find({
      tags: placed.map(([tag]) => tag),
      words,
      above: index === 0 ? null : saidOf(written[index - 1] ?? ''),
    });
    if (values === null) return null;
    lines.push(words.map((word, place) => word + (values[place] ?? '')).join(''));
  }
  return lines.join('\n');
}

/** Offsets of a line, without its end, and of what it says. */
interface Line {
  readonly start: number;
  readonly end: number;
  readonly said: { readonly start: number; readonly end: number };
}

interface Wanted {
  readonly tags: readonly string[];
  /** Before, between and behind them: one more. */
  readonly words: readonly string[];
  /** What the line above says; `null`: there is none. */
  readonly above: string | null;
}

const lead = new Set([' ', '\t']);
const trail = new Set([' ', '\t', '\r', ',', ';']);

class Search {
  readonly #text: string;
  readonly #tags: IssuedTags;
  readonly #lines: readonly Line[];
  /** Lines whose value was put back: none is put there twice. */
  readonly #used = new Set<number>();
  #steps = 0;
  #bytes = 0;

  constructor(text: string, tags: IssuedTags) {
    this.#text = text;
    this.#tags = tags;
    const lines: Line[] = [];
    let start = 0;
    for (const { length } of text.split('\n')) {
      const end = start + length;
      lines.push({ start, end, said: saidIn(text, start, end) });
      start = end + 1;
    }
    this.#lines = lines;
  }

  /** The values of the tags, which stand between words of one line; `null`: no line has them. */
  find(wanted: Wanted): string[] | null {
    const { tags, words, above } = wanted;
    const [first = ''] = words;
    const head = first.slice(saidIn(first, 0, first.length).start);
    const able = [...this.#lines.entries()].flatMap(([index, { said }]) =>
      !this.#used.has(index) && this.#text.startsWith(head, said.start)
        ? [{ index, from: said.start + head.length }]
        : [],
    );
    // One of several lines is looked for where no value of one line is it, below the same line.
    for (const more of tags.length === 1 ? [0, valueLinesMax] : [0]) {
      for (const { index, from } of able) {
        if (this.#isSpent()) return null;
        if (more > 0 && this.#above(index) !== above) continue;
        const found = this.#from(wanted, from, { first: index + Math.min(more, 1), more });
        if (found === null) continue;
        this.#used.add(index);
        return found;
      }
    }
    return null;
  }

  #above(index: number): string | null {
    const line = this.#lines[index - 1];
    return line === undefined ? null : this.#text.slice(line.said.start, line.said.end);
  }

  /** With the end of the last value on `first` or one of the lines behind it. */
  #from(
    { tags, words }: Wanted,
    from: number,
    { first, more }: { readonly first: number; readonly more: number },
  ): string[] | null {
    const last = words.at(-1) ?? '';
    const { end: lastEnd } = saidIn(last, 0, last.length);
    for (const line of this.#lines.slice(first, first + Math.max(more, 1))) {
      if (line.end - from > valueBytesMax || this.#isSpent()) return null;
      this.#steps += 1;
      const whole = [line.end, last] as const;
      const said = [line.said.end, last.slice(0, lastEnd)] as const;
      const isSame = whole[0] === said[0] && whole[1] === said[1];
      for (const [stop, behind] of isSame ? [whole] : [whole, said]) {
        const end = stop - behind.length;
        if (end <= from || !this.#text.startsWith(behind, end)) continue;
        const found = this.#between(tags, words, this.#text.slice(from, end));
        if (found !== null) return found;
      }
    }
    return null;
  }

  /** `text` is the first tag's value, the word behind it, and so on to the last tag's value. */
  #between(tags: readonly string[], words: readonly string[], text: string): string[] | null {
    const [tag = '', ...tagsLeft] = tags;
    if (tagsLeft.length === 0) return this.#isOf(tag, text) ? [text] : null;
    const [, word = '', ...wordsLeft] = words;
    for (let at = text.indexOf(word, 1); at >= 0 && !this.#isSpent();) {
      const value = text.slice(0, at);
      const rest = this.#isOf(tag, value)
        ? this.#between(tagsLeft, [word, ...wordsLeft], text.slice(at + word.length))
        : null;
      if (rest !== null) return [value, ...rest];
      at = at < text.length ? text.indexOf(word, at + 1) : -1;
    }
    return null;
  }

  #isOf(tag: string, value: string): boolean {
    if (value === '' || this.#isSpent()) return false;
    this.#steps += 1;
    this.#bytes += value.length;
    return this.#tags.isOf(tag, Buffer.from(value, 'latin1'));
  }

  #isSpent(): boolean {
    return this.#steps >= stepsMax || this.#bytes >= bytesMax;
  }
}

/** Without white space before it, and white space, commas and semicolons behind it. */
function saidIn(text: string, from: number, to: number): { start: number; end: number } {
  let [start, end] = [from, to];
  while (start < end && lead.has(text.charAt(start))) start += 1;
  while (end > start && trail.has(text.charAt(end - 1))) end -= 1;
  return { start, end };
}

function saidOf(text: string): string {
  const { start, end } = saidIn(text, 0, text.length);
  return text.slice(start, end);
}

function lineCount(text: string): number {
  let count = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}
