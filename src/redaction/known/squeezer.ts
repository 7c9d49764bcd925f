/**
 * Reduces bytes to symbols: letters and digits without case, with escapes decoded, without control
 * sequences and gutters of dumps. Each symbol has the range of bytes that it covers. The result
 * does not depend on how the bytes are split into chunks.
 */
import {
  controlSequenceEnd,
  dumpLine,
  escapeAt,
  escapeCode,
  escapeLength,
  escapeUnfinished,
  hexDigit,
} from './escapes.ts';
import { breakSymbol, narrowSymbols, widePunctuation, wideSymbols } from './symbols.ts';

/** More bytes between two symbols separate them. */
export const gapBytesMax = 1_024;

const special = 0xfe;
const escape = 0x1b;
const lineFeed = 0x0a;
export const backspace = 0x08;

/** Symbols in order; `from[i]` to `to[i]` is the range to hide if symbol `i` is secret. */
export interface SymbolBuffer {
  count: number;
  symbol: Uint8Array;
  from: Int32Array;
  to: Int32Array;
}

/** The start of bytes that cannot be decoded without those after them, with the state there. */
export interface SqueezeCheckpoint {
  readonly at: number;
  /** The number of symbols before them. */
  readonly symbols: number;
  readonly lineStart: boolean;
  readonly inDump: boolean;
}

export const emptySymbolBuffer = (capacity: number): SymbolBuffer => ({
  count: 0,
  symbol: new Uint8Array(capacity),
  from: new Int32Array(capacity),
  to: new Int32Array(capacity),
});

function tableOf(symbols: ArrayLike<number>, handled: readonly number[]): Uint8Array {
  const table = Uint8Array.from(symbols);
  for (const byte of handled) table[byte] = special;
  return table;
}

const handled = [escape, lineFeed, backspace, 0x5c, 0x25, 0x26, 0x58, 0x78];
const narrowTable = tableOf(narrowSymbols, handled);
const wideTable = tableOf(wideSymbols, [...handled, 0xc2, 0xe2, 0xef]);

export class Squeezer {
  readonly #table: Uint8Array;
  readonly #wide: boolean;
  readonly #symbols: SymbolBuffer;
  /** Whether the next byte is the first of a line, and the line was not examined yet. */
  #lineStart = true;
  /** Whether the last symbol is in a line of a dump. */
  inDump = false;
  /** How many symbols are unchanged since this was last set. */
  unchangedCount = 0;

  constructor(wide: boolean, symbols: SymbolBuffer) {
    this.#wide = wide;
    this.#symbols = symbols;
    this.#table = wide ? wideTable : narrowTable;
  }

  /**
   * Adds the symbols of `bytes[at, end)`.
   *
   * @returns the offset of the first byte that waits for more; with `last`, that is `end`
   */
  squeeze(bytes: Uint8Array, at: number, end: number, last: boolean): number {
    let place = at;
    while (place < end) {
      if (this.#lineStart) {
        const next = this.#startLine(bytes, place, end, last);
        if (next < 0) break;
        if (next !== place) {
          place = next;
          continue;
        }
      }
      // A backspace or an `x` after it can still remove the last symbol.
      place = this.#plain(bytes, place, last ? end : end - 1);
      if (place >= end) break;
      const code = this.#table[bytes[place] ?? 0] ?? 0;
      if (code === 0) {
        place += 1;
        continue;
      }
      if (code !== special) break;
      const next = this.#special(bytes, place, end, last);
      if (next < 0) {
        place += 1 + next;
        break;
      }
      place = next;
    }
    return place;
  }

  /** The state at `at`, where squeezing stopped. */
  checkpoint(at: number): SqueezeCheckpoint {
    const { inDump } = this;
    return { at, symbols: this.#symbols.count, lineStart: this.#lineStart, inDump };
  }

  /** Forgets everything since a checkpoint. */
  restore({ symbols, lineStart, inDump }: SqueezeCheckpoint): void {
    this.#symbols.count = symbols;
    this.#lineStart = lineStart;
    this.inDump = inDump;
  }

  /** Whether the waiting `byte` can still become another symbol or none. */
  isUndecided(byte: number): boolean {
    return this.#lineStart || this.#table[byte] === special || byte === 0x30;
  }

  /**
   * Adds bytes up to a special one.
   *
   * @returns its offset, or `end`
   */
  #plain(bytes: Uint8Array, at: number, end: number): number {
    const table = this.#table;
    const { symbol, from, to } = this.#symbols;
    let count = this.#symbols.count;
    let covered = count > 0 ? (to[count - 1] ?? 0) : 0;
    let place = at;
    for (; place < end; place += 1) {
      const code = table[bytes[place] ?? 0] ?? 0;
      if (code === 0) continue;
      if (code === special) break;
      if (place - covered > gapBytesMax) count = this.#separateAt(count, place);
      covered = place + 1;
      symbol[count] = code;
      from[count] = place;
      to[count] = covered;
      count += 1;
    }
    this.#symbols.count = count;
    return place;
  }

