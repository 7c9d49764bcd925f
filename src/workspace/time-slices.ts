/** Gives other work a turn before it waited for long. */
export class TimeSlices {
  readonly #sliceMs: number;
  #until: number;

  constructor(sliceMs = 4) {
    this.#sliceMs = sliceMs;
    this.#until = performance.now() + sliceMs;
  }

  /** Whether it is time to wait for {@link yieldTurn}. */
  get isOver(): boolean {
    return performance.now() >= this.#until;
  }

  async yieldTurn(): Promise<void> {
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
    this.#until = performance.now() + this.#sliceMs;
  }
}
