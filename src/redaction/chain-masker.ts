/** Two maskers, one after the other: for values that became known while a stream was under way. */
import type { MaskedChunk } from './secret-finding.ts';
import type { KnownValueMasker } from './stream-redactor.ts';

/** What the first one hides is out of the second one's sight; what it holds back stays with it. */
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
    return this.#through(this.#first.push(chunk));
  }

  flush(): MaskedChunk[] {
    return [...this.#through(this.#first.flush()), ...this.#second.flush()];
  }

  end(): MaskedChunk[] {
    return [...this.#through(this.#first.end()), ...this.#second.end()];
  }

  #through(pieces: readonly MaskedChunk[]): MaskedChunk[] {
    return pieces.flatMap((piece) =>
      piece.kind === 'text' ? this.#second.push(piece.bytes) : [...this.#second.flush(), piece],
    );
  }
}
