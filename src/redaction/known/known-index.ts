/**
 * All known values in one table: the hash of each window leads to the place in the text of symbols
 * that it stands at, where it is compared symbol by symbol.
 */
import { TrlError } from '../../errors.ts';
import type { KnownValue } from '../finding.ts';
import { compile, isWide, type CompiledValue, type Needle } from './compiled.ts';
import { symbolsMin } from './forms.ts';
import { filterBits, hashMultiplier, leavingWeights, spread } from './symbols.ts';

/** Values that can be looked for at once. */
export const knownValuesMax = 256;

/** A needle of one value. */
export interface KnownNeedle extends Needle {
  readonly value: KnownValue;
}

/** Places by the hash of the window that ends there. */
export interface WindowTable {
  /** Three bits of one word for each hash that may be there; see `filterBits`. */
  readonly filter: Int32Array;
  readonly filterShift: number;
  readonly hashes: Int32Array;
  /** 0: nothing. */
  readonly ends: Int32Array;
  readonly mask: number;
}

const compiledValues = new WeakMap<KnownValue, CompiledValue>();

function compiled(known: KnownValue): CompiledValue {
  const found = compiledValues.get(known) ?? compile(known.value);
  compiledValues.set(known, found);
  return found;
}

const shortOut = leavingWeights(symbolsMin);

export class KnownIndex {
  readonly values: readonly KnownValue[];
  readonly text: Uint8Array;
  readonly long: WindowTable;
  /** `null`: no value has so few symbols. */
  readonly short: WindowTable | null;
  readonly wide: boolean;
  /** The most symbols to hide beside a needle, where lines belong to a dump. */
  readonly padMax: number;
  /** The first characters of values that do not start with a symbol. */
  readonly leads: ReadonlySet<number>;
  readonly #needles: KnownNeedle[] = [];
  readonly #starts: Int32Array;
  /** Which runs of three symbols any needle has, and, roughly, which of six. */
  readonly #threes = new Uint8Array(1 << 18);
  readonly #sixes: Int32Array;
  readonly #sixesShift: number;

  /** @throws TrlError `QUOTA_EXCEEDED` above 256 values */
  constructor(values: readonly KnownValue[]) {
    if (values.length > knownValuesMax) {
      throw new TrlError(
        'QUOTA_EXCEEDED',
        `Cannot look for ${values.length} secrets: at most ${knownValuesMax} can be in use`,
      );
    }
    this.values = [...values];
    this.wide = values.some(({ value }) => isWide(value));
    const all = this.values.map((value) => ({ value, compiled: compiled(value) }));
    const length = all.reduce((sum, one) => sum + one.compiled.text.length, 0);
    this.text = new Uint8Array(length + 1);
    const long = new Table(all.reduce((sum, one) => sum + one.compiled.ends.length, 0));
    const short = new Table(all.reduce((sum, one) => sum + one.compiled.shortEnds.length, 0));
    let offset = 0;
    for (const one of all) {
      const { text, needles, ends, hashes, shortEnds, shortHashes } = one.compiled;
      this.text.set(text, offset);
      for (const needle of needles) {
        const start = needle.start + offset;
        this.#needles.push({ ...needle, start, end: needle.end + offset, value: one.value });
      }
      long.addAll(ends, hashes, offset);
      short.addAll(shortEnds, shortHashes, offset);
      offset += text.length;
    }
    this.long = long.done();
    this.short = short.size === 0 ? null : short.done();
    this.#starts = Int32Array.from(this.#needles, ({ start }) => start);
    this.padMax = this.#needles.reduce((most, { pad }) => Math.max(most, pad), 0);
    this.leads = new Set(
      this.#needles.flatMap(({ lead }) => (lead === '' ? [] : [lead.charCodeAt(0)])),
    );
    const bits = Math.min(27, Math.max(16, Math.ceil(Math.log2(length + 1)) + 4));
    this.#sixes = new Int32Array(1 << (bits - 5));
    this.#sixesShift = 32 - bits;
    this.#addGrams();
  }

