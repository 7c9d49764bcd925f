/**
 * Finds many literals in one pass over bytes (Aho-Corasick), ignoring the case of ASCII letters.
 * Each step is one look-up in a table with a row for each state and a column for each class of
 * bytes.
 */

/** The ends of keywords, in order of position: pairs of keyword and end offset. */
export interface KeywordHits {
  pairs: Int32Array;
  count: number;
}

/** A prefix of keywords: the longest one that the text read so far ends with. */
interface State {
  /** The sorted keywords with this prefix; the shortest is the first. */
  readonly from: number;
  readonly to: number;
  readonly depth: number;
  /** The row of the next longest such prefix. */
  readonly fail: number;
  /** The keywords that end here, longest first. */
  readonly ends: readonly number[];
}

interface Keyword {
  readonly text: string;
  readonly index: number;
}

const unknown = -1;
const rowsAtFirst = 64;

/**
 * A step is computed on first use: output contains the beginnings of few of a thousand keywords,
 * and the redactor, which everyone waits for, has no table to build at its start.
 */
export class KeywordAutomaton {
  /** The class of each byte; 0: it is in no keyword. */
  readonly classes = new Uint8Array(256);
  /**
   * `next[row | class]`: the next row. Below 0: {@link unknown}, or the complement of a row where a
   * keyword ends. It is replaced when it grows.
   */
  next: Int32Array;
  /** By class, the lower-case letter or other character. */
  readonly #letters = [0];
  readonly #sorted: readonly Keyword[];
  readonly #states: State[] = [];
  readonly #shift: number;

  /** @param keywords lower-case ASCII without newlines, not empty, each once */
  constructor(keywords: readonly string[]) {
    for (const keyword of keywords) this.#classify(keyword);
    this.#shift = Math.max(1, Math.ceil(Math.log2(this.#letters.length)));
    this.#sorted = keywords
      .map((text, index) => ({ text, index }))
      .toSorted((one, other) => (one.text < other.text ? -1 : 1));
    this.next = new Int32Array(rowsAtFirst << this.#shift).fill(unknown);
    this.#states.push({ from: 0, to: keywords.length, depth: 0, fail: 0, ends: [] });
  }

  /** Computes an unknown step and stores it in `next`. */
  learn(row: number, symbol: number): number {
    const state = this.#at(row);
    const [from, to] = this.#among(state, symbol);
    const back = row === 0 ? 0 : this.#step(state.fail, symbol);
    const found = from < to ? this.#add([from, to], state.depth + 1, back) : back;
    this.next[row | symbol] = found;
    return found;
  }

  endsAt(row: number): readonly number[] {
    return this.#at(row).ends;
  }

  #at(row: number): State {
    const state = this.#states[row >> this.#shift];
    if (state === undefined) throw new RangeError(`no state has row ${row}`);
    return state;
  }

  #step(row: number, symbol: number): number {
    const known = this.next[row | symbol] ?? unknown;
    return known === unknown ? this.learn(row, symbol) : known;
  }

  #add([from, to]: readonly [number, number], depth: number, back: number): number {
    const fail = back < 0 ? ~back : back;
    const first = this.#sorted[from];
    const { ends } = this.#at(fail);
    const isEnd = first?.text.length === depth;
    const row = this.#states.length << this.#shift;
    this.#states.push({ from, to, depth, fail, ends: isEnd ? [first.index, ...ends] : ends });
    if (row === this.next.length) {
      const grown = new Int32Array(2 * row).fill(unknown, row);
      grown.set(this.next);
      this.next = grown;
    }
    return isEnd || ends.length > 0 ? ~row : row;
  }

  /** The keywords of a state that continue with a class. */
  #among({ from, to, depth }: State, symbol: number): readonly [number, number] {
    const letter = this.#letters[symbol] ?? 0;
    const first = this.#sorted[from]?.text.length === depth ? from + 1 : from;
    const begin = this.#firstFrom([first, to], depth, letter);
    return [begin, this.#firstFrom([begin, to], depth, letter + 1)];
  }

  /** The first of the keywords, sorted by the character at `depth`, that has `letter` or more. */
  #firstFrom([from, to]: readonly [number, number], depth: number, letter: number): number {
    let [low, high] = [from, to];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#sorted[middle]?.text.charCodeAt(depth) ?? 0) < letter) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #classify(keyword: string): void {
    for (let at = 0; at < keyword.length; at += 1) {
      const code = keyword.charCodeAt(at);
      if (this.classes[code] !== 0) continue;
      const symbol = this.#letters.push(code) - 1;
      this.classes[code] = symbol;
      if (code >= 0x61 && code <= 0x7a) this.classes[code - 0x20] = symbol;
    }
  }
}

/** An automaton with its results. */
export interface KeywordSearch {
  readonly automaton: KeywordAutomaton;
  readonly hits: KeywordHits;
}

/** Writes to `hits` the ends of keywords in `bytes[from, to)`. */
export function scanKeywords(
  { automaton, hits }: KeywordSearch,
  bytes: Uint8Array,
  [from, to]: readonly [number, number],
): void {
  const { classes } = automaton;
  let { next } = automaton;
  hits.count = 0;
  let row = 0;
  for (let at = from; at < to; at += 1) {
    const symbol = classes[bytes[at] ?? 0] ?? 0;
    const before = row;
    row = next[before | symbol] ?? 0;
    if (row >= 0) continue;
    row = arrive({ automaton, hits }, [before, symbol, row], at + 1);
    ({ next } = automaton);
  }
}

/**
 * As {@link scanKeywords}, with two automata over all of the bytes: each step of one waits for the
 * step before it, so two in turns wait half as long.
 */
export function scanTwoAutomata(one: KeywordSearch, other: KeywordSearch, bytes: Uint8Array): void {
  const { classes } = one.automaton;
  const { classes: classes2 } = other.automaton;
  let { next } = one.automaton;
  let { next: next2 } = other.automaton;
  one.hits.count = 0;
  other.hits.count = 0;
  let row = 0;
  let row2 = 0;
  const { length } = bytes;
  for (let at = 0; at < length; at += 1) {
    const byte = bytes[at] ?? 0;
    const symbol = classes[byte] ?? 0;
    const symbol2 = classes2[byte] ?? 0;
    const before = row;
    const before2 = row2;
    row = next[before | symbol] ?? 0;
    row2 = next2[before2 | symbol2] ?? 0;
    if (row < 0) {
      row = arrive(one, [before, symbol, row], at + 1);
      ({ next } = one.automaton);
    }
    if (row2 < 0) {
      row2 = arrive(other, [before2, symbol2, row2], at + 1);
      ({ next: next2 } = other.automaton);
    }
  }
}

/** The row after a step that is unknown or ends keywords. */
function arrive(
  { automaton, hits }: KeywordSearch,
  [before, symbol, seen]: readonly [number, number, number],
  end: number,
): number {
  const found = seen === unknown ? automaton.learn(before, symbol) : seen;
  if (found >= 0) return found;
  for (const keyword of automaton.endsAt(~found)) push(hits, keyword, end);
  return ~found;
}

function push(hits: KeywordHits, keyword: number, end: number): void {
  if (2 * hits.count + 2 > hits.pairs.length) {
    const grown = new Int32Array(2 * hits.pairs.length);
    grown.set(hits.pairs);
    hits.pairs = grown;
  }
  hits.pairs[2 * hits.count] = keyword;
  hits.pairs[2 * hits.count + 1] = end;
  hits.count += 1;
}
