import { Listeners } from '../listeners.ts';

/** The clients of the socket, each with one connection or several. */
export class Clients {
  readonly #left = new Listeners<[id: string]>();
  readonly #connections = new Map<string, number>();

  /** One more connection; answers a function that takes it away once. */
  enter(id: string): () => void {
    this.#connections.set(id, (this.#connections.get(id) ?? 0) + 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      const left = (this.#connections.get(id) ?? 1) - 1;
      if (left > 0) {
        this.#connections.set(id, left);
        return;
      }
      this.#connections.delete(id);
      this.#left.emit(id);
    };
  }

  /** Reports each client that has closed its last connection. The listener must not throw. */
  watchLeft(listener: (id: string) => void): () => void {
    return this.#left.add(listener);
  }

  isConnected(id: string | undefined): boolean {
    return id !== undefined && this.#connections.has(id);
  }
}
