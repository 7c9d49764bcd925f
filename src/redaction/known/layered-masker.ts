/**
 * Values of ASCII are looked for apart from those with other letters: for these, bytes from 0x80
 * are symbols, and whatever of them stands between the letters of a value tears it apart.
 */
import type { MaskedChunk } from '../secret-finding.ts';
import type { KnownIndex } from './known-index.ts';
import { TextMasker } from './text-masker.ts';

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
