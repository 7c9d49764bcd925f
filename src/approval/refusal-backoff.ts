/**
 * Slows an agent that keeps being refused, so that trying spellings costs more than asking. Pure:
 * the caller waits.
 */

const windowMs = 60_000;
const refusalsMax = 3;
const firstMs = 1_000;
const waitMsMax = 15_000;
/** Keys kept; the one refused longest ago leaves first, which only makes it quick again. */
const keysMax = 4_096;

interface Record {
  /** Unix ms of the last refusals, at most three. */
  readonly recent: readonly number[];
  /** How often an answer was slowed without a pause of a minute. */
  readonly slowed: number;
  /** Unix ms at which the last refusal is answered. */
  readonly until: number;
}

export class RefusalBackoff {
  readonly #clock: () => number;
  readonly #records = new Map<string, Record>();

  /** `clock` answers Unix ms; default `Date.now`. */
  constructor(clock: () => number = Date.now) {
    this.#clock = clock;
  }

  /**
   * Notes a refusal (a block, a denial) for `key`, a session.
   *
   * @returns ms to wait before it is answered: 0 for the first three within a minute, then 1 s,
   *   2 s, 4 s … 15 s
   */
  recordRefusal(key: string): number {
    const now = this.#clock();
    const known = this.#records.get(key);
    const isQuiet = known === undefined || now - known.until >= windowMs;
    const { recent, slowed } = isQuiet ? { recent: [], slowed: 0 } : known;
    const near = recent.filter((at) => now - at < windowMs);
    const isSlow = slowed > 0 || near.length >= refusalsMax;
    const waitMs = isSlow ? Math.min(waitMsMax, firstMs * 2 ** slowed) : 0;
    this.#records.delete(key);
    this.#records.set(key, {
      recent: [...near, now].slice(-refusalsMax),
      // Beyond 2 ** 4 the longest wait is reached; a count without an end would overflow.
      slowed: isSlow ? Math.min(slowed + 1, 16) : 0,
      until: now + waitMs,
    });
    if (this.#records.size > keysMax) this.#dropOldest();
    return waitMs;
  }

  /** Ms until the last refusal of `key` is made up for; 0 when it is. */
  remainingMs(key: string): number {
    return Math.max(0, (this.#records.get(key)?.until ?? 0) - this.#clock());
  }

  /** A command was allowed, or the session is gone: the next refusal is answered at once. */
  reset(key: string): void {
    this.#records.delete(key);
  }

  #dropOldest(): void {
    const [oldest] = this.#records.keys();
    if (oldest !== undefined) this.#records.delete(oldest);
  }
}
