/** Two maskers, one after the other: for values that became known while a stream was under way. */
import type { Piece } from './finding.ts';
import type { Masker } from './stream.ts';

/** What the first one hides is out of the second one's sight; what it holds back stays with it. */
export class ChainMasker implements Masker {
  readonly #first: Masker;
  readonly #second: Masker;

  constructor(first: Masker, second: Masker) {
    this.#first = first;
    this.#second = second;
  }

  get held(): number {
    return this.#first.held + this.#second.held;
  }

  get holds(): boolean {
    return this.#first.holds || this.#second.holds;
  }

  push(chunk: Uint8Array): Piece[] {
    return this.#through(this.#first.push(chunk));
  }

  flush(): Piece[] {
    return [...this.#through(this.#first.flush()), ...this.#second.flush()];
  }

  end(): Piece[] {
    return [...this.#through(this.#first.end()), ...this.#second.end()];
  }

  #through(pieces: readonly Piece[]): Piece[] {
    return pieces.flatMap((piece) =>
      piece.kind === 'text' ? this.#second.push(piece.bytes) : [...this.#second.flush(), piece],
    );
  }
}
