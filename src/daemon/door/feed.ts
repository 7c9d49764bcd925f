/** Tells one connection of everything that changes: `{"stream_id":"f-…","event":{…}}`. */
import { randomBytes } from 'node:crypto';
import { TrlError } from '../../errors.ts';
import type { FeedAnswer, FeedId, FeedMessage } from '../../protocol/feed.ts';
import type { Tell } from '../feed.ts';
import type { WatchOptions } from './watch.ts';

type Look = Parameters<Tell>[1];

export class FeedWatch {
  readonly #options: WatchOptions;
  /** What a slow reader has not been told, one entry a thing. */
  readonly #waiting = new Map<string, Look>();
  #id: FeedId | null = null;
  #sending = false;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  get isOn(): boolean {
    return this.#id !== null;
  }

  /**
   * `start` sends the first events, after the answer has left; it must be called.
   *
   * @throws TrlError `INVALID_PARAMS` when the connection watches already
   */
  announce(): { readonly answer: FeedAnswer; readonly start: () => void } {
    if (this.#id !== null) {
      throw new TrlError('INVALID_PARAMS', 'Cannot watch: this connection does already');
    }
    const id: FeedId = `f-${randomBytes(16).toString('hex')}`;
    this.#id = id;
    return { answer: { stream_id: id }, start: () => this.#start(id) };
  }

  #start(id: FeedId): void {
    const { runtime, caller, signal } = this.#options;
    if (signal.aborted) return;
    const stop = runtime.feed.watch(caller, (key, look) => {
      // Behind what waits already: the later a thing changed, the later it is told.
      this.#waiting.delete(key);
      this.#waiting.set(key, look);
      if (!this.#sending) void this.#send(id);
    });
    signal.addEventListener('abort', stop, { once: true });
  }

  /** Never rejects: what is written to a client that is gone is dropped. */
  async #send(id: FeedId): Promise<void> {
    const { writer, signal, runtime } = this.#options;
    this.#sending = true;
    for (;;) {
      await writer.ready();
      const [next] = this.#waiting;
      if (next === undefined || signal.aborted) break;
      const [key, look] = next;
      this.#waiting.delete(key);
      const event = await look();
      if (event === null) continue;
      const message: FeedMessage = { stream_id: id, event };
      writer.message(runtime.masking.json(message));
    }
    this.#sending = false;
  }
}
