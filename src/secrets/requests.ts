/** What a person is asked for: a secret by name, and why. Pending ones end by themselves. */
import { TrlError } from '../errors.ts';
import { fairShareRefusal } from '../limits.ts';

export interface SecretRequest {
  readonly name: string;
  /** The asker's words. */
  readonly reason: string;
  /** The actor that asked. */
  readonly requester: string;
  /** Unix `ms`. */
  readonly requestedAt: number;
  readonly expiresAt: number;
}

interface Pending extends SecretRequest {
  readonly settled: Promise<boolean>;
  readonly settle: (given: boolean) => void;
}

const requestsMax = 32;
const requestMs = 900_000;

export class SecretRequests {
  readonly #pending = new Map<string, Pending>();
  readonly #clock: () => number;
  readonly #listeners = new Set<() => void>();

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /**
   * Asks for `name`; a request that is pending for it is answered in place of a second one.
   *
   * @throws TrlError `QUOTA_EXCEEDED` when {@link requestsMax} are pending
   */
  request(asked: Pick<SecretRequest, 'name' | 'reason' | 'requester'>): SecretRequest {
    this.#expire();
    const known = this.#pending.get(asked.name);
    if (known !== undefined) return viewOf(known);
    if (this.#pending.size >= requestsMax) {
      const message = `Cannot ask for ${asked.name}: ${requestsMax} requests wait for a person`;
      throw new TrlError('QUOTA_EXCEEDED', message);
    }
    const requesters = [...this.#pending.values()].map(({ requester }) => requester);
    const taken = fairShareRefusal(requesters, asked.requester, requestsMax);
    if (taken !== null) {
      throw new TrlError('QUOTA_EXCEEDED', `Cannot ask for ${asked.name}: ${taken} requests`);
    }
    const { promise: settled, resolve: settle } = Promise.withResolvers<boolean>();
    const askedAt = this.#clock();
    const pending = {
      ...asked,
      requestedAt: askedAt,
      expiresAt: askedAt + requestMs,
      settled,
      settle,
    };
    this.#pending.set(asked.name, pending);
    this.#tell();
    return viewOf(pending);
  }

  /** Oldest first. */
  list(): readonly SecretRequest[] {
    this.#expire();
    return [...this.#pending.values()].map(viewOf);
  }

  /** Whether `name` was given within `waitMs`; at once when nobody asked for it. */
  async wait(name: string, waitMs: number): Promise<boolean> {
    const pending = this.#pending.get(name);
    if (pending === undefined || waitMs <= 0) return false;
    const left = Math.max(0, Math.min(waitMs, pending.expiresAt - this.#clock()));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(resolve, left, false);
      timer.unref();
    });
    try {
      return await Promise.race([pending.settled, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends the request for `name`, when there is one: a person gave it, or said no. */
  end(name: string, given: boolean): boolean {
    const pending = this.#pending.get(name);
    this.#pending.delete(name);
    pending?.settle(given);
    if (pending !== undefined) this.#tell();
    return pending !== undefined;
  }

  /**
   * Calls `listener` when one is asked for or ends. It must not throw.
   *
   * @returns a function that ends it
   */
  watch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }

  #expire(): void {
    const now = this.#clock();
    for (const { name, expiresAt } of this.#pending.values()) {
      if (expiresAt <= now) this.end(name, false);
    }
  }
}

function viewOf({
  name,
  reason,
  requester,
  requestedAt: askedAt,
  expiresAt,
}: Pending): SecretRequest {
  return { name, reason, requester, requestedAt: askedAt, expiresAt };
}
