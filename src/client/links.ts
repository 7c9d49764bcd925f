/**
 * The connections of one client. Where it can make more than one, every stream has a connection
 * of its own, so that a slow reader holds back nothing but its own command; all calls share one.
 * A runtime on pipes has one connection for all.
 */
import type { Channel } from './channel.ts';
import { LinkLost } from './failure.ts';
import { Link } from './link.ts';
import { within } from './wait.ts';

/** Idle connections kept for the next streams. */
const idleLinksMax = 4;

export interface LinkOptions {
  readonly frames: 'json' | 'bin';
  /**
   * Makes another connection to the same runtime; `null`: the first is the only one, and what
   * is lost with it is lost.
   *
   * Must reject with {@link LinkLost} where trying again may help.
   */
  readonly dial: (() => Promise<Channel>) | null;
  /** Whether the runtime ends with the client. */
  readonly ownsDaemon: boolean;
}

/** A connection for one stream; giving it back is a must. */
export interface Lease {
  readonly link: Link;
  readonly release: () => void;
}

/** How long {@link Links.close} waits for cancellations that are on their way, in `ms`. */
const finishMs = 2_000;

export class Links {
  readonly #options: LinkOptions;
  readonly #client: string;
  readonly #idle: Link[] = [];
  readonly #open = new Set<Link>();
  readonly #finishing = new Set<Promise<unknown>>();
  #shared: Promise<Link>;
  #closed = false;

  private constructor(options: LinkOptions, client: string, first: Link) {
    this.#options = options;
    this.#client = client;
    this.#shared = Promise.resolve(first);
    this.#open.add(first);
  }

  /** @throws TrlError BACKEND_UNAVAILABLE when the connection ends first; the signal's reason */
  static async over(first: Channel, options: LinkOptions, signal?: AbortSignal): Promise<Links> {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    const client = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
    const { frames } = options;
    return new Links(options, client, await Link.open(first, { frames, client }, signal));
  }

  /** Whether the first connection is the only one. */
  get single(): boolean {
    return this.#options.dial === null;
  }

  get ownsDaemon(): boolean {
    return this.#options.ownsDaemon;
  }

  /** The connection of calls, made again when it was lost. */
  async shared(): Promise<Link> {
    const link = await this.#shared.catch(() => null);
    if (link !== null && (link.failure === null || this.single || this.#closed)) {
      return link;
    }
    if (link !== null) {
      this.#open.delete(link);
    }
    this.#shared = this.#dial();
    return this.#shared;
  }

  /** A connection for one stream; a lost one is replaced. */
  async lease(): Promise<Lease> {
    if (this.single) {
      const link = await this.shared();
      return { link, release: () => link.pause(false) };
    }
    let link = this.#idle.pop();
    while (link !== undefined && link.failure !== null) {
      this.#open.delete(link);
      link = this.#idle.pop();
    }
    const leased = link ?? (await this.#dial());
    return { link: leased, release: () => this.#giveBack(leased) };
  }

  /** Starts work that nobody waits for but {@link close}. Its failure is nobody's. */
  finish(work: () => Promise<unknown>): void {
    const done = Promise.resolve()
      .then(work)
      .catch(() => {})
      .finally(() => this.#finishing.delete(done));
    this.#finishing.add(done);
  }

  /** Ends all connections, and an own daemon. What waits on them fails. */
  async close(): Promise<void> {
    await within(finishMs, Promise.all(this.#finishing));
    this.#closed = true;
    await Promise.all([...this.#open].map((link) => link.close()));
    this.#open.clear();
  }

  async #dial(): Promise<Link> {
    const { dial, frames } = this.#options;
    if (this.#closed || dial === null) {
      throw new LinkLost('Cannot ask the runtime: the client is closed');
    }
    const link = await Link.open(await dial(), { frames, client: this.#client });
    this.#open.add(link);
    if (this.#closed) {
      await link.close();
    }
    return link;
  }

  #giveBack(link: Link): void {
    if (link.failure === null && link.idle && this.#idle.length < idleLinksMax) {
      link.pause(false);
      this.#idle.push(link);
      return;
    }
    this.#open.delete(link);
    this.finish(() => link.close());
  }
}
