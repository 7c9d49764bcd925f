/** Gathers facts: the bytes of policy files. */
import { readOwnedFile as bytesOf, type RequiredFileOwner } from '../../yaml/owned-file.ts';
import { PolicyError } from './policy-error.ts';

/**
 * The bytes of a regular file of at most 1 MiB; `null` where there is none.
 *
 * @param follow whether a symbolic link is read through
 * @throws PolicyError when it cannot be read, is too large, or may be changed by others
 */
export function readPolicyBytes(
  file: string,
  owner: RequiredFileOwner,
  follow = true,
): Buffer | null {
  return bytesOf({ file, Failure: PolicyError }, { owner, follow });
}
