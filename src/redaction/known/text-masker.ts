/** Hides known values in a stream of text, or of anything else that is not compressed. */
import type { MaskedChunk } from '../secret-finding.ts';
import { canBeginEscape, escapeBytesMax } from './escapes.ts';
import { symbolsMin, windowSymbolsMax } from './value-forms.ts';
import type { KnownIndex } from './known-index.ts';
import { SymbolMatcher, type SecretRun } from './symbol-matcher.ts';
import { findTailEnd, findLeadStart, edgeBytesMax } from './value-edges.ts';
import {
  backspace,
  emptySymbolBuffer,
  gapBytesMax,
  Squeezer,
  type SymbolBuffer,
  type SqueezeCheckpoint,
} from './squeezer.ts';
import { narrowSymbols } from './symbols.ts';

/** Bytes that are searched at once. */
const blockBytes = 64 * 1024;
/** The initial capacity: most texts are names and short sentences. */
const bytesFirst = 256;
/** Symbols that are kept after their bytes are released. */
const historySymbols = 96;
/** Released bytes that are kept, to compare them as they are. */
const shownBytes = 256;
const none = new Uint8Array();
/** The most symbols to hide beside a needle outside of dumps. */
const textPad = 4;

type Until = 'push' | 'flush' | 'end';

export class TextMasker {
  readonly #index: KnownIndex;
  readonly #symbols: SymbolBuffer = emptySymbolBuffer(bytesFirst);
  readonly #squeezer: Squeezer;
  readonly #matcher: SymbolMatcher;
  /** Pending bytes after released ones; offsets of symbols count from its start. */
  #bytes = new Uint8Array(bytesFirst);
  #length = 0;
  /** Bytes that a flush released, and that later bytes can change: `\x4`. */
  #released = 0;
  /** The last bytes that were released after a hidden part. */
  readonly #shown = new Uint8Array(shownBytes);
  /** The checkpoint from which a flush read bytes that later bytes can change. */
  #waiting: SqueezeCheckpoint | null = null;
  /** Bytes whose symbols are known. */
  #squeezed = 0;
  /** The first symbol that can still turn out to be secret. */
  #undecided = 0;
  /** Symbols before this one are hidden, or are no part of what was last hidden. */
  #hiddenTo = 0;

  constructor(index: KnownIndex) {
    this.#index = index;
    this.#squeezer = new Squeezer(index.wide, this.#symbols);
    this.#matcher = new SymbolMatcher(index, this.#symbols);
  }

  push(chunk: Uint8Array, out: MaskedChunk[]): void {
    this.#readAgain();
    for (let at = 0; at < chunk.length; at += blockBytes) {
      this.#append(chunk.subarray(at, at + blockBytes));
      this.#step('push', out);
    }
  }

  /** Releases pending bytes. A value that began in them can still continue. */
  flush(out: MaskedChunk[]): void {
    this.#readAgain();
    this.#step('flush', out);
  }

  /** Releases pending bytes. Later bytes are unrelated to them. */
  end(out: MaskedChunk[]): void {
    this.#readAgain();
    this.#step('end', out);
    this.#squeezer.separate(this.#length);
  }

  /** Whether bytes are held back, or a hidden chunk whose end is unknown. */
  get hasPending(): boolean {
    return this.#length > this.#released || this.#matcher.runs.some(({ hidden }) => hidden > 0);
  }

