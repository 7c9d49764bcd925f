/** Tries again what a lost connection cut short. */
import { ConnectionLostError } from './failure.ts';
import { sleep } from './wait.ts';

/** How long a lost connection is tried again without progress, in `ms`. */
const reconnectMs = 15_000;
const backoffFirstMs = 20;
const backoffMaxMs = 1_000;

export interface ConnectionRetryOptions {
  /** Whether anything was achieved since the last call. */
  readonly hasProgressed?: () => boolean;
  readonly signal?: AbortSignal;
}

/**
 * Repeats `attempt` while it fails by a lost connection, with growing pauses, until 15 s passed
 * without progress. An attempt that lasted over a second was progress, too. With `null` it is
 * made once.
 *
 * @throws what `attempt` threw last, or the signal's reason.
 */
export async function retryLostConnection<T>(
  attempt: () => Promise<T>,
  persistence: ConnectionRetryOptions | null,
): Promise<T> {
  if (persistence === null) {
    return attempt();
  }
  const { hasProgressed: progressed, signal } = persistence;
  let failingSince = performance.now();
  let backoffMs = 0;
  for (;;) {
    const begun = performance.now();
    try {
      return await attempt();
    } catch (error) {
      const now = performance.now();
      if (backoffMs === 0 || progressed?.() === true || now - begun > backoffMaxMs) {
        failingSince = now;
        backoffMs = backoffFirstMs;
      }
      signal?.throwIfAborted();
      if (!(error instanceof ConnectionLostError) || now - failingSince > reconnectMs) {
        throw error;
      }
    }
    await sleep(backoffMs, signal);
    backoffMs = Math.min(backoffMs * 2, backoffMaxMs);
  }
}
