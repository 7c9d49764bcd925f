/**
 * The connections of one client. On a socket every stream has a connection of its own, so
 * that a slow reader holds back nothing but its own command; all calls share one. A daemon on
 * pipes has one connection for all.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { TrlError } from '../errors.ts';
import { Link, LinkLost } from './link.ts';
import { dialSocket, spawnDaemon } from './transport.ts';
import type { EphemeralOptions } from './transport.ts';

/** Idle connections kept for the next streams. */
const idleLinksMax = 4;

export interface LinkOptions {
  readonly socketPath: string;
  readonly frames: 'json' | 'bin';
  readonly ephemeral: EphemeralOptions | false;
}

/** A connection for one stream; disposing gives it back. */
export interface Lease extends Disposable {
  readonly link: Link;
}

/** How long {@link Links.close} waits for cancellations that are on their way, in `ms`. */
const finishMs = 2_000;

export class Links {
  readonly #options: LinkOptions;
  /** Whether the daemon is this client's own: then it ends with the one connection. */
  readonly own: boolean;
  readonly #idle: Link[] = [];
  readonly #open = new Set<Link>();
  readonly #finishing = new Set<Promise<unknown>>();
  #shared: Promise<Link>;
  #closed = false;

  private constructor(options: LinkOptions, first: Link, own: boolean) {
    this.#options = options;
    this.#shared = Promise.resolve(first);
    this.#open.add(first);
    this.own = own;
  }

  /**
   * Connects once, so that a daemon that is not there is known at once.
   *
   * @throws TrlError BACKEND_UNAVAILABLE when nothing listens and no daemon may be started.
   */
  static async open(options: LinkOptions, signal?: AbortSignal): Promise<Links> {
    const found = await dialSocket(options.socketPath, signal);
    if (found === null && options.ephemeral === false) {
      throw nothingListens(options.socketPath);
    }
    const transport = found ?? (await spawnDaemon(options.ephemeral || {}));
    try {
      const link = await Link.open(transport, options.frames, signal);
      return new Links(options, link, found === null);
    } catch (cause) {
      if (found === null && cause instanceof LinkLost) {
        const message = 'Cannot start a runtime: it ended at once, with its reason on stderr';
        throw new TrlError('BACKEND_UNAVAILABLE', message, { cause });
      }
      throw cause;
    }
  }

  /** The connection of calls, made again when it was lost. */
  async shared(): Promise<Link> {
    const link = await this.#shared.catch(() => null);
    if (link !== null && (link.failure === null || this.own || this.#closed)) {
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
    if (this.own) {
      const link = await this.shared();
      return { link, [Symbol.dispose]: () => link.pause(false) };
    }
    let link = this.#idle.pop();
    while (link !== undefined && link.failure !== null) {
      this.#open.delete(link);
      link = this.#idle.pop();
    }
    const leased = link ?? (await this.#dial());
    return { link: leased, [Symbol.dispose]: () => this.#giveBack(leased) };
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
    const late = delay(finishMs, undefined, { ref: false });
    await Promise.race([Promise.all(this.#finishing), late]);
    this.#closed = true;
    await Promise.all([...this.#open].map((link) => link.close()));
    this.#open.clear();
  }

  async #dial(): Promise<Link> {
    if (this.#closed) {
      throw new LinkLost('Cannot ask the runtime: the client is closed');
    }
    const { socketPath, frames } = this.#options;
    const transport = await dialSocket(socketPath);
    if (transport === null) {
      throw new LinkLost(nothingListens(socketPath).message);
    }
    const link = await Link.open(transport, frames);
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

function nothingListens(socketPath: string): TrlError {
  const message = `Cannot connect to "${socketPath}": nothing listens there; start it: trl serve`;
  return new TrlError('BACKEND_UNAVAILABLE', message);
}
