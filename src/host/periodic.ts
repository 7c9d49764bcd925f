/** Work that is done again and again, and takes no more than a part of the time. */

/** How often, in `ms`, and which part of the time it may take: one of so many. */
const defaultEveryMs = 1_000;
const share = 20;

export class Periodic {
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
    if (tookMs !== null && !this.#isOver) this.#later(Math.max(this.#everyMs, share * countedMs));
  }
}
