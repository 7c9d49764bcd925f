/** Answers in wire form. */
import { isTrlError } from '../../errors.ts';
import type { WireError } from '../../protocol/types.ts';

/** Writes one line to the runtime's log. Must not throw. */
export type Log = (text: string) => void;

export function answered(id: string, data: unknown): string {
  return JSON.stringify({ id, ok: true, data });
}

/** The answer to a failure; partial results that belong to it go along. */
export function failed(id: string, action: string, error: unknown, log: Log): string {
  const data = isTrlError(error) && error.data !== null ? { data: error.data } : {};
  return JSON.stringify({ id, ok: false, error: wireError(action, error, log), ...data });
}

/**
 * What a caller may know of a failure. The cause of an unexpected one may hold paths or values
 * of others, so it goes to the log only.
 */
export function wireError(action: string, error: unknown, log: Log): WireError {
  if (isTrlError(error)) return { code: error.code, message: error.message };
  log(`${action}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  const message = `Cannot run ${action}: the runtime failed; its log has the cause`;
  return { code: 'INTERNAL_ERROR', message };
}
