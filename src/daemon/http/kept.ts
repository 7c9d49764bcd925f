/**
 * Answers that are given again when a request comes again under its `Idempotency-Key`. They are
 * held in memory: a restart forgets them. Of the request only a keyed hash is held, so that what
 * was in it (a value of a secret) is nowhere.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { canonicalJson } from '../../canonical.ts';
import { isTrlError, TrlError } from '../../errors.ts';

const keepMs = 86_400_000;
const ofCallerMax = 1_000;
const bytesMax = 16 * 1_024 * 1_024;

/** What is given again. */
export interface KeptAnswer {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Entry {
  readonly digest: string;
  readonly at: number;
  readonly answer: Promise<KeptAnswer>;
  bytes: number;
}

export interface Keyed {
  readonly actor: string;
  /** Method and path. */
  readonly place: string;
  readonly key: string;
  readonly params: unknown;
}

export class Kept {
  readonly #secret = randomBytes(32);
  readonly #clock: () => number;
  /** By actor, oldest first. */
  readonly #byActor = new Map<string, Map<string, Entry>>();
  #bytes = 0;

  constructor(clock: () => number = Date.now) {
    this.#clock = clock;
  }

  /**
   * The answer that was given, or that of `act`, which is kept unless it throws or says that it
   * may be asked again.
   *
   * @throws TrlError `IDEMPOTENCY_CONFLICT` when the key stands for another request; else what
   *   `act` throws
   */
  async once(keyed: Keyed, act: () => Promise<KeptAnswer>): Promise<KeptAnswer> {
    const digest = this.#digest(keyed);
    const entries = this.#of(keyed.actor);
    const found = entries.get(keyed.key);
    if (found !== undefined && this.#clock() - found.at < keepMs) {
      if (found.digest !== digest) throw conflict();
      return found.answer;
    }
    const answer = act();
    const entry: Entry = { digest, at: this.#clock(), answer, bytes: 0 };
    this.#put(keyed.actor, keyed.key, entry);
    try {
      const { body } = await answer;
      entry.bytes = body.length;
      this.#bytes += entry.bytes;
      this.#prune();
      return await answer;
    } catch (error) {
      // Nothing was done, or it may be tried again: the key is free.
      if (entries.get(keyed.key) === entry) entries.delete(keyed.key);
      throw error;
    }
  }

  /**
   * For a request that its own means make once: only what its key stands for is held, and let go
   * when nothing came of it.
   *
   * @throws TrlError `IDEMPOTENCY_CONFLICT` when the key stands for another request; else what
   *   `act` throws
   */
  async attached(keyed: Keyed, act: () => Promise<KeptAnswer>): Promise<KeptAnswer> {
    let isFirst = false;
    await this.once(keyed, () => {
      isFirst = true;
      return Promise.resolve({ status: 0, body: '', headers: {} });
    });
    try {
      return await act();
    } catch (error) {
      const isWaiting = isTrlError(error, 'APPROVAL_REQUIRED');
      if (isFirst && !isWaiting) this.#drop(this.#of(keyed.actor), keyed.key);
      throw error;
    }
  }

  #digest({ place, params }: Keyed): string {
    const text = canonicalJson([place, params]);
    return createHmac('sha256', this.#secret).update(text).digest('hex');
  }

  #of(actor: string): Map<string, Entry> {
    return this.#byActor.get(actor) ?? new Map<string, Entry>();
  }

  #put(actor: string, key: string, entry: Entry): void {
    const entries = this.#of(actor);
    this.#drop(entries, key);
    entries.set(key, entry);
    this.#byActor.delete(actor);
    this.#byActor.set(actor, entries);
    const [oldest] = entries.keys();
    if (entries.size > ofCallerMax && oldest !== undefined) this.#drop(entries, oldest);
  }

  /** Callers unheard for longest lose theirs first. */
  #prune(): void {
    for (const [actor, entries] of this.#byActor) {
      if (this.#bytes <= bytesMax && this.#byActor.size <= ofCallerMax) return;
      for (const key of entries.keys()) {
        if (this.#bytes <= bytesMax && this.#byActor.size <= ofCallerMax) return;
        this.#drop(entries, key);
      }
      this.#byActor.delete(actor);
    }
  }

  #drop(entries: Map<string, Entry>, key: string): void {
    this.#bytes -= entries.get(key)?.bytes ?? 0;
    entries.delete(key);
  }
}

function conflict(): TrlError {
  const why = 'its "Idempotency-Key" stands for another request';
  return new TrlError('IDEMPOTENCY_CONFLICT', `Cannot take the request: ${why}`);
}
