/**
 * Redacts one stream of output: first known values, then what looks like a secret. However the
 * input is split into chunks, the output is the same, unless a flush was forced. No byte is lost or
 * moved; each hidden part is replaced by its tag.
 */
import { redactedBytes, type RedactedBytes } from './redacted-text.ts';
import type { RedactionTags } from './redaction-tags.ts';
import { mergeFindings, type MaskedChunk, type SecretFinding } from './secret-finding.ts';

/** Hides known values; see `known/known-masker.ts`. */
export interface KnownValueMasker {
  push(chunk: Uint8Array): MaskedChunk[];
  flush(): MaskedChunk[];
  end(): MaskedChunk[];
  /** Pending symbols that can begin a known value. */
  readonly pendingSymbols: number;
  /** Whether any byte is held back. */
  readonly hasPending: boolean;
}

/** Finds unknown secrets in whole lines, or in one slice of a line; see `detect/detector.ts`. */
export interface StreamFinder {
  scan(text: string, bytes: Uint8Array): SecretFinding[];
}

/** One replacement, with the length of the input and none of its characters. */
export interface SecretReplacement {
  /** Offsets `[from, to)` in bytes of the input stream. */
  readonly from: number;
  readonly to: number;
  readonly tag: string;
  /** Names the value, see {@link RedactionTags.nameOf}; `null`: it is a known one. */
  readonly digest: string | null;
  readonly finding: Omit<SecretFinding, 'start' | 'end'>;
}

/** Finds known values that are hidden only in context; see `known/weak-values.ts`. */
export interface WeakValueFinder {
  find(text: string): SecretFinding[];
}

export interface StreamRedactorParts {
  /** `null`: no value is known. */
  readonly masker: KnownValueMasker | null;
  readonly finder: StreamFinder;
  /** `null`: no such value is known. */
  readonly weak: WeakValueFinder | null;
  readonly tags: RedactionTags;
  /**
   * Names of values that a person chose to show although they look like secrets, see {@link
   * RedactionTags.nameOf}. A known value is never shown. Default: none.
   */
  readonly revealed?: ReadonlySet<string> | undefined;
  /** Called in the order of the stream. Must not throw. */
  readonly onRedaction: (redaction: SecretReplacement) => void;
  /**
   * Receives the output with only the known values hidden, in order. The bytes are reused: copy
   * what must be kept. Must not throw.
   */
  readonly onMasked?: (chunks: readonly MaskedChunk[]) => void;
}

/** A line is searched in slices of at most this many bytes. */
export const lineSliceBytesMax = 8 * 1024;
/** The most bytes from the end of a slice in which a gap between two words is searched for. */
const cutBytesMax = 1_024;
/** From fewer symbols in a forced flush, nothing can be reconstructed. */
const flushSymbolsMax = 6;
const lineFeed = 10;

/** The tag of a known value in the searched text, and the input that it replaces. */
interface HiddenPart {
  /** Offsets in the pending bytes. */
  readonly start: number;
  readonly end: number;
  /** Offsets in the input. */
  readonly from: number;
  readonly to: number;
  readonly chunk: Extract<MaskedChunk, { kind: 'hidden' }>;
}

export class StreamRedactor {
  readonly #parts: StreamRedactorParts;
  #masker: KnownValueMasker | null;
  readonly #weak: WeakValueFinder[];
  /** The unfinished line, with known values already replaced. */
  #pending = Buffer.alloc(0);
  #hidden: HiddenPart[] = [];
  /** Offsets in the input of the first pending byte, and after the last one. */
  #from = 0;
  #to = 0;
  /** The number of forced flushes. After one, the output can depend on its time. */
  forcedFlushes = 0;

  constructor(parts: StreamRedactorParts) {
    this.#parts = parts;
    this.#masker = parts.masker;
    this.#weak = parts.weak === null ? [] : [parts.weak];
  }

  /** Adds values that have become known: from here on they are hidden, too. */
  learn({ masker, weak }: Pick<StreamRedactorParts, 'masker' | 'weak'>): void {
    if (weak !== null) this.#weak.push(weak);
    if (masker === null) return;
    this.#masker = this.#masker === null ? masker : new ChainMasker(this.#masker, masker);
  }

  push(chunk: Uint8Array): RedactedBytes {
    const masker = this.#masker;
    this.#append(masker === null ? [{ kind: 'text', bytes: chunk }] : masker.push(chunk));
    return this.#release(false);
  }

  /** Whether anything is held back. */
  get hasPending(): boolean {
    return this.#pending.length > 0 || this.#masker?.hasPending === true;
  }

