/**
 * All known values in one table: the hash of each window leads to its position in the common text
 * of symbols, where the symbols are compared one by one.
 */
import { TrlError } from '../../errors.ts';
import type { KnownValue } from '../../redacted.ts';
import { compileValue, hasWideLetters, type CompiledValue, type Needle } from './compiled-value.ts';
import { symbolsMin, windowSymbolsMax, type FormCoverage } from './value-forms.ts';
import {
  hashFilterBits,
  hashMultiplier,
  isWordlike,
  leavingWeights,
  spreadHash,
} from './symbols.ts';
import type { WeakValues } from './weak-values.ts';

/** The most values at once. */
export const knownValuesMax = 256;

/** A needle of one value. */
export interface KnownNeedle extends Needle {
  readonly value: KnownValue;
}

/** Positions by the hash of the window that ends there. */
export interface WindowTable {
  /** Three bits of one word for each hash in the table; see `hashFilterBits`. */
  readonly filter: Int32Array;
  readonly filterShift: number;
  readonly hashes: Int32Array;
  /** 0: the slot is empty. */
  readonly ends: Int32Array;
  readonly mask: number;
}

const compiledValues = new WeakMap<KnownValue, Map<FormCoverage, CompiledValue>>();

function compiled(known: KnownValue, coverage: FormCoverage): CompiledValue {
  const byCoverage = compiledValues.get(known) ?? new Map<FormCoverage, CompiledValue>();
  compiledValues.set(known, byCoverage);
  const found = byCoverage.get(coverage) ?? compileValue(known.value, coverage);
  byCoverage.set(coverage, found);
  return found;
}

/** If all values together have more bytes, long ones are searched in fewer forms. */
const fullCoverageBytesMax = 64 * 1024;

const coverageFor = (values: readonly KnownValue[]): FormCoverage =>
  values.reduce((sum, { value }) => sum + value.length, 0) <= fullCoverageBytesMax
    ? 'full'
    : 'less';

/** A larger text of symbols is not searched while somebody waits. */
const searchedBytesMax = 4 * 1024 * 1024;

const shortOut = leavingWeights(symbolsMin);

export class KnownIndex {
  /** Values that are hidden only in context, and are in none of the tables. `null`: none. */
  readonly weak: WeakValues | null;
  readonly values: readonly KnownValue[];
  readonly text: Uint8Array;
  readonly long: WindowTable;
  /** `null`: no value has so few symbols. */
  readonly short: WindowTable | null;
  readonly wide: boolean;
  /** Whether any value consists of words. */
  readonly words: boolean;
  /** The most symbols to hide beside a needle in a dump. */
  readonly padMax: number;
  /** The first characters of values that do not begin with a symbol. */
  readonly leads: ReadonlySet<number>;
  readonly #needles: KnownNeedle[] = [];
  readonly #starts: Int32Array;
  /** One bit for the hash of each run of six symbols in any needle. */
  readonly sixSymbolRuns: Int32Array;
  readonly sixSymbolShift: number;
  /** The runs of three symbols that occur in any needle. */
  readonly #threes: Uint8Array;
  readonly #longTable: Table;
  readonly #shortTable: Table;
  readonly #coverage: FormCoverage;
  #layers: readonly KnownIndex[] | null = null;

