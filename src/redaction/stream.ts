/**
 * One stream of output, redacted: known values first, then what looks like a secret. However the
 * input is cut into chunks, the output is the same, unless a flush was forced. No byte is lost or
 * moved; what is hidden is replaced by its tag.
 */
import { ChainMasker } from './chain.ts';
import { merge } from './detect/merge.ts';
import type { Finding, Piece } from './finding.ts';
import { isText } from './readable.ts';
import type { Tags } from './tag.ts';
import { redactedBytes, type RedactedBytes } from './text.ts';

/** Hides known values; see `known/masker.ts`. */
export interface Masker {
  push(chunk: Uint8Array): Piece[];
  flush(): Piece[];
  end(): Piece[];
  /** Symbols held back because they may begin a known value. */
  readonly held: number;
  /** Whether any byte is held back. */
  readonly holds: boolean;
}

/** Finds unknown secrets in whole lines, or in one piece of a line; see `detect/detector.ts`. */
export interface Finder {
  scan(text: string, bytes: Uint8Array): Finding[];
}

/** One replacement. Its length is that of the input; no character of it is kept. */
export interface Redaction {
  /** Offsets `[from, to)` in bytes of the input stream. */
  readonly from: number;
  readonly to: number;
  readonly tag: string;
  /** Names the value, see {@link Tags.nameOf}; `null`: it is a known one. */
  readonly digest: string | null;
  readonly finding: Omit<Finding, 'start' | 'end'>;
}

/** Finds known values that are hidden beside their context only; see `known/weak.ts`. */
export interface WeakFinder {
  find(text: string): Finding[];
}

export interface StreamParts {
  /** `null`: no value is known. */
  readonly masker: Masker | null;
  readonly finder: Finder;
  /** `null`: no such value is known. */
  readonly weak: WeakFinder | null;
  readonly tags: Tags;
  /**
   * Names of values that are shown although they look like secrets, see {@link Tags.nameOf}: a
   * person said so. A known value is never shown. Default: none.
   */
  readonly revealed?: ReadonlySet<string> | undefined;
  /** Called in the order of the stream. Must not throw. */
  readonly told: (redaction: Redaction) => void;
  /**
   * Gets the output with known values hidden and nothing else, in order. Its bytes are lent: what
   * is kept of them must be copied. Must not throw.
   */
  readonly masked?: (pieces: readonly Piece[]) => void;
}

/** A line is looked at in pieces of at most this many bytes. */
export const pieceBytesMax = 8 * 1024;
/** How far back from the end of a piece a place between two words is looked for. */
const cutBytesMax = 1_024;
/** Below this many symbols nothing can be rebuilt from what a forced flush gives out. */
const flushSymbolsMax = 6;
const lineFeed = 10;

/** A known value's tag in the text that is looked through, and the input that it stands for. */
interface Hidden {
  /** Offsets in the held bytes. */
  readonly start: number;
  readonly end: number;
  /** Offsets in the input. */
  readonly from: number;
  readonly to: number;
  readonly piece: Extract<Piece, { kind: 'hidden' }>;
}

export class StreamRedactor {
  readonly #parts: StreamParts;
  #masker: Masker | null;
  readonly #weak: WeakFinder[];
  /** The unfinished line, with known values already replaced. */
  #held = Buffer.alloc(0);
  #hidden: Hidden[] = [];
  /** Offsets in the input of the first held byte, and after the last one. */
  #from = 0;
  #to = 0;
  /** Flushes that were forced: after one, output may depend on when it came. */
  forced = 0;

  constructor(parts: StreamParts) {
    this.#parts = parts;
    this.#masker = parts.masker;
    this.#weak = parts.weak === null ? [] : [parts.weak];
  }

  /** More values have become known: from here on they are hidden, too. */
  learn({ masker, weak }: Pick<StreamParts, 'masker' | 'weak'>): void {
    if (weak !== null) this.#weak.push(weak);
    if (masker === null) return;
    this.#masker = this.#masker === null ? masker : new ChainMasker(this.#masker, masker);
  }

  push(chunk: Uint8Array): RedactedBytes {
    const masker = this.#masker;
    this.#take(masker === null ? [{ kind: 'text', bytes: chunk }] : masker.push(chunk));
    return this.#give(false);
  }

  /** Whether something is held back. */
  get holds(): boolean {
    return this.#held.length > 0 || this.#masker?.holds === true;
  }

  /**
   * Gives out what is held, because nothing more comes just now: a server's last line, say. Nothing
   * is given out while so much of a known value may be held that it could be put together from
   * pieces.
   *
   * @param lines `whole`: an unfinished line stays; `all`: it is given out, too, such as a prompt
   */
  flush(lines: 'whole' | 'all'): RedactedBytes {
    const masker = this.#masker;
    const isHeld = masker?.holds === true || (lines === 'all' && this.#held.length > 0);
    if (!isHeld || (masker !== null && masker.held >= flushSymbolsMax)) {
      return redactedBytes(Buffer.alloc(0));
    }
    this.forced += 1;
    if (masker !== null) this.#take(masker.flush());
    return this.#give(lines === 'all');
  }

  end(): RedactedBytes {
    const masker = this.#masker;
    if (masker !== null) this.#take(masker.end());
    return this.#give(true);
  }

  #take(pieces: readonly Piece[]): void {
    if (pieces.length === 0) return;
    this.#parts.masked?.(pieces);
    const parts: Uint8Array[] = this.#held.length === 0 ? [] : [this.#held];
    let length = this.#held.length;
    for (const piece of pieces) {
      if (piece.kind === 'text') {
        parts.push(piece.bytes);
        length += piece.bytes.length;
        this.#to += piece.bytes.length;
        continue;
      }
      const tag = Buffer.from(piece.tag, 'latin1');
      const from = this.#to;
      this.#to += piece.bytes;
      this.#hidden.push({ start: length, end: length + tag.length, from, to: this.#to, piece });
      parts.push(tag);
      length += tag.length;
    }
    const [only] = parts;
    // A copy where one chunk is all: what it lies in is used again by whoever read it.
    this.#held =
      parts.length === 1 && only !== undefined ? Buffer.from(only) : Buffer.concat(parts, length);
  }

