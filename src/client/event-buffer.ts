import { TrlError } from '../errors.ts';

/** Absolute limit of the queue: a source that does not pause is cut off, in `bytes`. */
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

  /** `bytesMax`: the source is paused above it, and resumed at half of it. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** `bytes` is the cost of the event. */
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

  /** Queued events are still read; then the iteration ends. */
  end(): void {
    this.#ending ??= 'done';
    this.#wake();
  }

  /** Queued events are still read; then the iteration throws `failure`. */
  fail(failure: unknown): void {
    this.#ending ??= { failure };
    this.#wake();
  }

  /** Drops queued and later events. */
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

/** Limit of things with an unread state. */
const waitingMax = 65_536;

/** The latest state of many things: a slow reader misses intermediate states, never the last. */
export class LatestValueBuffer<T> implements AsyncIterable<T> {
  readonly #waiting = new Map<string, T>();
  #failure: { readonly reason: unknown } | null = null;
  #wake = (): void => {};

  /** Replaces an unread value with the same key. */
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

  /** Unread values are still read; then the iteration throws `reason`. */
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