  /**
   * Releases pending bytes when no more input is expected soon: the last line of a server, say.
   * Nothing is released while the pending bytes can contain so much of a known value that its parts
   * could be joined.
   *
   * @param lines `whole`: an unfinished line stays; `all`: it is released, too, such as a prompt
   */
  flush(lines: 'whole' | 'all'): RedactedBytes {
    const masker = this.#masker;
    const isHeld = masker?.hasPending === true || (lines === 'all' && this.#pending.length > 0);
    if (!isHeld || (masker !== null && masker.pendingSymbols >= flushSymbolsMax)) {
      return redactedBytes(Buffer.alloc(0));
    }
    this.forcedFlushes += 1;
    if (masker !== null) this.#append(masker.flush());
    return this.#release(lines === 'all');
  }

  end(): RedactedBytes {
    const masker = this.#masker;
    if (masker !== null) this.#append(masker.end());
    return this.#release(true);
  }

  #append(chunks: readonly MaskedChunk[]): void {
    if (chunks.length === 0) return;
    this.#parts.onMasked?.(chunks);
    const parts: Uint8Array[] = this.#pending.length === 0 ? [] : [this.#pending];
    let length = this.#pending.length;
    for (const chunk of chunks) {
      if (chunk.kind === 'text') {
        parts.push(chunk.bytes);
        length += chunk.bytes.length;
        this.#to += chunk.bytes.length;
        continue;
      }
      const tag = Buffer.from(chunk.tag, 'latin1');
      const from = this.#to;
      this.#to += chunk.bytes;
      this.#hidden.push({ start: length, end: length + tag.length, from, to: this.#to, chunk });
      parts.push(tag);
      length += tag.length;
    }
    const [only] = parts;
    // A copy, even of a single chunk: the reader reuses its buffer.
    this.#pending =
      parts.length === 1 && only !== undefined ? Buffer.from(only) : Buffer.concat(parts, length);
  }

  /** Searches complete lines, or everything, and releases the result. */
  #release(all: boolean): RedactedBytes {
    const pending = this.#pending;
    const out: Uint8Array[] = [];
    let done = 0;
    while (done < pending.length) {
      const stop = nextStop(pending, done);
      if (stop === null) break;
      this.#search(done, stop, out);
      done = stop;
    }
    if (all && done < pending.length) {
      this.#search(done, pending.length, out);
      done = pending.length;
    }
    this.#drop(done);
    const [only] = out;
    return redactedBytes(out.length === 1 && only !== undefined ? only : Buffer.concat(out));
  }

  #search(start: number, stop: number, out: Uint8Array[]): void {
    const bytes = this.#pending.subarray(start, stop);
    const text = bytes.toString('latin1');
    const known = this.#weak.flatMap((weak) => weak.find(text));
    const likely = this.#parts.finder.scan(text, bytes);
    const findings = known.length === 0 ? likely : mergeFindings([...known, ...likely]);
    let at = start;
    for (const finding of findings) {
      const from = start + finding.start;
      const to = start + finding.end;
      if (from < at || to <= from || to > stop || !isReadableText(bytes, finding)) continue;
      const value = this.#pending.subarray(from, to);
      // A known value can be within what looks like a longer secret.
      const isKnown = known.some((one) => one.start < finding.end && finding.start < one.end);
      const digest = isKnown ? null : this.#parts.tags.nameOf(value);
      if (digest !== null && this.#parts.revealed?.has(digest) === true) continue;
      this.#reportKnown(at, from);
      out.push(this.#pending.subarray(at, from));
      const tag = this.#parts.tags.of(value);
      out.push(Buffer.from(tag, 'latin1'));
      const location = { from: this.#inputOf(from, false), to: this.#inputOf(to, true) };
      this.#report({ ...location, tag, digest }, finding);
      at = to;
    }
    this.#reportKnown(at, stop);
    if (at < stop) out.push(this.#pending.subarray(at, stop));
  }

  #report(
    location: Omit<SecretReplacement, 'finding'>,
    finding: SecretReplacement['finding'],
  ): void {
    const { kind, rule, score, key } = finding;
    this.#parts.onRedaction({ ...location, finding: { kind, rule, score, key } });
  }

  /** Reports known values whose tags are in a released range. */
  #reportKnown(start: number, stop: number): void {
    for (let index = this.#firstAfter(start); index < this.#hidden.length; index += 1) {
      const one = this.#hidden[index];
      if (one === undefined || one.start >= stop) break;
      // The rest of a split tag was reported with its beginning.
      if (one.start < start) continue;
      const { from, to, chunk } = one;
      this.#report({ from, to, tag: chunk.tag, digest: null }, chunk.finding);
    }
  }

  /** Index of the first hidden part that ends after the pending byte `offset`. */
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

  /** The input offset of the pending byte `offset`; within a tag: the tag's start or end. */
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
    this.#pending = this.#pending.subarray(done);
    this.#hidden = this.#hidden
      .slice(this.#firstAfter(done))
      .map((one) => ({ ...one, start: one.start - done, end: one.end - done }));
  }
}