  /**
   * @param grownFrom an index of the first of these values, whose tables are copied
   * @throws TrlError `QUOTA_EXCEEDED` above 256 values
   */
  constructor(
    values: readonly KnownValue[],
    grownFrom: KnownIndex | null = null,
    weak: WeakValues | null = null,
  ) {
    this.weak = weak;
    if (values.length > knownValuesMax) {
      throw new TrlError(
        'QUOTA_EXCEEDED',
        `Cannot look for ${values.length} secrets: at most ${knownValuesMax} can be in use`,
      );
    }
    this.values = [...values];
    this.wide = values.some(({ value }) => hasWideLetters(value));
    this.#coverage = coverageFor(values);
    const all = this.values.map((value) => ({ value, compiled: compiled(value, this.#coverage) }));
    this.words = all.some((one) => one.compiled.words);
    const sizes = { text: 1, long: 0, short: 0 };
    for (const { compiled: one } of all) {
      sizes.text += one.text.length;
      sizes.long += one.ends.length;
      sizes.short += one.shortEnds.length;
    }
    const old = grownFrom !== null && this.#extends(grownFrom, sizes) ? grownFrom : null;
    this.text = new Uint8Array(sizes.text);
    this.#longTable = old === null ? new Table(sizes.long) : old.#longTable.copy();
    this.#shortTable = old === null ? new Table(sizes.short) : old.#shortTable.copy();
    const bits = Math.min(27, Math.max(16, Math.ceil(Math.log2(sizes.text)) + 4));
    this.#threes = old === null ? new Uint8Array(1 << 18) : old.#threes.slice();
    this.sixSymbolRuns = old === null ? new Int32Array(1 << (bits - 5)) : old.sixSymbolRuns.slice();
    this.sixSymbolShift = 32 - Math.log2(this.sixSymbolRuns.length * 32);
    const known = old === null ? 0 : old.values.length;
    let offset = 0;
    for (const [at, one] of all.entries()) {
      this.#add(one.value, one.compiled, { offset, isNew: at >= known });
      offset += one.compiled.text.length;
    }
    this.long = this.#longTable.view();
    this.short = sizes.short === 0 ? null : this.#shortTable.view();
    this.#starts = Int32Array.from(this.#needles, ({ start }) => start);
    this.padMax = this.#needles.reduce((most, { pad }) => Math.max(most, pad), 0);
    this.leads = new Set(
      this.#needles.flatMap(({ lead }) => (lead === '' ? [] : [lead.charCodeAt(0)])),
    );
  }

  /** The index of these values. The work for values that it already has is not repeated. */
  with(values: readonly KnownValue[]): KnownIndex {
    return new KnownIndex(values, this);
  }

  /**
   * The values with letters beyond ASCII and the others, in two indexes; only this one if all are
   * of one kind.
   */
  get layers(): readonly KnownIndex[] {
    // Cached: each small text needs them.
    return (this.#layers ??= this.#splitLayers());
  }

  #splitLayers(): readonly KnownIndex[] {
    const wide = this.values.filter(({ value }) => hasWideLetters(value));
    if (wide.length === 0 || wide.length === this.values.length) return [this];
    const narrow = this.values.filter(({ value }) => !hasWideLetters(value));
    return [new KnownIndex(wide), new KnownIndex(narrow)];
  }

  #extends(old: KnownIndex, sizes: { readonly long: number; readonly short: number }): boolean {
    return (
      old.#coverage === this.#coverage &&
      old.values.length <= this.values.length &&
      old.values.every((value, at) => value === this.values[at]) &&
      old.#longTable.fits(sizes.long) &&
      old.#shortTable.fits(sizes.short)
    );
  }

  #add(
    value: KnownValue,
    compiledValue: CompiledValue,
    { offset, isNew }: { readonly offset: number; readonly isNew: boolean },
  ): void {
    const { text, needles, ends, hashes, shortEnds, shortHashes } = compiledValue;
    this.text.set(text, offset);
    for (const needle of needles) {
      const start = needle.start + offset;
      this.#needles.push({ ...needle, start, end: needle.end + offset, value });
    }
    if (!isNew) return;
    this.#longTable.addAll(ends, hashes, offset);
    this.#shortTable.addAll(shortEnds, shortHashes, offset);
    this.#addGrams(text);
  }

  /** The needle that contains `text[at]`. */
  needleAt(at: number): KnownNeedle | undefined {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] ?? 0) <= at) low = middle;
      else high = middle - 1;
    }
    return this.#needles[low];
  }

  /**
   * How many of the last symbols of `symbols[0, count)`, at most `most`, can be part of a needle.
   * More certainly are not.
   */
  tailLength(symbols: Uint8Array, count: number, most: number): number {
    const least = Math.max(0, count - most);
    let from = count;
    while (from > least) {
      const next = from - 1;
      if ((symbols[next] ?? 255) > 200) break;
      if (next + 3 <= count && !this.#hasThree(symbols, next)) break;
      if (next + symbolsMin <= count && !this.#hasSix(symbols, next)) break;
      from = next;
    }
    return count - from;
  }

  /**
   * How many of the last symbols can be part of a value. Words within a value, such as a database's
   * name in an address, reveal nothing, and a prompt can end with them: they count as five at most,
   * unless the value begins with them.
   */
  exposed(symbols: Uint8Array): number {
    const { length } = symbols;
    let possible = this.tailLength(symbols, length, windowSymbolsMax);
    if (possible >= symbolsMin && this.text.length <= searchedBytesMax) {
      possible = this.#foundLength(symbols, possible);
    }
    if (possible < symbolsMin || this.words) return possible;
    if (!isWordlike(symbols, length - possible, length)) return possible;
    return Math.max(symbolsMin - 1, this.#startLength(symbols, possible));
  }

  /** How many of the last symbols, at most `most`, occur in a needle; 5: fewer than six. */
  #foundLength(symbols: Uint8Array, most: number): number {
    const text = Buffer.from(this.text.buffer, this.text.byteOffset, this.text.length);
    const last = Buffer.from(symbols);
    let found = symbolsMin - 1;
    let missing = most + 1;
    while (missing - found > 1) {
      const length = found === symbolsMin - 1 ? symbolsMin : (found + missing) >> 1;
      if (text.includes(last.subarray(last.length - length))) found = length;
      else missing = length;
    }
    return found;
  }

  /** How many of the last symbols, at most `most`, a needle begins with, apart from `https://`. */
  #startLength(symbols: Uint8Array, most: number): number {
    let longest = 0;
    for (const { start, end, value } of this.#needles) {
      const upTo = Math.min(most, end - start);
      for (let length = upTo; length > longest && length >= symbolsMin; length -= 1) {
        if (!this.#isAt(start, symbols.subarray(symbols.length - length))) continue;
        if (length > schemeLength(value.value)) longest = length;
        break;
      }
    }
    return longest;
  }

  #isAt(start: number, symbols: Uint8Array): boolean {
    let same = 0;
    while (same < symbols.length && this.text[start + same] === symbols[same]) same += 1;
    return same === symbols.length;
  }

  /**
   * Whether six symbols can occur in a needle. Only meaningful if {@link sixSymbolRuns} has them.
   */
  mayHold(symbols: Uint8Array, at: number): boolean {
    return this.#hasThree(symbols, at) && this.#hasThree(symbols, at + 3);
  }

  #hasThree(symbols: Uint8Array, at: number): boolean {
    return this.#threes[three(symbols, at)] === 1;
  }

  #hasSix(symbols: Uint8Array, at: number): boolean {
    let hash = 0;
    for (let place = at; place < at + symbolsMin; place += 1) {
      hash = (Math.imul(hash, hashMultiplier) + (symbols[place] ?? 0)) | 0;
    }
    const bit = spreadHash(hash) >>> this.sixSymbolShift;
    return ((this.sixSymbolRuns[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0;
  }

  #addGrams(text: Uint8Array): void {
    let hash = 0;
    for (let at = 0; at < text.length; at += 1) {
      if (at + 2 < text.length) this.#threes[three(text, at)] = 1;
      const leaving = at < symbolsMin ? 0 : (shortOut[text[at - symbolsMin] ?? 0] ?? 0);
      hash = (Math.imul(hash, hashMultiplier) + (text[at] ?? 0) - leaving) | 0;
      const bit = spreadHash(hash) >>> this.sixSymbolShift;
      this.sixSymbolRuns[bit >>> 5] = (this.sixSymbolRuns[bit >>> 5] ?? 0) | (1 << (bit & 31));
    }
  }
}

