/** Notifies a client that the list of tools has changed. */
import type { Client } from '../client/index.ts';
import { listTools } from '../tools/index.ts';
import type { Tool } from '../tools/index.ts';

/** How often to check whether tools were registered or removed, in `ms`. */
const pollMs = 3_000;

export class ToolListWatcher implements Disposable {
  readonly #client: Client;
  readonly #tell: () => Promise<void>;
  readonly #timer: NodeJS.Timeout;
  /** What the client knows; empty: nothing that could have changed. */
  #listed = '';

  /** `tell` is called once for each outdated list. */
  constructor(client: Client, tell: () => Promise<void>) {
    this.#client = client;
    this.#tell = tell;
    this.#timer = setInterval(() => void this.#look().catch(() => {}), pollMs);
    this.#timer.unref();
  }

  recordListed(tools: readonly Tool[]): void {
    this.#listed = JSON.stringify(tools);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    const before = this.#listed;
    if (before === '') return;
    const now = JSON.stringify(await listTools(this.#client));
    if (now === before || this.#listed !== before) return;
    this.#listed = '';
    await this.#tell();
  }
}
