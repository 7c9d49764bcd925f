/** What one connection is told of many things: of each the latest, when it has room to hear it. */
import type { Masking } from '../secrets/masking.ts';
import type { ConnectionWriter } from './connection-writer.ts';

export interface CoalescingSenderOptions {
  readonly writer: ConnectionWriter;
  readonly masking: Masking;
  /** Aborted when the client is gone; the only end. */
  readonly signal: AbortSignal;
}

/** The message about a thing, made when it is sent; `null`: there is none any more. */
type Look = () => object | null | Promise<object | null>;

/** A slow reader costs one entry a thing: it misses steps, never the last one. */
export class CoalescingSender {
  readonly #options: CoalescingSenderOptions;
  readonly #waiting = new Map<string, Look>();
  #sending = false;

  constructor(options: CoalescingSenderOptions) {
    this.#options = options;
  }

  put(key: string, look: Look): void {
    // Behind what waits already: the later a thing changed, the later it is told.
    this.#waiting.delete(key);
    this.#waiting.set(key, look);
    if (!this.#sending) void this.#send();
  }

  /** Never rejects: what is written to a client that is gone is dropped. */
  async #send(): Promise<void> {
    const { writer, masking, signal } = this.#options;
    this.#sending = true;
    for (;;) {
      await writer.ready();
      // Taken after the wait: meanwhile a later state of the same thing may have come.
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