  /**
   * The last symbols, released or not, that can be part of a value but are not known to be: a
   * reader of everything released would know so many. The bytes of `waiting` follow those held back
   * here, and are held back elsewhere.
   */
  pendingSymbolsBefore(waiting: Uint8Array): number {
    this.#readAgain();
    const { count, symbol } = this.#symbols;
    const bytes = Buffer.concat([this.#bytes.subarray(this.#squeezed, this.#length), waiting]);
    const last = this.#matcher.runs.at(-1);
    const hidden = Math.max(this.#hiddenTo, last === undefined ? 0 : last.last + 1);
    const from = Math.max(0, count - historySymbols);
    const seen = symbol.subarray(Math.max(hidden, from), count);
    const read = join(seen, bytes);
    const exposed = this.#index.exposed(read);
    const all = join(symbol.subarray(from, count), bytes);
    // A hidden value can continue here in another form, or with its next field.
    const follows = exposed > 0 && exposed === read.length;
    if (follows && this.#index.exposed(all) > exposed) return Math.max(exposed, symbolsMin);
    // A value with escapes in it can also be recognised undecoded.
    const here = this.#bytes.subarray(this.#released, this.#length);
    const undecoded = join(none, Buffer.concat([this.#shown, here, waiting]));
    const most = Math.max(exposed, this.#index.exposed(undecoded));
    const [first = 0] = bytes;
    if (bytes.length < 2 && (bytes.length === 0 || !this.#squeezer.isUndecided(first))) return most;
    // A value that continues can do so with the unfinished bytes.
    const goesOn = last?.alive === true && this.#index.text[last.next] !== 0;
    if (goesOn && last.last + 2 >= count) return symbolsMin;
    // Unfinished bytes can be left out, or become one more symbol.
    const escape = bytes.length > 1 && canBeginEscape(first);
    const behind = join(none, waiting).length;
    const begun = escape ? 1 + behind : bytes.includes(backspace) ? 1 : 0;
    return Math.max(most, this.#index.exposed(seen) + begun);
  }

  get pendingBytes(): Uint8Array {
    return this.#bytes.subarray(this.#released, this.#length);
  }

  #append(chunk: Uint8Array): void {
    const length = this.#length + chunk.length;
    if (length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(length, 2 * this.#bytes.length));
      larger.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = larger;
    }
    this.#bytes.set(chunk, this.#length);
    this.#length = length;
    this.#reserve(chunk.length);
  }

  /** A byte adds at most two symbols: one, and a separator before it. */
  #reserve(bytes: number): void {
    const symbols = this.#symbols;
    const needed = symbols.count + 2 * (this.#length - this.#squeezed) + 2;
    if (needed <= symbols.symbol.length || bytes === 0) return;
    const larger = emptySymbolBuffer(2 * needed);
    larger.symbol.set(symbols.symbol.subarray(0, symbols.count));
    larger.from.set(symbols.from.subarray(0, symbols.count));
    larger.to.set(symbols.to.subarray(0, symbols.count));
    symbols.symbol = larger.symbol;
    symbols.from = larger.from;
    symbols.to = larger.to;
  }

  #step(until: Until, out: MaskedChunk[]): void {
    const last = until !== 'push';
    const end = this.#length;
    // Excludes old bytes after the end of the buffer.
    const bytes = this.#bytes.subarray(0, end);
    this.#squeezer.unchangedCount = this.#symbols.count;
    this.#squeezed = this.#squeezer.squeeze(bytes, this.#squeezed, end, false);
    if (last) {
      if (until === 'flush') this.#waiting = this.#squeezer.checkpoint(this.#squeezed);
      this.#squeezed = this.#squeezer.squeeze(bytes, this.#squeezed, end, true);
    }
    this.#matcher.rewind(this.#squeezer.unchangedCount);
    const { count, to } = this.#symbols;
    // A byte that touches the last symbol is still unknown, and can matter.
    const open = !last && count > 0 && to[count - 1] === this.#squeezed;
    this.#matcher.scan(bytes, open ? count - 1 : count);
    this.#undecided = last ? this.#symbols.count : this.#firstUndecided();
    const release = last ? end : this.#releasable();
    this.#release(until, release, out);
  }

  /** Undoes what a flush decoded as if nothing followed. */
  #readAgain(): void {
    const waiting = this.#waiting;
    if (waiting === null) return;
    this.#waiting = null;
    this.#squeezed = waiting.at;
    this.#squeezer.restore(waiting);
    this.#matcher.rewind(waiting.symbols);
  }

  /** Whether the next symbol is certainly unrelated to the last one. */
  get #isSeparate(): boolean {
    const { to, count } = this.#symbols;
    return this.#squeezed - (count > 0 ? (to[count - 1] ?? 0) : 0) > gapBytesMax;
  }

  #firstUndecided(): number {
    const { symbol, from, to, count } = this.#symbols;
    const isSeparate = this.#isSeparate;
    let first = count;
    if (!isSeparate) first -= this.#index.tailLength(symbol, count, windowSymbolsMax);
    if (this.#squeezer.inDump) first -= this.#index.padMax;
    for (let pad = 0; pad < textPad && first > 0; pad += 1) {
      if ((first < count ? from[first] : this.#squeezed) !== to[first - 1]) break;
      first -= 1;
    }
    const run = this.#matcher.runs.at(-1);
    // The symbols next to a value's end are hidden, too, and may not be present yet.
    if (run !== undefined && !isSeparate && count <= run.last + 1 + padAfter(run)) {
      first = Math.min(first, run.last + 1);
    }
    // Text before a run must not be released while the run itself waits.
    const waits = this.#matcher.runs.find((one) => !one.begun && one.first >= first);
    if (waits?.whole === true) first = Math.min(first, waits.first - waits.needle.pad);
    return Math.max(0, first);
  }

  /** The bytes that can be released. */
  #releasable(): number {
    const { from, to, count } = this.#symbols;
    const first = this.#undecided;
    const release = Math.max(0, first < count ? (from[first] ?? 0) : this.#squeezed);
    if (this.#index.leads.size === 0) return release;
    const start = Math.max(0, first > 0 ? (to[first - 1] ?? 0) : 0, release - edgeBytesMax);
    for (let at = start; at < release; at += 1) {
      const byte = this.#bytes[at] ?? 0;
      if (canBeginEscape(byte) || this.#index.leads.has(byte)) return at;
    }
    return release;
  }

  #release(until: Until, release: number, out: MaskedChunk[]): void {
    let at = this.#released;
    const { runs } = this.#matcher;
    const sure = this.#waiting?.symbols ?? this.#symbols.count;
    let done = 0;
    for (const run of runs) {
      if (run.first >= this.#undecided) break;
      if (!run.begun) {
        const start = Math.max(at, this.#startOf(run, at));
        this.#text(at, start, out);
        at = start;
        run.begun = true;
      }
      const over = until !== 'push' || this.#isSeparate || run.last + 1 < this.#undecided;
      const stop = Math.max(at, over ? this.#endOf(run) : this.#coveredTo(run.last));
      run.hidden += stop - at;
      at = stop;
      if (!over) break;
      if (run.hidden > 0) {
        out.push(hiddenChunk(run));
        this.#shown.fill(0);
      }
      run.hidden = 0;
      // After a flush it can continue.
      if (until === 'flush' && run.last + 1 >= sure) continue;
      done += 1;
      this.#hiddenTo = run.last + 1;
    }
    const open = runs[done];
    if (open === undefined || !open.begun || until !== 'push') {
      this.#text(at, release, out);
      at = Math.max(at, release);
    }
    runs.splice(0, done);
    if (until === 'end') runs.length = 0;
    const read = this.#waiting?.at ?? this.#squeezed;
    this.#released = Math.max(0, at - read);
    this.#drop(Math.min(at, read), sure);
  }

  #text(from: number, to: number, out: MaskedChunk[]): void {
    if (to <= from) return;
    const bytes = this.#bytes.slice(from, to);
    out.push({ kind: 'text', bytes });
    const shown = bytes.subarray(-shownBytes);
    this.#shown.copyWithin(0, shown.length);
    this.#shown.set(shown, shownBytes - shown.length);
  }

  #coveredTo(last: number): number {
    return this.#symbols.to[Math.min(last, this.#symbols.count - 1)] ?? 0;
  }

  /** The start of the bytes to hide for a run, at least `least`. */
  #startOf(run: SecretRun, least: number): number {
    const { from, to } = this.#symbols;
    let start = Math.max(least, from[run.first] ?? 0);
    if (!run.whole) return start;
    for (let pad = 1; pad <= run.needle.pad && run.first >= pad; pad += 1) {
      const covered = to[run.first - pad] ?? 0;
      if (covered < start && !(this.#isInDump(run.first - pad) && this.#isInDump(run.first))) break;
      start = Math.min(start, Math.max(least, from[run.first - pad] ?? 0));
    }
    const gap = Math.max(least, run.first > 0 ? (to[run.first - 1] ?? 0) : 0);
    return findLeadStart(this.#bytes, gap, start, run.needle.lead);
  }

  #endOf(run: SecretRun): number {
    const { from, to, count } = this.#symbols;
    let end = this.#coveredTo(run.last);
    const pads = padAfter(run);
    for (let pad = 1; pad <= pads && run.last + pad < count; pad += 1) {
      const next = from[run.last + pad] ?? 0;
      if (next > end && !(this.#isInDump(run.last + pad) && this.#isInDump(run.last))) break;
      end = Math.max(end, to[run.last + pad] ?? 0);
    }
    if (run.next !== run.lastNeedle.end) return end;
    const gapEnd = run.last + 1 < count ? (from[run.last + 1] ?? 0) : this.#squeezed;
    return findTailEnd(this.#bytes, end, gapEnd, run.lastNeedle.tail);
  }

  /** Whether a symbol covers more bytes than an escape has: a line of a dump. */
  #isInDump(index: number): boolean {
    const { from, to } = this.#symbols;
    return (to[index] ?? 0) - (from[index] ?? 0) > escapeBytesMax;
  }

  /** Forgets the first `count` bytes, and symbols that are too old to matter. */
  #drop(count: number, sure: number): void {
    const symbols = this.#symbols;
    if (count > 0) {
      this.#bytes.copyWithin(0, count, this.#length);
      this.#length -= count;
      this.#squeezed = Math.max(0, this.#squeezed - count);
    }
    const run = this.#matcher.runs[0];
    let old = Math.max(0, sure - historySymbols);
    old = Math.min(old, this.#undecided);
    if (run !== undefined && !run.begun) old = Math.min(old, run.first);
    if (old > 0) {
      symbols.symbol.copyWithin(0, old, symbols.count);
      symbols.from.copyWithin(0, old, symbols.count);
      symbols.to.copyWithin(0, old, symbols.count);
      symbols.count -= old;
      this.#hiddenTo = Math.max(0, this.#hiddenTo - old);
      this.#matcher.drop(old);
    }
    const waiting = this.#waiting;
    if (waiting !== null) {
      this.#waiting = { ...waiting, at: waiting.at - count, symbols: waiting.symbols - old };
    }
    if (count === 0) return;
    const { from, to } = symbols;
    for (let at = 0; at < symbols.count; at += 1) {
      from[at] = (from[at] ?? 0) - count;
      to[at] = (to[at] ?? 0) - count;
    }
  }
}

/** `seen`, then the letters and digits of `bytes`, undecoded. */
const join = (seen: Uint8Array, bytes: Uint8Array): Uint8Array =>
  Buffer.concat([seen, Uint8Array.from(bytes, (byte) => narrowSymbols[byte] ?? 0).filter(Boolean)]);

/** Symbols after a run that carry bits of the value. */
const padAfter = (run: SecretRun): number =>
  run.next === run.lastNeedle.end ? run.lastNeedle.pad : 0;

const hiddenChunk = ({ needle, hidden }: SecretRun): MaskedChunk => ({
  kind: 'hidden',
  tag: needle.value.tag,
  bytes: hidden,
  finding: { kind: 'known', rule: 'known', score: 1, key: needle.value.name },
});
