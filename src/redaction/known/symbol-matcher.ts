/**
 * Finds runs of symbols that are part of a known value, one symbol after another: the result does
 * not depend on how many are added at once.
 */
import { hashedSymbols, symbolsMin, windowSymbolsMax } from './value-forms.ts';
import type { KnownIndex, KnownNeedle, WindowTable } from './known-index.ts';
import type { SymbolBuffer } from './squeezer.ts';
import {
  breakSymbol,
  hashFilterBits,
  hashMultiplier,
  leavingWeights,
  spreadHash,
} from './symbols.ts';

/** Secret symbols `[first, last]`. */
export interface SecretRun {
  first: number;
  last: number;
  /** The needle at its start, and whether the run begins where the needle does. */
  readonly needle: KnownNeedle;
  readonly whole: boolean;
  /** The needle at its end, the offset of its next symbol, and whether the run can continue. */
  lastNeedle: KnownNeedle;
  next: number;
  alive: boolean;
  /** Hidden bytes so far. */
  hidden: number;
  begun: boolean;
}

const longOut = leavingWeights(hashedSymbols);
const shortOut = leavingWeights(symbolsMin);
const squared = Math.imul(hashMultiplier, hashMultiplier);
const cubed = Math.imul(squared, hashMultiplier);

/** The rolling hash of three symbols. */
const hashOfThree = (symbol: Uint8Array, at: number): number =>
  (Math.imul(symbol[at] ?? 0, squared) +
    Math.imul(symbol[at + 1] ?? 0, hashMultiplier) +
    (symbol[at + 2] ?? 0)) |
  0;

/** The rolling hash of the `length` symbols before `end`. */
function hashBefore(symbol: Uint8Array, end: number, length: number): number {
  let hash = 0;
  for (let at = Math.max(0, end - length); at < end; at += 1) {
    hash = (Math.imul(hash, hashMultiplier) + (symbol[at] ?? 0)) | 0;
  }
  return hash;
}

export class SymbolMatcher {
  readonly #index: KnownIndex;
  readonly #symbols: SymbolBuffer;
  /** In the order of the symbols, not overlapping. */
  runs: SecretRun[] = [];
  #scanned = 0;
  #hash = 0;
  #shortHash = 0;

  constructor(index: KnownIndex, symbols: SymbolBuffer) {
    this.#index = index;
    this.#symbols = symbols;
  }

  /**
   * Searches the new symbols up to `count`, with their bytes. Symbols that a flush searched are not
   * searched again.
   */
  scan(bytes: Uint8Array, count: number): void {
    const { short } = this.#index;
    if (count <= this.#scanned) return;
    if (short === null) this.#scanLong(count);
    else this.#scanBoth(count, short, bytes);
    this.#scanned = count;
    this.#advance(count - 1);
  }

  /** Only the first `count` symbols are unchanged; the others will be searched again. */
  rewind(count: number): void {
    if (count >= this.#scanned) return;
    this.#scanned = count;
    const { symbol } = this.#symbols;
    this.#hash = hashBefore(symbol, count, hashedSymbols);
    this.#shortHash = hashBefore(symbol, count, symbolsMin);
    while ((this.runs.at(-1)?.first ?? -1) >= count) this.runs.pop();
    const run = this.runs.at(-1);
    if (run === undefined || run.last + 1 < count) return;
    // The symbols that replace the removed ones can continue the run.
    run.next -= run.last + 1 - count;
    run.last = count - 1;
    run.alive = this.#index.text[run.next - 1] === symbol[run.last];
  }

  /** Forgets the first `count` symbols. */
  drop(count: number): void {
    this.#scanned -= count;
    for (const run of this.runs) {
      run.first -= count;
      run.last -= count;
    }
  }

  /** Three consecutive windows share six symbols: if no needle has these, all three are skipped. */
  #scanLong(count: number): void {
    const { symbol } = this.#symbols;
    const { sixSymbolRuns: sixes, sixSymbolShift: sixesShift } = this.#index;
    let end = Math.max(this.#scanned, hashedSymbols - 1);
    if (end >= count) return;
    let before = hashOfThree(symbol, end - 7);
    for (; end < count; end += 3) {
      const after = hashOfThree(symbol, end - 4);
      const bit = spreadHash((Math.imul(before, cubed) + after) | 0) >>> sixesShift;
      before = after;
      if (((sixes[bit >>> 5] ?? 0) & (1 << (bit & 31))) === 0) continue;
      if (this.#index.mayHold(symbol, end - 7)) this.#testLong(end, Math.min(end + 3, count));
    }
  }

  /** Searches the windows whose last symbols are `[from, to)`. */
  #testLong(from: number, to: number): void {
    const { symbol } = this.#symbols;
    const { filter, filterShift } = this.#index.long;
    let hash = 0;
    for (let at = from - hashedSymbols + 1; at < from; at += 1) {
      hash = (Math.imul(hash, hashMultiplier) + (symbol[at] ?? 0)) | 0;
    }
    for (let at = from; at < to; at += 1) {
      hash = (Math.imul(hash, hashMultiplier) + (symbol[at] ?? 0)) | 0;
      if (at > from) hash = (hash - (longOut[symbol[at - hashedSymbols] ?? 0] ?? 0)) | 0;
      const mixed = spreadHash(hash);
      if ((~(filter[mixed >>> filterShift] ?? 0) & hashFilterBits(mixed)) === 0) {
        this.#longHit(at, hash);
      }
    }
  }

  #scanBoth(count: number, short: WindowTable, bytes: Uint8Array): void {
    const { symbol } = this.#symbols;
    const { filter, filterShift } = this.#index.long;
    const { filter: shortFilter, filterShift: shortShift } = short;
    let hash = this.#hash;
    let shortHash = this.#shortHash;
    for (let at = this.#scanned; at < count; at += 1) {
      const code = symbol[at] ?? 0;
      const leaving = at < hashedSymbols ? 0 : (symbol[at - hashedSymbols] ?? 0);
      hash = (Math.imul(hash, hashMultiplier) + code - (longOut[leaving] ?? 0)) | 0;
      const mixed = spreadHash(hash);
      const missing = ~(filter[mixed >>> filterShift] ?? 0);
      if ((missing & (1 << (mixed & 31))) === 0 && (missing & hashFilterBits(mixed)) === 0) {
        this.#longHit(at, hash);
      }
      const shortLeaving = at < symbolsMin ? 0 : (symbol[at - symbolsMin] ?? 0);
      shortHash = (Math.imul(shortHash, hashMultiplier) + code - (shortOut[shortLeaving] ?? 0)) | 0;
      const shortMixed = spreadHash(shortHash);
      if ((~(shortFilter[shortMixed >>> shortShift] ?? 0) & hashFilterBits(shortMixed)) === 0) {
        this.#shortHit(at, shortHash, bytes);
      }
    }
    this.#hash = hash;
    this.#shortHash = shortHash;
  }

  /** Extends the last run, at most to `upTo`. */
  #advance(upTo: number): void {
    const run = this.runs.at(-1);
    if (run === undefined || !run.alive) return;
    const { text } = this.#index;
    const { symbol } = this.#symbols;
    while (run.last < upTo && text[run.next] === symbol[run.last + 1] && text[run.next] !== 0) {
      run.last += 1;
      run.next += 1;
    }
    if (run.last < upTo) run.alive = false;
  }

