/** Why a log cannot be written, in words. */
import { TrlError } from '../errors.ts';

const words: Readonly<Record<string, string>> = {
  ENOSPC: 'no space is left on the disk; free some',
  EDQUOT: 'the quota of the disk is used up; free some of it',
  EFBIG: 'files may not grow that large here; raise the limit of file sizes (ulimit -f)',
  EROFS: 'its file system is read-only; mount it for writing',
  EIO: 'the disk reports an error; see the log of the kernel',
  EACCES: 'permission is missing; give the directory back to its user (0700)',
  EPERM: 'permission is missing; give the directory back to its user (0700)',
  ENOENT: 'its directory is not there; put it back, or start the runtime anew',
  ENOTDIR: 'a part of its path is no directory; put the directory back',
  EMFILE: 'too many files are open; raise the limit of open files (ulimit -n)',
};

export function describeWriteFailure(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return words[code] ?? (error instanceof Error ? error.message : String(error));
}

export const isDiskFull = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && ['ENOSPC', 'EDQUOT'].includes(String(error.code));

export function auditUnavailable(place: string, reason: string, cause?: unknown): TrlError {
  const message = `Cannot write the audit log "${place}": ${reason}`;
  return new TrlError('AUDIT_UNAVAILABLE', message, { cause });
}