  /** Ends a run: symbols before and after are never combined. */
  separate(at: number): void {
    this.#symbols.count = this.#separateAt(this.#symbols.count, at);
  }

  #separateAt(count: number, at: number): number {
    const { symbol, from, to } = this.#symbols;
    symbol[count] = breakSymbol;
    from[count] = at;
    to[count] = at;
    return count + 1;
  }

  #add(code: number, from: number, to: number): void {
    const symbols = this.#symbols;
    const { count } = symbols;
    if (count > 0 && from - (symbols.to[count - 1] ?? 0) > gapBytesMax) {
      symbols.count = this.#separateAt(count, from);
    }
    symbols.symbol[symbols.count] = code;
    symbols.from[symbols.count] = from;
    symbols.to[symbols.count] = to;
    symbols.count += 1;
  }

  #startLine(bytes: Uint8Array, at: number, end: number, last: boolean): number {
    const line = dumpLine(bytes, at, end, last);
    if (line === 'more') return -1;
    this.#lineStart = false;
    this.inDump = false;
    if (line === null) return at;
    if (line.digitsEnd === null) return line.data;
    this.inDump = true;
    for (let place = line.data; place < line.digitsEnd; place += 1) {
      const code = narrowSymbols[bytes[place] ?? 0] ?? 0;
      if (code !== 0) this.#add(code, line.data, line.end);
    }
    return line.end;
  }

  /**
   * Reads a byte that is not simply a symbol or none.
   *
   * @returns the offset after it; -1: wait from this byte on; -2: from the byte before it, and so
   *   on
   */
  #special(bytes: Uint8Array, at: number, end: number, last: boolean): number {
    switch (bytes[at] ?? 0) {
      case lineFeed:
        this.#lineStart = true;
        return at + 1;
      case backspace:
        return this.#overstrike(at, last || at + 1 < end);
      case escape:
        return controlSequenceEnd(bytes, at, end, last);
      case 0x58:
      case 0x78:
        return this.#letterX(bytes, at, end, last);
      case 0xc2:
      case 0xe2:
      case 0xef:
        return this.#beyond(bytes, at, end, last);
    }
    const found = escapeAt(bytes, at, end, last);
    if (found === escapeUnfinished) return -1;
    if (found === 0) return at + 1;
    const next = at + escapeLength(found);
    if (next === end && !last) return -1;
    this.#character(escapeCode(found), at, next);
    return next;
  }

  #character(code: number, from: number, to: number): void {
    const table = this.#wide ? wideSymbols : narrowSymbols;
    if (code < 0x80) {
      const symbol = table[code] ?? 0;
      if (symbol !== 0) this.#add(symbol, from, to);
      return;
    }
    if (!this.#wide) return;
    // `\u00e9` is a character, `\xc3\xa9` are its bytes. So an escape below 0x100 is one byte if it
    // is short enough for a byte's escape, and a character otherwise.
    const bytes = code < 0x100 && to - from <= 4 ? [code] : Buffer.from(String.fromCodePoint(code));
    for (const byte of bytes) this.#add(table[byte] ?? 0, from, to);
  }

  /** `x`, unless it belongs to the zero of `0x67`. */
  #letterX(bytes: Uint8Array, at: number, end: number, last: boolean): number {
    const symbols = this.#symbols;
    const before = symbols.count - 1;
    const zero = before >= 0 && symbols.symbol[before] === 1 && symbols.to[before] === at;
    if (at + 1 >= end && !last) {
      // A released zero cannot be read again.
      const start = symbols.from[before] ?? 0;
      if (!zero || start < 0) return -1;
      this.#dropLast(before);
      return start - at - 1;
    }
    if (zero && hexDigit(bytes[at + 1]) >= 0 && !this.#joined(before)) {
      this.#dropLast(before);
      return at + 1;
    }
    this.#add(narrowSymbols[0x78] ?? 0, at, at + 1);
    return at + 1;
  }

  /** Whether the symbol at `index` touches the one before it. */
  #joined(index: number): boolean {
    const { from, to } = this.#symbols;
    return index > 0 && to[index - 1] === from[index];
  }

  /** Bold type in manuals: a letter, a backspace, and the letter again. */
  #overstrike(at: number, followed: boolean): number {
    const { count, symbol, from, to } = this.#symbols;
    const before = count - 1;
    if (before < 0 || to[before] !== at || symbol[before] === breakSymbol) return at + 1;
    const start = from[before] ?? 0;
    this.#dropLast(before);
    return followed || start < 0 ? at + 1 : start - at - 1;
  }

  #dropLast(count: number): void {
    this.#symbols.count = count;
    this.unchangedCount = Math.min(this.unchangedCount, count);
  }

  #beyond(bytes: Uint8Array, at: number, end: number, last: boolean): number {
    if (at + 3 >= end && !last) return -1;
    const skipped = widePunctuation(bytes, at);
    if (skipped > 0) return Math.min(end, at + skipped);
    this.#add(wideSymbols[bytes[at] ?? 0] ?? 0, at, at + 1);
    return at + 1;
  }
}
