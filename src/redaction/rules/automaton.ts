/**
 * Finds many literals in one pass over bytes (Aho-Corasick as a table), ASCII letters of either
 * case alike. A step is one look-up in a table of a row per state and a column per class of bytes.
 */
export interface Automaton {
  /** By byte, its class; 0: in no keyword. */
  readonly classes: Uint8Array;
  /** `next[(state << shift) | class]`. */
  readonly next: Uint16Array;
  readonly shift: number;
  /** States from here on end at least one keyword. */
  readonly firstEnd: number;
  /** By state from `firstEnd` on: the keywords that end there, longest first. */
  readonly ends: readonly (readonly number[])[];
}

/** Where keywords end, in order of place: pairs of keyword and end offset. */
export interface Hits {
  pairs: Int32Array;
  count: number;
}

const none: readonly number[] = [];

/** The keywords as a tree. Its nodes are numbers, in breadth-first order; 0 is the root. */
interface Tree {
  /** The first node of each depth, and what follows the last node. */
  readonly levels: readonly number[];
  /** By node: the one before it, the class of bytes between, the one to go on from if none fits. */
  readonly parent: Uint16Array;
  readonly symbol: Uint8Array;
  readonly fail: Uint16Array;
  /** By node: the keywords that end there, longest first. */
  readonly ends: readonly (readonly number[])[];
}

/** `keywords` are lower-case ASCII without a newline, none empty. */
export function compile(keywords: readonly string[]): Automaton {
  const { classes, count } = classify(keywords);
  const { levels, parent, symbol, fail, ends } = plant(keywords, classes);
  const shift = Math.max(1, Math.ceil(Math.log2(count)));
  const ending = ends.filter((some) => some.length > 0);
  const firstEnd = ends.length - ending.length;
  const row = new Uint32Array(ends.length);
  let [plain, end] = [0, firstEnd];
  for (const [node, some] of ends.entries()) {
    row[node] = (some.length > 0 ? end++ : plain++) << shift;
  }
  const next = new Uint16Array(ends.length << shift);
  for (const [depth, from] of levels.entries()) {
    const to = levels[depth + 1] ?? from;
    for (let node = from; node < to; node += 1) {
      next[(row[parent[node] ?? 0] ?? 0) | (symbol[node] ?? 0)] = (row[node] ?? 0) >> shift;
    }
    // What it fails to is less deep: that row has all its steps by now.
    for (let node = from; node < to; node += 1) {
      const base = row[fail[node] ?? 0] ?? 0;
      next.copyWithin(row[node] ?? 0, base, base + (1 << shift));
    }
  }
  return { classes, next, shift, firstEnd, ends: ending };
}

/** Writes to `hits` where keywords end in `bytes[from, to)`. */
export function scan(
  { classes, next, shift, firstEnd, ends }: Automaton,
  bytes: Uint8Array,
  [from, to]: readonly [number, number],
  hits: Hits,
): void {
  hits.count = 0;
  let state = 0;
  for (let at = from; at < to; at += 1) {
    state = next[(state << shift) | (classes[bytes[at] ?? 0] ?? 0)] ?? 0;
    if (state < firstEnd) continue;
    for (const keyword of ends[state - firstEnd] ?? []) push(hits, keyword, at + 1);
  }
}

/** An automaton, and what it finds. */
export interface Search {
  readonly automaton: Automaton;
  readonly hits: Hits;
}

/**
 * As {@link scan} for two automata over all of the bytes: each step waits for the one before it,
 * and two that take turns wait half as long.
 */
export function scanTwo(one: Search, other: Search, bytes: Uint8Array): void {
  const { classes, next, shift, firstEnd } = one.automaton;
  const { classes: classes2, next: next2, shift: shift2, firstEnd: firstEnd2 } = other.automaton;
  one.hits.count = 0;
  other.hits.count = 0;
  let state = 0;
  let state2 = 0;
  const { length } = bytes;
  for (let at = 0; at < length; at += 1) {
    const byte = bytes[at] ?? 0;
    state = next[(state << shift) | (classes[byte] ?? 0)] ?? 0;
    state2 = next2[(state2 << shift2) | (classes2[byte] ?? 0)] ?? 0;
    if (state >= firstEnd) pushAll(one, state, at + 1);
    if (state2 >= firstEnd2) pushAll(other, state2, at + 1);
  }
}

function pushAll({ automaton, hits }: Search, state: number, end: number): void {
  for (const keyword of automaton.ends[state - automaton.firstEnd] ?? []) push(hits, keyword, end);
}

function push(hits: Hits, keyword: number, end: number): void {
  if (2 * hits.count + 2 > hits.pairs.length) {
    const grown = new Int32Array(2 * hits.pairs.length);
    grown.set(hits.pairs);
    hits.pairs = grown;
  }
  hits.pairs[2 * hits.count] = keyword;
  hits.pairs[2 * hits.count + 1] = end;
  hits.count += 1;
}

function classify(keywords: readonly string[]): { classes: Uint8Array; count: number } {
  const classes = new Uint8Array(256);
  let count = 1;
  for (const keyword of keywords) {
    for (let at = 0; at < keyword.length; at += 1) {
      const code = keyword.charCodeAt(at);
      if (classes[code] !== 0) continue;
      classes[code] = count;
      if (code >= 0x61 && code <= 0x7a) classes[code - 0x20] = count;
      count += 1;
    }
  }
  return { classes, count };
}

/** Without an object for each node: the redactor, which all wait for, does this as it starts. */
function plant(keywords: readonly string[], classes: Uint8Array): Tree {
  const most = keywords.reduce((sum, { length }) => sum + length, 1);
  const [parent, fail, symbol] = [
    new Uint16Array(most),
    new Uint16Array(most),
    new Uint8Array(most),
  ];
  const edges = new Map<number, number>();
  const step = (node: number, by: number): number => edges.get((node << 8) | by) ?? 0;
  const ends: (readonly number[])[] = [none];
  const levels = [1];
  const reached = new Uint16Array(keywords.length);
  let rest = [...keywords.keys()];
  for (let depth = 0; rest.length > 0; depth += 1) {
    for (const index of rest) {
      const keyword = keywords[index] ?? '';
      const before = reached[index] ?? 0;
      const by = classes[keyword.charCodeAt(depth)] ?? 0;
      let node = step(before, by);
      if (node === 0) {
        node = ends.push(none) - 1;
        edges.set((before << 8) | by, node);
        parent[node] = before;
        symbol[node] = by;
        for (let back = before; back !== 0 && fail[node] === 0;) {
          back = fail[back] ?? 0;
          fail[node] = step(back, by);
        }
        ends[node] = ends[fail[node] ?? 0] ?? none;
      }
      reached[index] = node;
      if (depth === keyword.length - 1) ends[node] = [index, ...(ends[node] ?? none)];
    }
    levels.push(ends.length);
    rest = rest.filter((index) => (keywords[index]?.length ?? 0) > depth + 1);
  }
  return { levels, parent, symbol, fail, ends };
}
