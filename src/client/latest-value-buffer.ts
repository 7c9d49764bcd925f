/** What is told of many things, the latest of each: a slow reader misses steps, never the last. */
import { TrlError } from '../errors.ts';

/** Things that a reader may be behind with. */
const waitingMax = 65_536;

export class LatestValueBuffer<T> implements AsyncIterable<T> {
  readonly #waiting = new Map<string, T>();
  #failure: { readonly reason: unknown } | null = null;
  #wake = (): void => {};

  /** What waited under the same key is forgotten. */
  put(key: string, value: T): void {
    if (this.#failure !== null) return;
    this.#waiting.delete(key);
    this.#waiting.set(key, value);
    if (this.#waiting.size > waitingMax) {
      const message = `Cannot watch on: the reader is behind with over ${waitingMax} things`;
      this.fail(new TrlError('QUOTA_EXCEEDED', message));
    }
    this.#wake();
  }

  /** What waits is still read; then the iteration throws `reason`. */
  fail(reason: unknown): void {
    this.#failure ??= { reason };
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, void> {
    for (;;) {
      for (const [key, value] of this.#waiting) {
        this.#waiting.delete(key);
        yield value;
      }
      if (this.#failure !== null) throw this.#failure.reason;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
