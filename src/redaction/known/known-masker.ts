/**
 * Hides known values in a stream of output.
 *
 * Values in ASCII are searched separately from those with other letters: for the latter, bytes from
 * 0x80 are symbols, which would split an ASCII value that has them between its letters.
 */
import type { MaskedChunk } from '../secret-finding.ts';
import { CompressedMasker } from './compressed-masker.ts';
import type { KnownIndex } from './known-index.ts';
import { TextMasker } from './text-masker.ts';

/**
 * However the stream is split into chunks, the output is the same once consecutive chunks of text
 * are joined, unless a flush was forced. No byte is lost or moved: texts and the counts of hidden
 * chunks add up to the input. Each occurrence is one hidden chunk, which is released when its end
 * is known; until then only its length is stored.
 *
 * Any ten to twelve letters or digits in a row of any form are hidden (see `value-forms.ts`; more
 * if the digits of a form carry little, and up to 43 for values above 4 KiB), with everything
 * between them. In a dump, each line that contains any of it is hidden except for its offset. At
 * most 48 symbols are held back, each with up to 1 KiB of other bytes before it, one line of a
 * dump, and 64 KiB of digits that may be compressed.
 */
export class KnownMasker {
  readonly #text: LayeredMasker;
  readonly #compressed: CompressedMasker;

  constructor(index: KnownIndex) {
    this.#text = new LayeredMasker(index);
    this.#compressed = new CompressedMasker(this.#text);
  }

  /** Returns what can be released. The possible start of a known value is held back. */
  push(chunk: Uint8Array): MaskedChunk[] {
    const out: MaskedChunk[] = [];
    this.#compressed.push(chunk, out);
    return out;
  }

  /**
   * Returns all pending bytes, whatever they are. Allowed only while {@link pendingSymbols} is
   * small. If a value continues afterwards, it is still recognised by its released part, and the
   * rest is hidden.
   */
  flush(): MaskedChunk[] {
    const out: MaskedChunk[] = [];
    this.#compressed.settle(out);
    this.#text.flush(out);
    return out;
  }

  /** Returns all pending bytes at the end of the stream. */
  end(): MaskedChunk[] {
    const out: MaskedChunk[] = [];
    this.#compressed.settle(out);
    this.#text.end(out);
    return out;
  }

  /** Whether anything is held back: bytes, or a tag whose value can still continue. */
  get hasPending(): boolean {
    return this.#compressed.pendingBytes.length > 0 || this.#text.hasPending;
  }

  /**
   * The last letters and digits that can be part of a known value, including those already
   * released: below six, nothing can be reconstructed from what flushes release.
   */
  get pendingSymbols(): number {
    return Math.max(
      this.#compressed.pendingSymbols,
      this.#text.pendingSymbolsBefore(this.#compressed.pendingBytes),
    );
  }
}

export class LayeredMasker {
  readonly #index: KnownIndex;
  /** Each searches the text that the one before it releases. */
  readonly #maskers: readonly TextMasker[];

  constructor(index: KnownIndex) {
    this.#index = index;
    this.#maskers = index.layers.map((layer) => new TextMasker(layer));
  }

  push(bytes: Uint8Array, out: MaskedChunk[]): void {
    this.#pass([{ kind: 'text', bytes }], 0, out);
  }

  /** Releases pending bytes. A value that began in them can still continue. */
  flush(out: MaskedChunk[]): void {
    for (const [at, masker] of this.#maskers.entries()) {
      const chunks: MaskedChunk[] = [];
      masker.flush(chunks);
      this.#pass(chunks, at + 1, out);
    }
  }

  /** Releases pending bytes. Later bytes are unrelated to them. */
  end(out: MaskedChunk[]): void {
    this.#endFrom(0, out);
  }

  /** The first known value in separate bytes, as a chunk that hides `length` bytes. */
  find(bytes: Uint8Array, length: number): MaskedChunk | null {
    const out: MaskedChunk[] = [];
    const apart = new LayeredMasker(this.#index);
    apart.push(bytes, out);
    apart.end(out);
    const found = out.find((chunk) => chunk.kind === 'hidden');
    return found === undefined ? null : { ...found, bytes: length };
  }

  /** Whether bytes are held back, or a hidden chunk whose end is unknown. */
  get hasPending(): boolean {
    return this.#maskers.some(({ hasPending: holds }) => holds);
  }

  /** Symbols that can be part of a value, if the bytes of `waiting` follow those held back. */
  pendingSymbolsBefore(waiting: Uint8Array): number {
    let held = 0;
    let behind = waiting;
    for (const masker of this.#maskers) {
      held = Math.max(held, masker.pendingSymbolsBefore(behind));
      behind = Buffer.concat([masker.pendingBytes, behind]);
    }
    return held;
  }

  #endFrom(first: number, out: MaskedChunk[]): void {
    for (const [at, masker] of this.#maskers.entries()) {
      if (at < first) continue;
      const chunks: MaskedChunk[] = [];
      masker.end(chunks);
      this.#pass(chunks, at + 1, out);
    }
  }

  #pass(chunks: readonly MaskedChunk[], to: number, out: MaskedChunk[]): void {
    const masker = this.#maskers[to];
    for (const chunk of chunks) {
      if (masker === undefined) {
        out.push(chunk);
      } else if (chunk.kind === 'text') {
        const next: MaskedChunk[] = to + 1 === this.#maskers.length ? out : [];
        masker.push(chunk.bytes, next);
        if (next !== out) this.#pass(next, to + 1, out);
      } else {
        this.#endFrom(to, out);
        out.push(chunk);
      }
    }
  }
}
