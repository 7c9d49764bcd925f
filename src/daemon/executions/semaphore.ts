/** So many at once for each key; the others follow in the order in which they came. */
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
    // Whoever leaves hands its place on, so that nobody comes in between.
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
