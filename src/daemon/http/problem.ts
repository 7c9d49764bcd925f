/**
 * Refusals and failures as HTTP tells them, in the form of RFC 9457:
 *
 *   {"type":"https://trl.dev/errors/EXEC_NOT_FOUND","title":"no such execution","status":404,
 *    "detail":"Cannot find execution x-…","code":"EXEC_NOT_FOUND","retry":false}
 *
 * `data` is there where the wire has it: partial output, the id of an approval.
 */
import { errorTable, isTrlError, TrlError } from '../../errors.ts';
import type { ErrorCode } from '../../errors.ts';
import { toWireError } from '../transport/reply-messages.ts';
import type { ReplyContext } from '../transport/reply-messages.ts';

const typePrefix = 'https://trl.dev/errors/';

/** A problem as it is sent, before masking. */
export interface HttpProblem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ErrorCode;
  readonly retry: boolean;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** Why a door turned a request away before any method saw it; what is recorded and counted. */
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
  /** Default: that of the code. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Present on what is recorded: who knocked, or how, was wrong. */
  readonly reason?: HttpRefusalReason;
}

/** What the door itself says no to: an error with what only HTTP has. */
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

/** What a caller is told of a failure; what is unexpected goes to the log only. */
export function problemOf(action: string, thrown: unknown, says: ReplyContext): HttpProblem {
  const error = thrown instanceof HttpRefusal ? thrown.error : thrown;
  const { code, message } = toWireError(action, error, says);
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
