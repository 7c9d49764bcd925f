/** Reports every change to one connection: `{"stream_id":"f-…","event":{…}}`. */
import { randomBytes } from 'node:crypto';
import { TrlError } from '../../errors.ts';
import type { FeedAnswer, FeedId, FeedMessage } from '../../api/system.ts';
import { CoalescingSender } from './coalescing-sender.ts';
import type { WatchOptions } from './approval-watch.ts';

export class FeedWatch {
  readonly #options: WatchOptions;
  #id: FeedId | null = null;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  get isOn(): boolean {
    return this.#id !== null;
  }

  /**
   * The caller must call `start` after it has sent the answer; `start` sends the first events.
   *
   * @throws TrlError `INVALID_PARAMS` if the connection already watches
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
    const latest = new CoalescingSender({ ...this.#options, masking: runtime.masking });
    const stop = runtime.feed.watch(caller, (key, look) => {
      latest.put(key, async (): Promise<FeedMessage | null> => {
        const event = await look();
        return event === null ? null : { stream_id: id, event };
      });
    });
    signal.addEventListener('abort', stop, { once: true });
  }
}
