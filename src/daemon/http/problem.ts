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
import { wireError } from '../door/answer.ts';
import type { Says } from '../door/answer.ts';

const typePrefix = 'https://trl.dev/errors/';

/** A problem as it is sent, before masking. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ErrorCode;
  readonly retry: boolean;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** Why a door turned a request away before any method saw it; what is recorded and counted. */
export type RefusalReason =
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

export interface RefusalOptions {
  /** Default: that of the code. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Present on what is recorded: who knocked, or how, was wrong. */
  readonly reason?: RefusalReason;
}

/** What the door itself says no to: an error with what only HTTP has. */
export class Refusal extends Error {
  readonly error: TrlError;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly reason: RefusalReason | null;

  constructor(code: ErrorCode, message: string, options: RefusalOptions = {}) {
    super(message);
    this.error = new TrlError(code, message);
    this.status = options.status ?? errorTable[code].httpStatus;
    this.headers = options.headers ?? {};
    this.reason = options.reason ?? null;
  }
}

/** What a caller is told of a failure; what is unexpected goes to the log only. */
export function problemOf(action: string, thrown: unknown, says: Says): Problem {
  const error = thrown instanceof Refusal ? thrown.error : thrown;
  const { code, message } = wireError(action, error, says);
  const { about, httpStatus, retry } = errorTable[code];
  const data = isTrlError(error) ? error.data : null;
  return {
    type: `${typePrefix}${code}`,
    title: about,
    status: thrown instanceof Refusal ? thrown.status : httpStatus,
    detail: message,
    code,
    retry,
    ...(data === null ? {} : { data }),
  };
}
