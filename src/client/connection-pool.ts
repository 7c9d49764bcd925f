/**
 * The connections of one client. If it can make more than one, every stream has its own connection,
 * so that a slow reader delays only its own command; all calls share one. A runtime on pipes has
 * one connection for all.
 */
import type { Channel } from './channel.ts';
import { ConnectionLostError } from './failure.ts';
import { RpcConnection } from './connection.ts';
import { waitAtMost } from './wait.ts';

/** Idle connections that are kept for the next streams. */
const idleLinksMax = 4;

export interface ConnectionPoolOptions {
  readonly frames: 'json' | 'bin';
  /**
   * Makes another connection to the same runtime; `null`: there is only the first, and what is lost
   * with it is lost.
   *
   * Must reject with {@link ConnectionLostError} if a retry may help.
   */
  readonly dial: (() => Promise<Channel>) | null;
  /** Whether the runtime ends with the client. */
  readonly ownsDaemon: boolean;
}

/** A connection for one stream; the holder must release it. */
export interface ConnectionLease {
  readonly connection: RpcConnection;
  readonly release: () => void;
}

/** How long {@link ConnectionPool.close} waits for cancellations under way, in `ms`. */
const finishMs = 2_000;

export class ConnectionPool {
  readonly #options: ConnectionPoolOptions;
  readonly #client: string;
  readonly #idle: RpcConnection[] = [];
  readonly #open = new Set<RpcConnection>();
  readonly #finishing = new Set<Promise<unknown>>();
  #shared: Promise<RpcConnection>;
  #closed = false;

  private constructor(options: ConnectionPoolOptions, client: string, first: RpcConnection) {
    this.#options = options;
    this.#client = client;
    this.#shared = Promise.resolve(first);
    this.#open.add(first);
  }

  /** @throws TrlError BACKEND_UNAVAILABLE when the connection ends first; the signal's reason */
  static async open(
    first: Channel,
    options: ConnectionPoolOptions,
    signal?: AbortSignal,
  ): Promise<ConnectionPool> {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    const client = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
    const { frames } = options;
    return new ConnectionPool(
      options,
      client,
      await RpcConnection.open(first, { frames, client }, signal),
    );
  }

  /** Whether the first connection is the only one. */
  get isSingle(): boolean {
    return this.#options.dial === null;
  }

  get ownsDaemon(): boolean {
    return this.#options.ownsDaemon;
  }

  /** The connection of calls, replaced when it was lost. */
  async shared(): Promise<RpcConnection> {
    const link = await this.#shared.catch(() => null);
    if (link !== null && (link.failure === null || this.isSingle || this.#closed)) {
      return link;
    }
    if (link !== null) {
      this.#open.delete(link);
    }
    this.#shared = this.#dial();
    return this.#shared;
  }

  /** A connection for one stream; a lost one is replaced. */
  async lease(): Promise<ConnectionLease> {
    if (this.isSingle) {
      const link = await this.shared();
      return { connection: link, release: () => link.pause(false) };
    }
    let link = this.#idle.pop();
    while (link !== undefined && link.failure !== null) {
      this.#open.delete(link);
      link = this.#idle.pop();
    }
    const leased = link ?? (await this.#dial());
    return { connection: leased, release: () => this.#giveBack(leased) };
  }

  /** Starts work that only {@link close} waits for. Its failure is ignored. */
  finish(work: () => Promise<unknown>): void {
    const done = Promise.resolve()
      .then(work)
      .catch(() => {})
      .finally(() => this.#finishing.delete(done));
    this.#finishing.add(done);
  }

  /** Ends all connections, and an own daemon. Pending calls fail. */
  async close(): Promise<void> {
    await waitAtMost(finishMs, Promise.all(this.#finishing));
    this.#closed = true;
    await Promise.all([...this.#open].map((link) => link.close()));
    this.#open.clear();
  }

  async #dial(): Promise<RpcConnection> {
    const { dial, frames } = this.#options;
    if (this.#closed || dial === null) {
      throw new ConnectionLostError('Cannot ask the runtime: the client is closed');
    }
    const link = await RpcConnection.open(await dial(), { frames, client: this.#client });
    this.#open.add(link);
    if (this.#closed) {
      await link.close();
    }
    return link;
  }

  #giveBack(link: RpcConnection): void {
    if (link.failure === null && link.idle && this.#idle.length < idleLinksMax) {
      link.pause(false);
      this.#idle.push(link);
      return;
    }
    this.#open.delete(link);
    this.finish(() => link.close());
  }
}