  /** Looks through what is complete, or through everything, and gives it out. */
  #give(all: boolean): RedactedBytes {
    const held = this.#held;
    const out: Uint8Array[] = [];
    let done = 0;
    while (done < held.length) {
      const stop = nextStop(held, done);
      if (stop === null) break;
      this.#look(done, stop, out);
      done = stop;
    }
    if (all && done < held.length) {
      this.#look(done, held.length, out);
      done = held.length;
    }
    this.#drop(done);
    const [only] = out;
    return redactedBytes(out.length === 1 && only !== undefined ? only : Buffer.concat(out));
  }

  #look(start: number, stop: number, out: Uint8Array[]): void {
    const bytes = this.#held.subarray(start, stop);
    const text = bytes.toString('latin1');
    const known = this.#weak.flatMap((weak) => weak.find(text));
    const likely = this.#parts.finder.scan(text, bytes);
    const findings = known.length === 0 ? likely : merge([...known, ...likely]);
    let at = start;
    for (const finding of findings) {
      const from = start + finding.start;
      const to = start + finding.end;
      if (from < at || to <= from || to > stop || !isText(bytes, finding)) continue;
      const value = this.#held.subarray(from, to);
      // A known value may lie in what looks like a longer secret.
      const isKnown = known.some((one) => one.start < finding.end && finding.start < one.end);
      const digest = isKnown ? null : this.#parts.tags.nameOf(value);
      if (digest !== null && this.#parts.revealed?.has(digest) === true) continue;
      this.#tellKnown(at, from);
      out.push(this.#held.subarray(at, from));
      const tag = this.#parts.tags.of(value);
      out.push(Buffer.from(tag, 'latin1'));
      const place = { from: this.#inputOf(from, false), to: this.#inputOf(to, true) };
      this.#tell({ ...place, tag, digest }, finding);
      at = to;
    }
    this.#tellKnown(at, stop);
    if (at < stop) out.push(this.#held.subarray(at, stop));
  }

  #tell(place: Omit<Redaction, 'finding'>, finding: Redaction['finding']): void {
    const { kind, rule, score, key } = finding;
    this.#parts.told({ ...place, finding: { kind, rule, score, key } });
  }

  /** Known values whose tags lie in a part that passes. */
  #tellKnown(start: number, stop: number): void {
    for (let index = this.#firstAfter(start); index < this.#hidden.length; index += 1) {
      const one = this.#hidden[index];
      if (one === undefined || one.start >= stop) break;
      // The rest of a tag that a piece ended in was told with its beginning.
      if (one.start < start) continue;
      const { from, to, piece } = one;
      this.#tell({ from, to, tag: piece.tag, digest: null }, piece.finding);
    }
  }

  /** Index of the first hidden part that ends after the held byte `offset`. */
  #firstAfter(offset: number): number {
    let low = 0;
    let high = this.#hidden.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#hidden[middle]?.end ?? Infinity) <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Where in the input the held byte `offset` came from; inside a tag: its start or its end. */
  #inputOf(offset: number, isEnd: boolean): number {
    const index = this.#firstAfter(offset);
    const around = this.#hidden[index];
    if (around !== undefined && around.start < offset) return isEnd ? around.to : around.from;
    const before = this.#hidden[index - 1];
    return before === undefined ? this.#from + offset : before.to + offset - before.end;
  }

  #drop(done: number): void {
    if (done === 0) return;
    this.#from = this.#inputOf(done, true);
    this.#held = this.#held.subarray(done);
    this.#hidden = this.#hidden
      .slice(this.#firstAfter(done))
      .map((one) => ({ ...one, start: one.start - done, end: one.end - done }));
  }
}

/**
 * Where the next part to look through ends: after whole lines, as many as are there, or inside a
 * line that is longer than a piece. It depends on nothing but the bytes since the line began, so
 * that chunks make no difference. `null`: more is needed.
 */
function nextStop(held: Buffer, from: number): number | null {
  let at = from;
  for (;;) {
    // The last line feed within a piece: all lines up to it are short enough.
    const feed = held.subarray(at, at + pieceBytesMax).lastIndexOf(lineFeed);
    if (feed !== -1) {
      at += feed + 1;
      continue;
    }
    if (at > from) return at;
    return held.length - at < pieceBytesMax
      ? null
      : at + cut(held.subarray(at, at + pieceBytesMax));
  }
}

/** Length of a piece: up to the last place between two words, if there is one near its end. */
function cut(piece: Buffer): number {
  for (let at = piece.length; at > piece.length - cutBytesMax; at -= 1) {
    if (isBetween(piece[at - 1] ?? 0)) return at;
  }
  return piece.length;
}

/** Space, comma, semicolon, brackets: no token of a secret holds one. */
const between = new Set(Buffer.from(' \t,;(){}<>|'));
const isBetween = (byte: number): boolean => between.has(byte);
