/**
 * Which requests are the same call. A key that the client gives identifies a call permanently. Over
 * HTTP, where nothing else lasts, the id of a request identifies it until its answer was delivered:
 * a request that is repeated after its connection broke attaches to the running call.
 */
import { createHash, randomUUID } from 'node:crypto';
import { TrlError } from '../errors.ts';

const givenMax = 1_024;
const openMax = 1_024;
/** How long a call without a waiting request runs before it is ended, in `ms`. */
const reissueMs = 2_000;
/** How long an undelivered answer is the answer to the same request, in `ms`. */
const undeliveredMs = 60_000;

/** Keys that clients gave, and the calls that they gave them for. */
export class ClientCallKeys {
  readonly #digests = new Map<string, string>();

  /** @throws TrlError `IDEMPOTENCY_CONFLICT` if the key was given for another call */
  check(key: string, digest: string): void {
    const before = this.#digests.get(key);
    if (before !== undefined && before !== digest) {
      const message = `Cannot call by the key ${JSON.stringify(key)}: it is another call's`;
      throw new TrlError('IDEMPOTENCY_CONFLICT', message);
    }
    this.#digests.delete(key);
    this.#digests.set(key, digest);
    const [oldest] = this.#digests.keys();
    if (this.#digests.size > givenMax && oldest !== undefined) this.#digests.delete(oldest);
  }
}

interface Open {
  readonly key: string;
  readonly id: string | number;
  /** Ends the wait for it, and so the command. */
  readonly stop: AbortController;
  /** Requests that wait for its answer. */
  waiting: number;
  timer: NodeJS.Timeout | null;
}

/** One request that waits for the answer of a call. */
export interface CallAttempt {
  readonly key: string;
  readonly signal: AbortSignal;
  /** The whole answer was sent. */
  delivered(): void;
  /** The client has disconnected. `ends`: in its era this cancels the call. */
  disconnected(ends: boolean): void;
}

/** Records which calls wait for their answers, for the next server. */
export interface UndeliveredCalls {
  /** The key of a call with that name; `null`: none waits. */
  find(name: string): string | null;
  put(name: string, key: string): void;
  forget(name: string): void;
}

/** Calls of one caller that are running, or whose answers were not delivered. */
export class OpenCalls {
  readonly #open = new Map<string, Open>();
  readonly #undelivered: UndeliveredCalls;

  constructor(undelivered: UndeliveredCalls) {
    this.#undelivered = undelivered;
  }

  /** `digest`: of the tool and its arguments. */
  enter(id: string | number, digest: string): CallAttempt {
    const name = nameOf(id, digest);
    const open = this.#open.get(name) ?? this.#add(name, id);
    if (open.timer !== null) clearTimeout(open.timer);
    open.timer = null;
    open.waiting += 1;
    let isOver = false;
    const over = (then: () => void): void => {
      if (isOver) return;
      isOver = true;
      open.waiting -= 1;
      then();
    };
    return {
      key: open.key,
      signal: open.stop.signal,
      delivered: () => over(() => this.#forget(name, open)),
      disconnected: (ends) => over(() => open.waiting === 0 && this.#leave(name, open, ends)),
    };
  }

  /** The key that `enter` gave it; `null`: it was not entered. */
  keyOf(id: string | number, digest: string): string | null {
    return this.#open.get(nameOf(id, digest))?.key ?? null;
  }

  signalOf(id: string | number, digest: string): AbortSignal | null {
    return this.#open.get(nameOf(id, digest))?.stop.signal ?? null;
  }

  /** The client cancels the request `id`. */
  cancel(id: unknown): void {
    for (const [name, open] of this.#open) {
      if (open.id !== id) continue;
      this.#forget(name, open);
      open.stop.abort(new DOMException('The call was cancelled', 'AbortError'));
    }
  }

  /** Ends all running calls. */
  close(): void {
    for (const { id } of this.#open.values()) this.cancel(id);
  }

  #add(name: string, id: string | number): Open {
    if (this.#open.size >= openMax) {
      throw new TrlError('QUOTA_EXCEEDED', `Cannot take the call: ${openMax} are under way`);
    }
    const stop = new AbortController();
    const key = this.#undelivered.find(name) ?? randomUUID();
    const open = { key, id, stop, waiting: 0, timer: null };
    // Before anything runs with it.
    this.#undelivered.put(name, key);
    this.#open.set(name, open);
    return open;
  }

  #leave(name: string, open: Open, ends: boolean): void {
    open.timer = setTimeout(
      () => {
        this.#forget(name, open);
        if (ends) open.stop.abort(new DOMException('Nobody waits for the call', 'AbortError'));
      },
      ends ? reissueMs : undeliveredMs,
    );
    open.timer.unref();
  }

  #forget(name: string, open: Open): void {
    if (open.timer !== null) clearTimeout(open.timer);
    if (this.#open.get(name) !== open) return;
    this.#open.delete(name);
    this.#undelivered.forget(name);
  }
}

const nameOf = (id: string | number, digest: string): string =>
  createHash('sha256')
    .update(`${typeof id} ${id} ${digest}`)
    .digest('hex');