  /** The index of these values; what was computed for one of them before is used again. */
  with(values: readonly KnownValue[]): KnownIndex {
    return new KnownIndex(values);
  }

  /** The needle whose symbols `text[at]` belongs to. */
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
   * How many of the last symbols of `symbols[0, count)`, at most `most`, may be part of a needle.
   * More than that certainly are not.
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

  #hasThree(symbols: Uint8Array, at: number): boolean {
    return this.#threes[three(symbols, at)] === 1;
  }

  #hasSix(symbols: Uint8Array, at: number): boolean {
    let hash = 0;
    for (let place = at; place < at + symbolsMin; place += 1) {
      hash = (Math.imul(hash, hashMultiplier) + (symbols[place] ?? 0)) | 0;
    }
    const bit = spread(hash) >>> this.#sixesShift;
    return ((this.#sixes[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0;
  }

  #addGrams(): void {
    const { text } = this;
    let hash = 0;
    for (let at = 0; at < text.length; at += 1) {
      if (at + 2 < text.length) this.#threes[three(text, at)] = 1;
      const leaving = at < symbolsMin ? 0 : (shortOut[text[at - symbolsMin] ?? 0] ?? 0);
      hash = (Math.imul(hash, hashMultiplier) + (text[at] ?? 0) - leaving) | 0;
      const bit = spread(hash) >>> this.#sixesShift;
      this.#sixes[bit >>> 5] = (this.#sixes[bit >>> 5] ?? 0) | (1 << (bit & 31));
    }
  }
}

const three = (symbols: Uint8Array, at: number): number =>
  (((symbols[at] ?? 0) << 12) ^ ((symbols[at + 1] ?? 0) << 6) ^ (symbols[at + 2] ?? 0)) & 0x3ffff;

/** A {@link WindowTable} being filled: open addressing, at most half full. */
class Table {
  readonly size: number;
  readonly #filter: Int32Array;
  readonly #shift: number;
  readonly #hashes: Int32Array;
  readonly #ends: Int32Array;
  readonly #mask: number;

  constructor(size: number) {
    this.size = size;
    const slots = 1 << Math.max(4, Math.ceil(Math.log2(size + 1)) + 1);
    // As small as it can be for the processor's cache: about three hashes a word.
    const wordBits = Math.min(22, Math.max(10, Math.round(Math.log2((size + 1) / 2.5))));
    this.#filter = new Int32Array(1 << wordBits);
    this.#shift = 32 - wordBits;
    this.#hashes = new Int32Array(slots);
    this.#ends = new Int32Array(slots);
    this.#mask = slots - 1;
  }

  addAll(ends: Int32Array, hashes: Int32Array, offset: number): void {
    for (let at = 0; at < ends.length; at += 1) {
      this.#add((ends[at] ?? 0) + offset, hashes[at] ?? 0);
    }
  }

  #add(end: number, hash: number): void {
    const mixed = spread(hash);
    const word = mixed >>> this.#shift;
    this.#filter[word] = (this.#filter[word] ?? 0) | filterBits(mixed);
    let slot = mixed & this.#mask;
    let chain = 0;
    while (this.#ends[slot] !== 0) {
      if (this.#hashes[slot] === hash) chain += 1;
      // A value that repeats itself has the same window again and again.
      if (chain > chainMax) return;
      slot = (slot + 1) & this.#mask;
    }
    this.#hashes[slot] = hash;
    this.#ends[slot] = end;
  }

  done(): WindowTable {
    return {
      filter: this.#filter,
      filterShift: this.#shift,
      hashes: this.#hashes,
      ends: this.#ends,
      mask: this.#mask,
    };
  }
}

/** The same window at more places than this is not needed: any of them tells of the value. */
const chainMax = 8;
