/**
 * Runs one part of the work in each iteration of the event loop, so that many requests that arrive
 * at once do not block all other callers until the last one is done.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

export class EventLoopYield {
  #last: Promise<void> = Promise.resolve();

  /** Resolves when the caller may compute; earlier callers come first. */
  next(): Promise<void> {
    this.#last = this.#last.then(() => nextTurn());
    return this.#last;
  }
}
