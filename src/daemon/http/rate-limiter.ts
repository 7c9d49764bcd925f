/** Token buckets: a burst of requests at once, then a fixed number per second. */

export interface RateLimit {
  /** Maximum requests at once. */
  readonly burst: number;
  /** Requests regained per second. */
  readonly perSecond: number;
}

export interface RateDecision {
  readonly isAllowed: boolean;
  /** Requests that may follow immediately. */
  readonly remaining: number;
  /** Whole seconds until the next request is allowed; 0 while some remain. */
  readonly waitS: number;
}

/** Maximum buckets: the least recently used are dropped first, and start full again. */
const bucketsMax = 10_000;

export class RateLimiter {
  readonly rate: RateLimit;
  readonly #clock: () => number;
  readonly #buckets = new Map<string, { tokens: number; at: number }>();

  /** @param clock monotonic time in ms; default `performance.now` */
  constructor(rate: RateLimit, clock: () => number = () => performance.now()) {
    this.rate = rate;
    this.#clock = clock;
  }

  /** Takes one of the requests of `key` if one is left. */
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
