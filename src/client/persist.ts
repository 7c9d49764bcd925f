/** Tries again what a lost connection cut short. */
import { LinkLost } from './failure.ts';
import { pause } from './wait.ts';

/** How long a lost connection is tried again without progress, in `ms`. */
const reconnectMs = 15_000;
const backoffFirstMs = 20;
const backoffMaxMs = 1_000;

export interface Persistence {
  /** Whether anything was achieved since the last call. */
  readonly progressed?: () => boolean;
  readonly signal?: AbortSignal;
}

/**
 * Repeats `attempt` while it fails by a lost connection, with growing pauses, until 15 s passed
 * without progress. An attempt that lasted over a second was progress, too. With `null` it is
 * made once.
 *
 * @throws what `attempt` threw last, or the signal's reason.
 */
export async function persist<T>(
  attempt: () => Promise<T>,
  persistence: Persistence | null,
): Promise<T> {
  if (persistence === null) {
    return attempt();
  }
  const { progressed, signal } = persistence;
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
      if (!(error instanceof LinkLost) || now - failingSince > reconnectMs) {
        throw error;
      }
    }
    await pause(backoffMs, signal);
    backoffMs = Math.min(backoffMs * 2, backoffMaxMs);
  }
}