/**
 * The end of the next range to search: after as many whole lines as are present, or within a line
 * that is longer than a slice. It depends only on the bytes since the line began, so that chunks
 * make no difference. `null`: more input is needed.
 */
function nextStop(pending: Buffer, from: number): number | null {
  let at = from;
  for (;;) {
    // The last line feed within a slice: all lines up to it are short enough.
    const feed = pending.subarray(at, at + lineSliceBytesMax).lastIndexOf(lineFeed);
    if (feed !== -1) {
      at += feed + 1;
      continue;
    }
    if (at > from) return at;
    return pending.length - at < lineSliceBytesMax
      ? null
      : at + cut(pending.subarray(at, at + lineSliceBytesMax));
  }
}

/** Length of a slice: up to the last gap between two words, if one is near its end. */
function cut(chunk: Buffer): number {
  for (let at = chunk.length; at > chunk.length - cutBytesMax; at -= 1) {
    if (isBetween(chunk[at - 1] ?? 0)) return at;
  }
  return chunk.length;
}

/** Space, comma, semicolon, brackets: no token of a secret contains one. */
const between = new Set(Buffer.from(' \t,;(){}<>|'));
const isBetween = (byte: number): boolean => between.has(byte);

/**
 * Two maskers in a row, for values that became known during a stream. The second does not see what
 * the first hides or holds back.
 */
export class ChainMasker implements KnownValueMasker {
  readonly #first: KnownValueMasker;
  readonly #second: KnownValueMasker;

  constructor(first: KnownValueMasker, second: KnownValueMasker) {
    this.#first = first;
    this.#second = second;
  }

  get pendingSymbols(): number {
    return this.#first.pendingSymbols + this.#second.pendingSymbols;
  }

  get hasPending(): boolean {
    return this.#first.hasPending || this.#second.hasPending;
  }

  push(chunk: Uint8Array): MaskedChunk[] {
    return this.#passOn(this.#first.push(chunk));
  }

  flush(): MaskedChunk[] {
    return [...this.#passOn(this.#first.flush()), ...this.#second.flush()];
  }

  end(): MaskedChunk[] {
    return [...this.#passOn(this.#first.end()), ...this.#second.end()];
  }

  #passOn(chunks: readonly MaskedChunk[]): MaskedChunk[] {
    return chunks.flatMap((chunk) =>
      chunk.kind === 'text' ? this.#second.push(chunk.bytes) : [...this.#second.flush(), chunk],
    );
  }
}

/** Bytes around a finding that are examined. */
const aroundBytes = 24;

/**
 * Whether the finding and its surroundings have neither control characters nor broken UTF-8: in
 * binary data, noise looks like anything. A NUL counts as text: it separates the entries of an
 * environment, and fills UTF-16.
 */
export function isReadableText(
  bytes: Uint8Array,
  { start, end }: Pick<SecretFinding, 'start' | 'end'>,
): boolean {
  const from = Math.max(0, start - aroundBytes);
  const to = Math.min(bytes.length, end + aroundBytes);
  for (let at = from; at < to; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte < 0x20 || byte === 0x7f) {
      if (!isLayout(byte)) return false;
    } else if (byte >= 0x80) {
      const length = sequence(bytes, at, to);
      // A character that began before the examined range is whole.
      if (length === 0 && at >= from + 3) return false;
      at += Math.max(0, length - 1);
    }
  }
  return true;
}

/** NUL, backspace, tab, line feed, vertical tab, form feed, carriage return, escape. */
const isLayout = (byte: number): boolean =>
  byte === 0 || (byte >= 0x08 && byte <= 0x0d) || byte === 0x1b;

/** Bytes of the UTF-8 character at `at`, within the range; 0: there is none. */
function sequence(bytes: Uint8Array, at: number, to: number): number {
  const lead = bytes[at] ?? 0;
  const length = lead >= 0xf5 ? 0 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0;
  for (let next = at + 1; next < at + length && next < to; next += 1) {
    if (((bytes[next] ?? 0) & 0xc0) !== 0x80) return 0;
  }
  return length;
}
