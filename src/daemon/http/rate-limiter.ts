/** Token buckets: so many requests at once, and so many a second from then on. */

export interface RateLimit {
  /** Requests at once. */
  readonly burst: number;
  /** Requests that come back each second. */
  readonly perSecond: number;
}

export interface RateDecision {
  readonly isAllowed: boolean;
  /** Requests that may follow at once. */
  readonly remaining: number;
  /** Whole seconds until the next one may come; 0 while some remain. */
  readonly waitS: number;
}

/** Buckets held at once: those longest unused leave first, and begin anew. */
const bucketsMax = 10_000;

export class RateLimiter {
  readonly rate: RateLimit;
  readonly #clock: () => number;
  readonly #buckets = new Map<string, { tokens: number; at: number }>();

  /** @param clock ms that never go back; default `performance.now` */
  constructor(rate: RateLimit, clock: () => number = () => performance.now()) {
    this.rate = rate;
    this.#clock = clock;
  }

  /** Takes one of `key`'s requests, if there is one. */
  take(key: string): RateDecision {
    const { burst, perSecond } = this.rate;
    const now = this.#clock();
    const held = this.#buckets.get(key);
    const earned = held === undefined ? burst : ((now - held.at) / 1_000) * perSecond;
    const tokens = Math.min(burst, (held?.tokens ?? 0) + earned);
    const isAllowed = tokens >= 1;
    const left = isAllowed ? tokens - 1 : tokens;
    this.#buckets.delete(key);
    this.#buckets.set(key, { tokens: left, at: now });
    this.#prune();
    return {
      isAllowed,
      remaining: Math.floor(left),
      waitS: left >= 1 ? 0 : Math.ceil((1 - left) / perSecond),
    };
  }

  #prune(): void {
    if (this.#buckets.size <= bucketsMax) return;
    for (const [oldest] of this.#buckets) {
      this.#buckets.delete(oldest);
      return;
    }
  }
}

/** `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10). */
export function rateHeaders(
  { burst, perSecond }: RateLimit,
  taken: RateDecision,
): Record<string, string> {
  const windowS = Math.ceil(burst / perSecond);
  return {
    'RateLimit-Policy': `"caller";q=${burst};w=${windowS}`,
    RateLimit: `"caller";r=${taken.remaining};t=${taken.waitS}`,
    ...(taken.isAllowed ? {} : { 'Retry-After': String(Math.max(1, taken.waitS)) }),
  };
}
