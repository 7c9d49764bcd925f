/**
 * Answers that are sent again if a request with the same `Idempotency-Key` is repeated. They are in
 * memory only, so a restart loses them. Only a keyed hash of the request is stored, so that its
 * content (such as a secret) is not.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { canonicalJson } from '../../canonical.ts';
import { isTrlError, TrlError } from '../../errors.ts';

const keepMs = 86_400_000;
const ofCallerMax = 1_000;
/** Limit per caller: a caller who stores much loses their own answers first. */
const bytesOfCallerMax = 8 * 1_024 * 1_024;
const bytesMax = 128 * 1_024 * 1_024;

/** An answer that can be sent again. */
export interface CachedAnswer {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Caller {
  /** By key, oldest first. */
  readonly entries: Map<string, Entry>;
  bytes: number;
}

interface Entry {
  readonly digest: string;
  readonly at: number;
  readonly answer: Promise<CachedAnswer>;
  bytes: number;
}

export interface IdempotentRequest {
  readonly actor: string;
  /** Method and path. */
  readonly target: string;
  readonly key: string;
  readonly params: unknown;
}

export class IdempotencyCache {
  readonly #secret = randomBytes(32);
  readonly #clock: () => number;
  /** By actor; the most recently active is last. */
  readonly #byActor = new Map<string, Caller>();
  #bytes = 0;

  constructor(clock: () => number = Date.now) {
    this.#clock = clock;
  }

  /**
   * Returns the stored answer, or that of `act`, which is stored unless `act` throws or its answer
   * allows a retry.
   *
   * @throws TrlError `IDEMPOTENCY_CONFLICT` if the key was used for another request; the errors of
   *   `act`
   */
  async answerOnce(
    keyed: IdempotentRequest,
    act: () => Promise<CachedAnswer>,
  ): Promise<CachedAnswer> {
    const digest = this.#digest(keyed);
    const { actor, key } = keyed;
    const found = this.#byActor.get(actor)?.entries.get(key);
    if (found !== undefined && this.#clock() - found.at < keepMs) {
      if (found.digest !== digest) throw conflict();
      return found.answer;
    }
    const answer = act();
    const entry: Entry = { digest, at: this.#clock(), answer, bytes: 0 };
    const caller = this.#put(actor, key, entry);
    try {
      const { body } = await answer;
      // The entry may have been evicted meanwhile.
      if (caller.entries.get(key) === entry) this.#weigh(caller, entry, body.length);
      this.#prune(caller);
      return await answer;
    } catch (error) {
      // Nothing was done, or a retry is allowed, so the key is free again.
      if (caller.entries.get(key) === entry) this.#drop(caller, key);
      throw error;
    }
  }

  /**
   * For a request that has its own protection against repetition: stores only which request the key
   * belongs to, and forgets it if `act` fails, unless the request waits for approval.
   *
   * @throws TrlError `IDEMPOTENCY_CONFLICT` if the key was used for another request; the errors of
   *   `act`
   */
  async claimKey(
    keyed: IdempotentRequest,
    act: () => Promise<CachedAnswer>,
  ): Promise<CachedAnswer> {
    let isFirst = false;
    await this.answerOnce(keyed, () => {
      isFirst = true;
      return Promise.resolve({ status: 0, body: '', headers: {} });
    });
    try {
      return await act();
    } catch (error) {
      const isWaiting = isTrlError(error, 'APPROVAL_REQUIRED');
      const caller = this.#byActor.get(keyed.actor);
      if (isFirst && !isWaiting && caller !== undefined) this.#drop(caller, keyed.key);
      throw error;
    }
  }

  #digest({ target, params }: IdempotentRequest): string {
    return createHmac('sha256', this.#secret).update(contentOf(target, params)).digest('hex');
  }

  #put(actor: string, key: string, entry: Entry): Caller {
    const caller = this.#byActor.get(actor) ?? { entries: new Map(), bytes: 0 };
    this.#drop(caller, key);
    caller.entries.set(key, entry);
    this.#byActor.delete(actor);
    this.#byActor.set(actor, caller);
    const [oldest] = caller.entries.keys();
    if (caller.entries.size > ofCallerMax && oldest !== undefined) this.#drop(caller, oldest);
    return caller;
  }

  #weigh(caller: Caller, entry: Entry, bytes: number): void {
    entry.bytes = bytes;
    caller.bytes += bytes;
    this.#bytes += bytes;
  }

  /** Evicts the caller's oldest answers; if all together exceed the limit, the least active's. */
  #prune(caller: Caller): void {
    for (const [key, { bytes }] of caller.entries) {
      if (caller.bytes <= bytesOfCallerMax) break;
      if (bytes > 0) this.#drop(caller, key);
    }
    for (const [actor, other] of this.#byActor) {
      if (this.#bytes <= bytesMax && this.#byActor.size <= ofCallerMax) return;
      for (const key of other.entries.keys()) this.#drop(other, key);
      this.#byActor.delete(actor);
    }
  }

  #drop(caller: Caller, key: string): void {
    const entry = caller.entries.get(key);
    if (entry === undefined) return;
    caller.entries.delete(key);
    caller.bytes -= entry.bytes;
    this.#bytes -= entry.bytes;
  }
}

/** The parameters are not validated yet: they may have lone surrogates or infinite numbers. */
function contentOf(target: string, params: unknown): string {
  try {
    return canonicalJson([target, params]);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : 'it is not JSON';
    throw new TrlError('INVALID_PARAMS', `Cannot take the request: ${why}`, { cause });
  }
}

function conflict(): TrlError {
  const why = 'its "Idempotency-Key" was used for another request';
  return new TrlError('IDEMPOTENCY_CONFLICT', `Cannot take the request: ${why}`);
}
