/** What goes wrong on a connection, and what a runtime answers that went wrong. */
import { errorTable, TrlError } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';
import type { WireError } from '../protocol/types.ts';

/** The connection ended; what was asked on it may or may not have been done. */
export class ConnectionLostError extends TrlError {
  constructor(message: string, options: ErrorOptions = {}) {
    super('BACKEND_UNAVAILABLE', message, options);
  }
}

/** The error a daemon answered. A code of a newer daemon is kept in the message. */
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
