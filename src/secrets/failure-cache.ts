/** Sources that could not give a value, and why: for a while they are not asked again. */
import type { TrlError } from '../errors.ts';
import type { SecretSource } from './source.ts';

/** A person who fixes the source should not wait long. */
export const failureCacheMs = 5_000;
const failuresMax = 256;

interface Failure {
  readonly error: TrlError;
  /** Unix ms. */
  readonly until: number;
}

export class SourceFailureCache {
  readonly #clock: () => number;
  readonly #kept = new Map<SecretSource, Map<string, Failure>>();

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** The oldest of many go first. */
  add(source: SecretSource, name: string, error: TrlError): void {
    const ofSource = this.#kept.get(source) ?? new Map<string, Failure>();
    ofSource.delete(name);
    ofSource.set(name, { error, until: this.#clock() + failureCacheMs });
    const [oldest] = ofSource.keys();
    if (ofSource.size > failuresMax && oldest !== undefined) ofSource.delete(oldest);
    this.#kept.set(source, ofSource);
  }

  forget(source: SecretSource, name: string): void {
    this.#kept.get(source)?.delete(name);
  }

  /**
   * @param fresh whether only a failure of the last {@link failureCacheMs} counts
   * @throws TrlError the one that was kept
   */
  check(source: SecretSource, name: string, fresh: boolean): void {
    const failure = this.#kept.get(source)?.get(name);
    if (failure !== undefined && !(fresh && failure.until <= this.#clock())) throw failure.error;
  }
}
