/** Waiting, with what both browsers and Node 20 have. */

export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
}

/** A promise that is settled from outside. `Promise.withResolvers` is missing in Node 20. */
export function deferred<T>(): Deferred<T> {
  let resolve: (value: T) => void = () => {};
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<T>((accept, refuse) => {
    resolve = accept;
    reject = refuse;
  });
  return { promise, resolve, reject };
}

/** @throws the signal's reason when it aborts first */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const over = deferred<void>();
  const abort = (): void => over.reject(signal?.reason);
  const timer = setTimeout(over.resolve, ms);
  signal?.addEventListener('abort', abort, { once: true });
  try {
    await over.promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

/** Waits for `work`, but at most `ms`. */
export async function waitAtMost(ms: number, work: Promise<unknown>): Promise<void> {
  const late = deferred<void>();
  const timer = setTimeout(late.resolve, ms);
  try {
    await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
