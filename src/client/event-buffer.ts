import { TrlError } from '../errors.ts';

/** Held for a reader whatever the source does: one that heeds no hold is cut off, in `bytes`. */
const heldBytesMax = 256 * 1024 * 1024;

/** A bounded queue between a connection that pushes and one reader that pulls. */
export class EventBuffer<T> implements AsyncIterable<T> {
  readonly #bytesMax: number;
  #queue: { readonly event: T; readonly bytes: number }[] = [];
  #at = 0;
  #bytes = 0;
  #ending: { readonly failure: unknown } | 'done' | null = null;
  #taken = false;
  #discards = false;
  #paused = false;
  #wake = (): void => {};
  #hold: (paused: boolean) => void = () => {};

  /** `bytesMax`: from where the source is held back; a queue at half of it lets it go again. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** `bytes` is what the event costs. */
  push(event: T, bytes: number): void {
    if (this.#discards || this.#ending !== null) {
      return;
    }
    if (this.#bytes + bytes > heldBytesMax) {
      const message = `Cannot hold more for the reader: ${heldBytesMax} bytes wait`;
      this.fail(new TrlError('QUOTA_EXCEEDED', message));
      return;
    }
    this.#queue.push({ event, bytes });
    this.#bytes += bytes;
    this.#throttle();
    this.#wake();
  }

  /** What is queued is still read; then the iteration ends. */
  end(): void {
    this.#ending ??= 'done';
    this.#wake();
  }

  /** What is queued is still read; then the iteration throws `failure`. */
  fail(failure: unknown): void {
    this.#ending ??= { failure };
    this.#wake();
  }

  /** Drops what is queued and what still comes. */
  discard(): void {
    this.#discards = true;
    this.#queue = [];
    this.#at = 0;
    this.#bytes = 0;
    this.#throttle();
    this.#wake();
  }

  /** Calls `hold(true)` when the queue is full, `hold(false)` when it has room again. */
  throttle(hold: (paused: boolean) => void): void {
    this.#hold = hold;
    this.#paused = false;
    this.#throttle();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, void> {
    if (this.#taken) {
      throw new TypeError('Cannot iterate the stream: it is iterated already');
    }
    this.#taken = true;
    try {
      for (;;) {
        for (let item = this.#shift(); item !== null; item = this.#shift()) {
          yield item.event;
        }
        if (this.#ending !== null) {
          break;
        }
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      this.discard();
    }
    if (this.#ending !== 'done') {
      throw this.#ending.failure;
    }
  }

  #shift(): { readonly event: T } | null {
    const item = this.#queue[this.#at];
    if (item === undefined) {
      this.#queue = [];
      this.#at = 0;
      return null;
    }
    this.#at += 1;
    this.#bytes -= item.bytes;
    this.#throttle();
    return item;
  }

  #throttle(): void {
    const paused = this.#paused ? this.#bytes > this.#bytesMax / 2 : this.#bytes > this.#bytesMax;
    if (paused !== this.#paused) {
      this.#paused = paused;
      this.#hold(paused);
    }
  }
}
