/** Gathers facts: the bytes of policy files. */
import { readBytes as bytesOf, type Owner } from '../../yaml/gather.ts';
import { PolicyError } from './problem.ts';

/**
 * The bytes of a regular file of at most 1 MiB; `null` where there is none.
 *
 * @param follow whether a symbolic link is read through
 * @throws PolicyError when it cannot be read, is too large, or may be changed by others
 */
export function readBytes(file: string, owner: Owner, follow = true): Buffer | null {
  return bytesOf({ file, Failure: PolicyError }, { owner, follow });
}
