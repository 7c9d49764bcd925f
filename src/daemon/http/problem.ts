/**
 * Refusals and failures as HTTP reports them, in the form of RFC 9457:
 *
 *   {"type":"https://trl.dev/errors/EXEC_NOT_FOUND","title":"no such execution","status":404,
 *    "detail":"Cannot find execution x-…","code":"EXEC_NOT_FOUND","retry":false}
 *
 * `data` is present if the wire has it: partial output, the id of an approval.
 */
import { errorTable, isTrlError, TrlError } from '../../errors.ts';
import type { ErrorCode } from '../../errors.ts';
import { toWireError } from '../transport/reply-messages.ts';
import type { ReplyContext } from '../transport/reply-messages.ts';

const typePrefix = 'https://trl.dev/errors/';

/** A problem before masking. */
export interface HttpProblem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ErrorCode;
  readonly retry: boolean;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** Why a transport refused a request before it reached a method; recorded and counted. */
export type HttpRefusalReason =
  | 'protocol'
  | 'target'
  | 'host'
  | 'origin'
  | 'token-missing'
  | 'token-unknown'
  | 'token-revoked'
  | 'token-expired'
  | 'token-unproved'
  | 'token-unreadable'
  | 'login'
  | 'rate'
  | 'crowded';

export interface HttpRefusalOptions {
  /** Default: the status of the code. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Present if the refusal is recorded: the caller or the form of the request was wrong. */
  readonly reason?: HttpRefusalReason;
}

/** A refusal by the HTTP transport itself: an error with a status and fields of HTTP. */
export class HttpRefusal extends Error {
  readonly error: TrlError;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly reason: HttpRefusalReason | null;

  constructor(code: ErrorCode, message: string, options: HttpRefusalOptions = {}) {
    super(message);
    this.error = new TrlError(code, message);
    this.status = options.status ?? errorTable[code].httpStatus;
    this.headers = options.headers ?? {};
    this.reason = options.reason ?? null;
  }
}

/** The part of a failure that a caller sees; unexpected causes go to the log only. */
export function problemOf(
  action: string,
  thrown: unknown,
  replyContext: ReplyContext,
): HttpProblem {
  const error = thrown instanceof HttpRefusal ? thrown.error : thrown;
  const { code, message } = toWireError(action, error, replyContext);
  const { about, httpStatus, retry } = errorTable[code];
  const data = isTrlError(error) ? error.data : null;
  return {
    type: `${typePrefix}${code}`,
    title: about,
    status: thrown instanceof HttpRefusal ? thrown.status : httpStatus,
    detail: message,
    code,
    retry,
    ...(data === null ? {} : { data }),
  };
}
