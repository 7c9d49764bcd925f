/** Long work in slices, so that the event loop is never held for long. */
import { setImmediate as turn } from 'node:timers/promises';

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
