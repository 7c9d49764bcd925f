import { setImmediate as turn } from 'node:timers/promises';

/** Lets other work run before it has waited for long. */
export class TimeSlices {
  readonly #sliceMs: number;
  #until: number;

  constructor(sliceMs = 4) {
    this.#sliceMs = sliceMs;
    this.#until = performance.now() + sliceMs;
  }

  /** Whether it is time to await {@link yieldTurn}. */
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

// Long work in slices, so that the event loop is never held for long.

const sliceMs = 4;

export class WorkPacer {
  #since = performance.now();

  /** Whether the slice is used up; then `await rest()`. Small work never awaits. */
  isDue(): boolean {
    return performance.now() - this.#since > sliceMs;
  }

  async rest(): Promise<void> {
    await turn();
    this.#since = performance.now();
  }
}
