/**
 * Lookups of one session by the system's resolver. Each holds a thread for as long as a name server
 * is silent, and all sessions share the threads: so a session has only a few.
 */
import { lookup } from 'node:dns/promises';

/** At once; see `lookupThreads` in `runner/egress-process.ts`. */
const lookupsMax = 4;
const lookupMs = 10_000;

export class NameLookups {
  /** Each until the system has answered, however late. */
  readonly #running = new Map<string, Promise<readonly string[]>>();
  readonly #waiting = new Set<() => void>();

  /** @returns addresses as the system writes them; empty: none in time */
  async find(name: string): Promise<readonly string[]> {
    const { promise, resolve } = Promise.withResolvers<readonly string[]>();
    const start = (): void => {
      this.#waiting.delete(start);
      void this.#run(name).then(resolve);
    };
    const timer = setTimeout(() => {
      this.#waiting.delete(start);
      resolve([]);
    }, lookupMs);
    if (this.#running.has(name) || this.#running.size < lookupsMax) start();
    else this.#waiting.add(start);
    return await promise.finally(() => clearTimeout(timer));
  }

  async #run(name: string): Promise<readonly string[]> {
    const known = this.#running.get(name);
    if (known !== undefined) return await known;
    const found = lookup(name, { all: true }).then(
      (all) => all.map(({ address }) => address),
      () => [],
    );
    this.#running.set(name, found);
    try {
      return await found;
    } finally {
      this.#running.delete(name);
      const [next] = this.#waiting;
      next?.();
    }
  }
}
