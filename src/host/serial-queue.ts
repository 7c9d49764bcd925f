/** Runs one piece of work after the other, in the order in which they were given. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();

  /** `work` begins when all before it have ended, however they ended. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }

  /** Settles when what was given by now has ended. Never rejects. */
  async idle(): Promise<void> {
    await this.#last;
  }
}