  #longHit(at: number, hash: number): void {
    this.#advance(at);
    const last = this.runs.at(-1);
    if (last !== undefined && last.alive && last.last >= at) return;
    const { hashes, ends, mask } = this.#index.long;
    for (let slot = spreadHash(hash) & mask; ends[slot] !== 0; slot = (slot + 1) & mask) {
      if (hashes[slot] !== hash) continue;
      const end = ends[slot] ?? 0;
      const length = this.#matched(at, end, windowSymbolsMax);
      if (length < hashedSymbols) continue;
      const needle = this.#index.needleAt(end - 1);
      if (needle === undefined || length < needle.window) continue;
      this.#found(at - length + 1, at, needle, end);
      return;
    }
  }

  #shortHit(at: number, hash: number, bytes: Uint8Array): void {
    const { short } = this.#index;
    if (short === null) return;
    const { hashes, ends, mask } = short;
    for (let slot = spreadHash(hash) & mask; ends[slot] !== 0; slot = (slot + 1) & mask) {
      if (hashes[slot] !== hash) continue;
      const end = ends[slot] ?? 0;
      const needle = this.#index.needleAt(end - 1);
      if (needle === undefined) continue;
      const length = this.#matched(at, end, hashedSymbols);
      const first = at - length + 1;
      if (length < needle.window || !this.#isSeparate(first, at, needle, bytes)) continue;
      this.#advance(at);
      this.#found(first, at, needle, end);
      return;
    }
  }

  /** How many symbols up to `at` equal those of the text before `end`, at most `most`. */
  #matched(at: number, end: number, most: number): number {
    const { text } = this.#index;
    const { symbol } = this.#symbols;
    let length = 0;
    while (
      length < most &&
      length <= at &&
      text[end - 1 - length] === symbol[at - length] &&
      text[end - 1 - length] !== 0
    ) {
      length += 1;
    }
    return length;
  }

  /**
   * Whether so few symbols are separate from others, or are exactly the characters of the value.
   */
  #isSeparate(first: number, last: number, needle: KnownNeedle, bytes: Uint8Array): boolean {
    const { exact, joined } = needle;
    if (exact === null) return true;
    const from = this.#symbols.from[first] ?? 0;
    const to = this.#symbols.to[last] ?? 0;
    const core = exact.slice(needle.lead.length, exact.length - needle.tail.length);
    if (joined && to - from !== core.length) return false;
    if (!joined && from >= 0 && to - from === core.length && sameBytes(bytes, from, core)) {
      return true;
    }
    const { symbol, from: starts, to: ends, count } = this.#symbols;
    const left = first > 0 && ends[first - 1] === from && symbol[first - 1] !== breakSymbol;
    const right = last + 1 < count && starts[last + 1] === to;
    return !left && !right;
  }

  #found(first: number, last: number, needle: KnownNeedle, next: number): void {
    const run: SecretRun = {
      first,
      last,
      needle,
      whole: needle.start === next - (last - first + 1),
      lastNeedle: needle,
      next,
      alive: true,
      hidden: 0,
      begun: false,
    };
    let before = this.runs.at(-1);
    // Overlapping runs are one secret in two forms, or a repetitive one.
    while (before !== undefined && (before.last >= first || continues(before, run))) {
      if (before.first <= first) {
        before.last = Math.max(before.last, last);
        before.lastNeedle = needle;
        before.next = next;
        before.alive = true;
        return;
      }
      if (before.begun) break;
      this.runs.pop();
      before = this.runs.at(-1);
    }
    this.runs.push(run);
  }
}

/** Whether `run` follows at once, and both are in the middle of the same value. */
const continues = (before: SecretRun, run: SecretRun): boolean =>
  before.last + 1 === run.first &&
  before.needle.value === run.needle.value &&
  before.next !== before.lastNeedle.end &&
  !run.whole;

function sameBytes(bytes: Uint8Array, from: number, text: string): boolean {
  let same = 0;
  while (same < text.length && bytes[from + same] === text.charCodeAt(same)) same += 1;
  return same === text.length;
}
