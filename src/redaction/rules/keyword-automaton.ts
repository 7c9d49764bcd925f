/**
 * Finds many literals in one pass over bytes (Aho-Corasick), ASCII letters of either case alike. A
 * step is one look-up in a table of a row per state and a column per class of bytes.
 */

/** Where keywords end, in order of place: pairs of keyword and end offset. */
export interface KeywordHits {
  pairs: Int32Array;
  count: number;
}

/** What was read of keywords: the longest end of it that some keyword begins with. */
interface State {
  /** These keywords begin with it; they lie side by side, and the shortest is the first. */
  readonly from: number;
  readonly to: number;
  readonly depth: number;
  /** Where the next longest such end has its row. */
  readonly fail: number;
  /** The keywords that end there, longest first. */
  readonly ends: readonly number[];
}

interface Keyword {
  readonly text: string;
  readonly index: number;
}

const unknown = -1;
const rowsAtFirst = 64;

/**
 * A step is computed when it is first taken: what a command prints begins few of a thousand
 * keywords, and the redactor, which all wait for, has no table to build as it starts.
 */
export class KeywordAutomaton {
  /** By byte, its class; 0: in no keyword. */
  readonly classes = new Uint8Array(256);
  /**
   * `next[row | class]`: the next row. Below 0: {@link unknown}, or the complement of a row at
   * which a keyword ends. Replaced as it grows.
   */
  next: Int32Array;
  /** By class, the lower-case letter, or what else it is. */
  readonly #letters = [0];
  readonly #sorted: readonly Keyword[];
  readonly #states: State[] = [];
  readonly #shift: number;

  /** `keywords` are lower-case ASCII without a newline, none empty, none twice. */
  constructor(keywords: readonly string[]) {
    for (const keyword of keywords) this.#classify(keyword);
    this.#shift = Math.max(1, Math.ceil(Math.log2(this.#letters.length)));
    this.#sorted = keywords
      .map((text, index) => ({ text, index }))
      .toSorted((one, other) => (one.text < other.text ? -1 : 1));
    this.next = new Int32Array(rowsAtFirst << this.#shift).fill(unknown);
    this.#states.push({ from: 0, to: keywords.length, depth: 0, fail: 0, ends: [] });
  }

  /** A step that was unknown: what `next` holds for it from now on. */
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

  /** Which keywords of a state go on with a class. */
  #among({ from, to, depth }: State, symbol: number): readonly [number, number] {
    const letter = this.#letters[symbol] ?? 0;
    const first = this.#sorted[from]?.text.length === depth ? from + 1 : from;
    const begin = this.#firstFrom([first, to], depth, letter);
    return [begin, this.#firstFrom([begin, to], depth, letter + 1)];
  }

  /** The first of some keywords, sorted by what they have at `depth`, that has `letter` or more. */
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

/** An automaton, and what it finds. */
export interface KeywordSearch {
  readonly automaton: KeywordAutomaton;
  readonly hits: KeywordHits;
}

/** Writes to `hits` where keywords end in `bytes[from, to)`. */
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
 * As {@link scanKeywords} for two automata over all of the bytes: each step waits for the one
 * before it, and two that take turns wait half as long.
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

/** The row after a step that is unknown, or leads to the end of keywords. */
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
