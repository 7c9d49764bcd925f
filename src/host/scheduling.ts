/** Work that is done again and again, and leaves time for the rest. */

/** How often, in `ms`; short work takes one of so many parts of the time. */
const defaultEveryMs = 1_000;
const share = 20;
/** A watcher does not wait longer than this for slow work, in `ms`. */
const restMs = 5_000;

/** How long it rests after work that took so long, in `ms`. */
export function restAfterWorkMs(tookMs: number, everyMs: number): number {
  return Math.max(everyMs, Math.min(share * tookMs, Math.max(restMs, tookMs)));
}

export class PeriodicTask {
  readonly #work: () => Promise<number | null>;
  readonly #onError: (error: unknown) => void;
  readonly #everyMs: number;
  #timer: NodeJS.Timeout | null = null;
  #isOver = false;
  #isHurried = false;

  /**
   * @param work answers how long it took, in `ms`; `null`: there is no more to do
   * @param onError receives what `work` throws, and the work goes on; must not throw
   * @param everyMs default 1,000
   */
  constructor(
    work: () => Promise<number | null>,
    onError: (error: unknown) => void,
    everyMs = defaultEveryMs,
  ) {
    this.#work = work;
    this.#onError = onError;
    this.#everyMs = everyMs;
  }

  /** Begins, where it does not go on already and was not stopped. Keeps no process alive. */
  start(): void {
    if (!this.#isOver) this.#later(this.#everyMs);
  }

  /** There is more to do than usual: whatever this work takes, the next begins in `everyMs`. */
  hurry(): void {
    this.#isHurried = true;
  }

  /** For good; work under way ends by itself. */
  stop(): void {
    this.#isOver = true;
    clearTimeout(this.#timer ?? undefined);
    this.#timer = null;
  }

  #later(delayMs: number): void {
    this.#timer ??= setTimeout(() => void this.#run(), delayMs).unref();
  }

  async #run(): Promise<void> {
    this.#timer = null;
    const tookMs = await this.#work().catch((error: unknown) => {
      this.#onError(error);
      return 0;
    });
    const countedMs = this.#isHurried ? 0 : (tookMs ?? 0);
    this.#isHurried = false;
    if (tookMs !== null && !this.#isOver) this.#later(restAfterWorkMs(countedMs, this.#everyMs));
  }
}

/** Runs tasks one after the other, in the order of the calls. */
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