/** Letters and digits of the `https` at the start of an address. */
const schemeLength = (value: string): number =>
  (/^[a-z][a-z0-9+.-]*(?=:\/\/)/i.exec(value)?.[0] ?? '').replaceAll(/[^a-z0-9]/gi, '').length;

const three = (symbols: Uint8Array, at: number): number =>
  (((symbols[at] ?? 0) << 12) ^ ((symbols[at + 1] ?? 0) << 6) ^ (symbols[at + 2] ?? 0)) & 0x3ffff;

/** Builds a {@link WindowTable}: open addressing, at first at most half full. */
class Table {
  readonly #filter: Int32Array;
  readonly #shift: number;
  readonly #hashes: Int32Array;
  readonly #ends: Int32Array;
  readonly #mask: number;

  constructor(size: number, from: Table | null = null) {
    if (from !== null) {
      this.#filter = from.#filter.slice();
      this.#shift = from.#shift;
      this.#hashes = from.#hashes.slice();
      this.#ends = from.#ends.slice();
      this.#mask = from.#mask;
      return;
    }
    const slots = 1 << Math.max(6, Math.ceil(Math.log2(size + 1)) + 1);
    // Small enough for the processor's cache: about three hashes a word.
    const wordBits = Math.min(22, Math.max(10, Math.round(Math.log2((size + 1) / 2.5))));
    this.#filter = new Int32Array(1 << wordBits);
    this.#shift = 32 - wordBits;
    this.#hashes = new Int32Array(slots);
    this.#ends = new Int32Array(slots);
    this.#mask = slots - 1;
  }

  copy(): Table {
    return new Table(0, this);
  }

  /** Whether so many windows have room, and the filter still rejects most others. */
  fits(size: number): boolean {
    return size <= 0.65 * this.#ends.length && size <= 4 * this.#filter.length;
  }

  addAll(ends: Int32Array, hashes: Int32Array, offset: number): void {
    for (let at = 0; at < ends.length; at += 1) {
      this.#add((ends[at] ?? 0) + offset, hashes[at] ?? 0);
    }
  }

  #add(end: number, hash: number): void {
    const mixed = spreadHash(hash);
    const word = mixed >>> this.#shift;
    this.#filter[word] = (this.#filter[word] ?? 0) | hashFilterBits(mixed);
    let slot = mixed & this.#mask;
    let chain = 0;
    while (this.#ends[slot] !== 0) {
      if (this.#hashes[slot] === hash) chain += 1;
      // A repetitive value has the same window many times.
      if (chain > chainMax) return;
      slot = (slot + 1) & this.#mask;
    }
    this.#hashes[slot] = hash;
    this.#ends[slot] = end;
  }

  view(): WindowTable {
    return {
      filter: this.#filter,
      filterShift: this.#shift,
      hashes: this.#hashes,
      ends: this.#ends,
      mask: this.#mask,
    };
  }
}

/** More positions of the same window are not needed: any of them identifies the value. */
const chainMax = 8;
