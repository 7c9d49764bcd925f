/** Functions that receive each value. A listener must not throw. */
export class Listeners<Values extends readonly unknown[]> {
  readonly #all = new Set<(...values: Values) => void>();

  /** @returns a function that removes the listener */
  add(listener: (...values: Values) => void): () => void {
    this.#all.add(listener);
    return () => this.#all.delete(listener);
  }

  emit(...values: Values): void {
    for (const listener of this.#all) listener(...values);
  }
}
