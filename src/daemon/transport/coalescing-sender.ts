/** Sends one connection the latest state of each of many things, when the connection has room. */
import type { Masking } from '../secrets/masking.ts';
import type { ConnectionWriter } from './connection-writer.ts';

export interface CoalescingSenderOptions {
  readonly writer: ConnectionWriter;
  readonly masking: Masking;
  /** Aborts when the client disconnects; nothing else ends the sending. */
  readonly signal: AbortSignal;
}

/** Creates the message about a thing just before it is sent; `null` if the thing is gone. */
type Look = () => object | null | Promise<object | null>;

/** A slow reader costs one entry per thing: it misses intermediate states, never the last one. */
export class CoalescingSender {
  readonly #options: CoalescingSenderOptions;
  readonly #waiting = new Map<string, Look>();
  #sending = false;

  constructor(options: CoalescingSenderOptions) {
    this.#options = options;
  }

  put(key: string, look: Look): void {
    // The key moves to the end of the queue: things are reported in the order of their last change.
    this.#waiting.delete(key);
    this.#waiting.set(key, look);
    if (!this.#sending) void this.#send();
  }

  /** Never rejects: messages to a client that has disconnected are dropped. */
  async #send(): Promise<void> {
    const { writer, masking, signal } = this.#options;
    this.#sending = true;
    for (;;) {
      await writer.ready();
      // Read after the wait, because the queue may have changed meanwhile.
      const [next] = this.#waiting;
      if (next === undefined || signal.aborted) break;
      const [key, look] = next;
      this.#waiting.delete(key);
      const message = await look();
      if (message !== null) writer.message(masking.json(message));
    }
    this.#sending = false;
  }
}
