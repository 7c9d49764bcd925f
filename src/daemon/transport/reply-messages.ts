/** Replies in wire form. */
import { diskFailure, isTrlError } from '../../errors.ts';
import type { WireError } from '../../api/answer-fields.ts';
import type { RedactedText } from '../../redaction/redacted-text.ts';
import type { Masking } from '../secrets/masking.ts';

/** Writes one line to the runtime's log. Must not throw. */
export type Log = (text: string) => void;

/** What a transport needs to write replies. */
export interface ReplyContext {
  readonly log: Log;
  readonly masking: Masking;
}

export function successReply(id: string, data: unknown, { masking }: ReplyContext): RedactedText {
  return masking.json({ id, ok: true, data });
}

/** The reply to a failed request, with the partial results that belong to it. */
export function failureReply(
  id: string,
  action: string,
  error: unknown,
  replyContext: ReplyContext,
): RedactedText {
  const data = isTrlError(error) && error.data !== null ? { data: error.data } : {};
  return replyContext.masking.json({
    id,
    ok: false,
    error: toWireError(action, error, replyContext),
    ...data,
  });
}

/**
 * The part of a failure that a caller may see. The cause of an unexpected failure may contain
 * paths or values of others, so only the log shows it.
 */
export function toWireError(action: string, error: unknown, { log }: ReplyContext): WireError {
  if (isTrlError(error)) return { code: error.code, message: error.message };
  log(`${action}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  const disk = diskFailure(`run ${action}`, error);
  if (disk !== null) return { code: disk.code, message: disk.message };
  const message = `Cannot run ${action}: the runtime failed; its log has the cause`;
  return { code: 'INTERNAL_ERROR', message };
}
