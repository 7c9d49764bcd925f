/** Hides known values in a stream of output. */
import type { MaskedChunk } from '../secret-finding.ts';
import { CompressedMasker } from './compressed-masker.ts';
import type { KnownIndex } from './known-index.ts';
import { TextMasker } from './text-masker.ts';

/**
 * However the stream is cut into chunks, the pieces are the same once those of text that follow
 * each other are put together, unless a flush was forced. No byte is lost or moved: texts and the
 * counts of hidden pieces add up to the input. Each occurrence is one hidden piece, which comes
 * when its end is known; only its count is kept until then, however long it goes on.
 *
 * Any ten to twelve letters or digits in a row of any form are hidden (see `forms.ts`; more where
 * a form's digits hold little, and up to 43 for values above 4 KiB), with what stands between. In
 * a dump, each line that shows any of it is hidden but for its offset. Held back are at most 48
 * symbols, each with up to 1 KiB of other bytes before it, one line of a dump, and 64 KiB of
 * digits that may be compressed.
 */
export class KnownMasker {
  readonly #text: LayeredMasker;
  readonly #gate: CompressedMasker;

  constructor(index: KnownIndex) {
    this.#text = new LayeredMasker(index);
    this.#gate = new CompressedMasker(this.#text);
  }

  /** What can be given out by now. Held back is what may be the start of a known value. */
  push(chunk: Uint8Array): MaskedChunk[] {
    const out: MaskedChunk[] = [];
    this.#gate.push(chunk, out);
    return out;
  }

  /**
   * Everything that is held, whatever it is; to be asked for only while {@link pendingSymbols} is
   * small. A value that goes on afterwards is still known by what was given out, and its rest is
   * hidden.
   */
  flush(): MaskedChunk[] {
    const out: MaskedChunk[] = [];
    this.#gate.settle(out);
    this.#text.flush(out);
    return out;
  }

  /** Everything that is held, at the end of the stream. */
  end(): MaskedChunk[] {
    const out: MaskedChunk[] = [];
    this.#gate.settle(out);
    this.#text.end(out);
    return out;
  }

  /** Whether anything at all is held back: bytes, or a tag whose value may still go on. */
  get hasPending(): boolean {
    return this.#gate.pendingBytes.length > 0 || this.#text.hasPending;
  }

  /**
   * The last letters and digits that may be part of a known value, those that were given out
   * already among them: below six, nothing can be put together from what pauses let through.
   */
  get pendingSymbols(): number {
    return Math.max(
      this.#gate.pendingSymbols,
      this.#text.pendingSymbolsBefore(this.#gate.pendingBytes),
    );
  }
}

export class LayeredMasker {
  readonly #index: KnownIndex;
  /** What the one before gives out as text is looked through by the next. */
  readonly #maskers: readonly TextMasker[];

  constructor(index: KnownIndex) {
    this.#index = index;
    this.#maskers = index.layers.map((layer) => new TextMasker(layer));
  }

  push(bytes: Uint8Array, out: MaskedChunk[]): void {
    this.#pass([{ kind: 'text', bytes }], 0, out);
  }

  /** Gives out what is held. What is taken for a value can still go on behind it. */
  flush(out: MaskedChunk[]): void {
    for (const [at, masker] of this.#maskers.entries()) {
      const pieces: MaskedChunk[] = [];
      masker.flush(pieces);
      this.#pass(pieces, at + 1, out);
    }
  }

  /** Gives out what is held. What comes afterwards has nothing to do with it. */
  end(out: MaskedChunk[]): void {
    this.#endFrom(0, out);
  }

  /** The first known value in bytes that are apart from the stream, hiding `length` bytes. */
  find(bytes: Uint8Array, length: number): MaskedChunk | null {
    const out: MaskedChunk[] = [];
    const apart = new LayeredMasker(this.#index);
    apart.push(bytes, out);
    apart.end(out);
    const found = out.find((piece) => piece.kind === 'hidden');
    return found === undefined ? null : { ...found, bytes: length };
  }

  /** Whether bytes are held, or a hidden piece whose end is not known. */
  get hasPending(): boolean {
    return this.#maskers.some(({ hasPending: holds }) => holds);
  }

  /** Symbols that may be part of a value, where the bytes of `waiting` follow what is held. */
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
      const pieces: MaskedChunk[] = [];
      masker.end(pieces);
      this.#pass(pieces, at + 1, out);
    }
  }

  #pass(pieces: readonly MaskedChunk[], to: number, out: MaskedChunk[]): void {
    const masker = this.#maskers[to];
    for (const piece of pieces) {
      if (masker === undefined) {
        out.push(piece);
      } else if (piece.kind === 'text') {
        const next: MaskedChunk[] = to + 1 === this.#maskers.length ? out : [];
        masker.push(piece.bytes, next);
        if (next !== out) this.#pass(next, to + 1, out);
      } else {
        this.#endFrom(to, out);
        out.push(piece);
      }
    }
  }
}
