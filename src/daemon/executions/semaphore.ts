/** Limits concurrent tasks for each key; the others follow in order of arrival. */
export class Semaphore {
  readonly #max: number;
  readonly #all = new Map<string, { taken: number; readonly waiting: (() => void)[] }>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Runs `what` when there is room for `key`. */
  async run<T>(key: string, what: () => Promise<T>): Promise<T> {
    const of = this.#all.get(key) ?? { taken: 0, waiting: [] };
    this.#all.set(key, of);
    // A finished task passes its place on directly, so that no newcomer takes it.
    if (of.taken >= this.#max) await new Promise<void>((resolve) => of.waiting.push(resolve));
    else of.taken += 1;
    try {
      return await what();
    } finally {
      const next = of.waiting.shift();
      if (next !== undefined) next();
      else of.taken -= 1;
      if (of.taken === 0) this.#all.delete(key);
    }
  }
}
