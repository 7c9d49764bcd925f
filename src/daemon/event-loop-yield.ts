/**
 * Pieces of work, one in each turn of the event loop: many that arrive at once must not keep
 * everybody else waiting until the last of them is done.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

export class EventLoopYield {
  #last: Promise<void> = Promise.resolve();

  /** Settles when the caller may compute; those who asked before come first. */
  next(): Promise<void> {
    this.#last = this.#last.then(() => nextTurn());
    return this.#last;
  }
}
