/** Failures of a connection, and failures that a runtime answers. */
import { errorTable, TrlError } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';
import type { WireError } from '../api/answer-fields.ts';
import { sleep } from './wait.ts';

/** The connection ended; its pending requests may or may not have been carried out. */
export class ConnectionLostError extends TrlError {
  constructor(message: string, options: ErrorOptions = {}) {
    super('BACKEND_UNAVAILABLE', message, options);
  }
}

/** The error that a daemon answered. The message contains an unknown code of a newer daemon. */
export function toTrlError(
  error: WireError | undefined,
  data: Readonly<Record<string, unknown>> | null,
): TrlError {
  if (error === undefined) {
    return new TrlError(
      'INTERNAL_ERROR',
      'Cannot read the answer: it holds neither data nor error',
    );
  }
  const partial = data === null ? {} : { data };
  return isErrorCode(error.code)
    ? new TrlError(error.code, error.message, partial)
    : new TrlError('INTERNAL_ERROR', `${String(error.code)}: ${error.message}`, partial);
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorTable, code);
}

/** How long to retry a lost connection without progress, in `ms`. */
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
 * without progress. An attempt that lasted over a second counts as progress, too. With `null` there
 * is one attempt.
 *
 * @throws the error of the last attempt, or the signal's reason.
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
