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

interface Node {
  readonly children: Map<number, Node>;
  /** Number in breadth-first order. */
  id: number;
  fail: Node | null;
  ends: number[];
}

/** `keywords` are lower-case ASCII without a newline, none empty. */
export function compile(keywords: readonly string[]): Automaton {
  const { classes, count } = classify(keywords);
  const root: Node = { children: new Map(), id: 0, fail: null, ends: [] };
  for (const [index, keyword] of keywords.entries()) insert(root, classes, keyword, index);
  const nodes = link(root);
  const shift = Math.max(1, Math.ceil(Math.log2(count)));
  const order = [...nodes].toSorted(
    (one, other) =>
      Number(one.ends.length > 0) - Number(other.ends.length > 0) || one.id - other.id,
  );
  const place = new Uint16Array(nodes.length);
  for (const [at, node] of order.entries()) place[node.id] = at;
  const next = new Uint16Array(nodes.length << shift);
  // In breadth-first order the row of the failure state is complete when it is copied.
  for (const node of nodes) {
    const row = (place[node.id] ?? 0) << shift;
    const base = (place[node.fail?.id ?? 0] ?? 0) << shift;
    if (node.fail !== null) next.copyWithin(row, base, base + (1 << shift));
    for (const [symbol, child] of node.children) next[row | symbol] = place[child.id] ?? 0;
  }
  const firstEnd = order.findIndex(({ ends }) => ends.length > 0);
  const ends = order.slice(firstEnd < 0 ? order.length : firstEnd).map((node) => node.ends);
  return { classes, next, shift, firstEnd: firstEnd < 0 ? order.length : firstEnd, ends };
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

function insert(root: Node, classes: Uint8Array, keyword: string, index: number): void {
  let node = root;
  for (let at = 0; at < keyword.length; at += 1) {
    const symbol = classes[keyword.charCodeAt(at)] ?? 0;
    let child = node.children.get(symbol);
    if (child === undefined) {
      child = { children: new Map(), id: 0, fail: null, ends: [] };
      node.children.set(symbol, child);
    }
    node = child;
  }
  node.ends.push(index);
}

/** Sets the failure links; answers all nodes in breadth-first order. */
function link(root: Node): Node[] {
  const nodes = [root];
  for (const node of nodes) {
    for (const [symbol, child] of node.children) {
      child.id = nodes.length;
      nodes.push(child);
      let back = node.fail;
      while (back !== null && !back.children.has(symbol)) back = back.fail;
      child.fail = back?.children.get(symbol) ?? root;
      child.ends = [...child.ends, ...child.fail.ends];
    }
  }
  return nodes;
}
