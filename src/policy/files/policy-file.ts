/** The bytes of a policy file, and why it cannot be used. */
import { FileError, type FileProblem } from '../../yaml/file-error.ts';
import { readOwnedFile, type RequiredFileOwner } from '../../yaml/owned-file.ts';

/** A policy file of which nothing may be used. */
export class PolicyError extends FileError {
  constructor(file: string, problems: readonly FileProblem[], options: ErrorOptions = {}) {
    super(file, problems, { ...options, what: 'policy' });
  }
}

/**
 * The bytes of a regular file of at most 1 MiB; `null` if there is none.
 *
 * @param follow whether a symbolic link is followed
 * @throws PolicyError when it cannot be read, is too large, or may be changed by others
 */
export function readPolicyBytes(
  file: string,
  owner: RequiredFileOwner,
  follow = true,
): Buffer | null {
  return readOwnedFile({ file, Failure: PolicyError }, { owner, follow });
}
