/**
 * Every failure the runtime reports: code → meaning, HTTP status, CLI exit code, may the caller
 * retry. Callers branch on `code`, never on text. A command's non-zero exit is not an error.
 */
export interface ErrorEntry {
  readonly about: string;
  readonly httpStatus: number;
  readonly exitCode: number;
  readonly retry: boolean;
}

export const errorTable = {
  INVALID_PARAMS: {
    about: 'the request is malformed',
    httpStatus: 400,
    exitCode: 125,
    retry: false,
  },
  AUTH_FAILED: {
    about: 'the caller was not recognised',
    httpStatus: 401,
    exitCode: 125,
    retry: false,
  },
  PERMISSION_DENIED: {
    about: "the caller's roles do not permit the call",
    httpStatus: 403,
    exitCode: 125,
    retry: false,
  },
  IDEMPOTENCY_CONFLICT: {
    about: 'the key was used for another request',
    httpStatus: 409,
    exitCode: 125,
    retry: false,
  },
  SESSION_NOT_FOUND: { about: 'no such session', httpStatus: 404, exitCode: 125, retry: false },
  SESSION_BUSY: {
    about: 'a foreground command is running',
    httpStatus: 409,
    exitCode: 125,
    retry: true,
  },
  EXEC_NOT_FOUND: { about: 'no such execution', httpStatus: 404, exitCode: 125, retry: false },
  COMMAND_TIMEOUT: {
    about: 'the command ran out of time',
    httpStatus: 200,
    exitCode: 124,
    retry: false,
  },
  COMMAND_FAILED: {
    about: 'a tool could not do its work',
    httpStatus: 422,
    exitCode: 125,
    retry: false,
  },
  MAX_SESSIONS_REACHED: { about: 'too many sessions', httpStatus: 429, exitCode: 125, retry: true },
  QUOTA_EXCEEDED: { about: 'a bound was reached', httpStatus: 429, exitCode: 125, retry: true },
  POLICY_DENIED: {
    about: 'policy blocks the command',
    httpStatus: 403,
    exitCode: 126,
    retry: false,
  },
  APPROVAL_REQUIRED: {
    about: 'a person must decide first',
    httpStatus: 202,
    exitCode: 125,
    retry: true,
  },
  APPROVAL_DENIED: { about: 'a person said no', httpStatus: 403, exitCode: 126, retry: false },
  APPROVAL_EXPIRED: {
    about: 'nobody decided in time',
    httpStatus: 403,
    exitCode: 126,
    retry: true,
  },
  WORKSPACE_ESCAPE: {
    about: 'a path leaves the workspace roots',
    httpStatus: 403,
    exitCode: 126,
    retry: false,
  },
  SANDBOX_UNAVAILABLE: {
    about: 'the sandbox cannot hold as asked',
    httpStatus: 503,
    exitCode: 125,
    retry: false,
  },
  AUDIT_UNAVAILABLE: {
    about: 'the audit log cannot be written, so nothing runs',
    httpStatus: 503,
    exitCode: 125,
    retry: true,
  },
  SECRET_NOT_FOUND: { about: 'no such secret', httpStatus: 404, exitCode: 125, retry: false },
  SECRET_UNAVAILABLE: {
    about: 'the source of a secret failed',
    httpStatus: 502,
    exitCode: 125,
    retry: true,
  },
  STREAM_GAP: {
    about: 'the asked bytes are no longer held',
    httpStatus: 410,
    exitCode: 125,
    retry: false,
  },
  BACKEND_UNAVAILABLE: {
    about: 'the execution was lost or cannot be reached',
    httpStatus: 503,
    exitCode: 125,
    retry: true,
  },
  PUBLICATION_BLOCKED: {
    about: 'denied content would leave',
    httpStatus: 403,
    exitCode: 1,
    retry: false,
  },
  INTERNAL_ERROR: { about: 'the runtime failed', httpStatus: 500, exitCode: 125, retry: true },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof errorTable;

/** The one error class. `message` starts with the failed action and names what was found. */
export class TrlError extends Error {
  readonly code: ErrorCode;
  /** Partial results that belong to the failure, in wire form. */
  readonly data: Readonly<Record<string, unknown>> | null;
  constructor(
    code: ErrorCode,
    message: string,
    options: ErrorOptions & { data?: Readonly<Record<string, unknown>> } = {},
  ) {
    super(message, options);
    this.name = 'TrlError';
    this.code = code;
    this.data = options.data ?? null;
  }
}

/** Whether `error` is a {@link TrlError} (of `code`, when given). */
export const isTrlError = (error: unknown, code?: ErrorCode): error is TrlError =>
  error instanceof TrlError && (code === undefined || error.code === code);

const diskReasons: ReadonlyMap<unknown, string> = new Map([
  ['ENOSPC', 'no space is left on the disk, it is full; free some'],
  ['EDQUOT', 'the quota of its disk is used up; free some'],
  ['EROFS', 'its file system is read-only; mount it for writing'],
  ['EIO', 'its disk reports an error; see the log of the kernel'],
]);

/** What is wrong with a disk, and what helps; `null`: it is no such failure. */
export function diskReason(error: unknown): string | null {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : null;
  return diskReasons.get(code) ?? null;
}

/** What a caller may know of a disk that fails: no path. `null`: it is no such failure. */
export function diskFailure(action: string, error: unknown): TrlError | null {
  const reason = diskReason(error);
  if (reason === null) return null;
  const message = `Cannot ${action}: a file cannot be written: ${reason}`;
  return new TrlError('BACKEND_UNAVAILABLE', message, { cause: error });
}
