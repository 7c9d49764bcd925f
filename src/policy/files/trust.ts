/**
 * Gathers facts: whether a project's policy file is the one that the user has trusted.
 *
 * `trusted.json` holds, by the real path of a directory, the SHA-256 of its `.trl.yaml`. Why an
 * unknown file is left out and a changed one stops everything: docs/decisions/0011.
 */
import { createHash } from 'node:crypto';
import { realpathSync } from 'node:fs';
import path from 'node:path';
import { TrlError } from '../../errors.ts';
import { configDirectory } from '../../yaml/config-directories.ts';
import { readTrustRecord, resolveTrustedDirectory, recordTrust } from '../../yaml/trust-record.ts';
import type { FileErrorTarget } from '../../yaml/tree.ts';
import { projectPolicyFileName, trustRecordFileName } from '../policy.ts';
import { PolicyError, readPolicyBytes } from './policy-file.ts';
import { readPolicyFile, type PolicyFile } from './read.ts';

/** Whether a directory's policy file is trusted. */
export type ProjectPolicy =
  | { readonly kind: 'none' }
  /** Trusted as it is. */
  | { readonly kind: 'trusted'; readonly file: PolicyFile }
  /** Never trusted: it has no effect, and `warning` says so. */
  | { readonly kind: 'untrusted'; readonly warning: string };

export interface ProjectTrustOptions {
  /** Version of the runtime. */
  readonly version: string;
  /** Where `trusted.json` is. Default: {@link configDirectory}. */
  readonly directory?: string;
}

/**
 * The project's file of a workspace root.
 *
 * @throws TrlError `POLICY_DENIED` when the file was trusted and has changed or gone since;
 *   PolicyError when a trusted file cannot be used, or the record of trust cannot be read
 */
export function findProjectPolicy(directory: string, options: ProjectTrustOptions): ProjectPolicy {
  const real = realpathSync(directory);
  const file = path.join(real, projectPolicyFileName);
  const known = readTrustRecord(record(options)).get(real);
  const again = `look at it, then run: trl policy trust ${real}`;
  let bytes: Buffer | null;
  try {
    bytes = readPolicyBytes(file, 'anyone', false);
  } catch (cause) {
    if (known === undefined && cause instanceof PolicyError) {
      return { kind: 'untrusted', warning: `${cause.message}; nothing of it holds` };
    }
    throw cause;
  }
  if (known === undefined) {
    const warning = `"${file}" is not trusted, so nothing of it holds; ${again}`;
    return bytes === null ? { kind: 'none' } : { kind: 'untrusted', warning };
  }
  if (bytes === null || hashOf(bytes) !== known) {
    const what = bytes === null ? 'is gone' : 'has changed';
    throw new TrlError('POLICY_DENIED', `Cannot work in "${real}": "${file}" ${what}; ${again}`);
  }
  return { kind: 'trusted', file: readPolicyFile(bytes, origin(file, options)) };
}

export interface TrustedProject {
  readonly directory: string;
  /** SHA-256 (hex) of the file, or `null`: there is none, and the directory was forgotten. */
  readonly sha256: string | null;
  readonly file: PolicyFile | null;
}

/**
 * Trusts the project's file of a directory as it is now. Without a file the directory is forgotten.
 *
 * @throws PolicyError when the file cannot be used; TrlError `INVALID_PARAMS` when there is no
 *   such directory
 */
export function trustProject(directory: string, options: ProjectTrustOptions): TrustedProject {
  const real = resolveTrustedDirectory(directory);
  const name = path.join(real, projectPolicyFileName);
  const bytes = readPolicyBytes(name, 'anyone', false);
  const file = bytes === null ? null : readPolicyFile(bytes, origin(name, options));
  const sha256 = bytes === null ? null : hashOf(bytes);
  recordTrust(record(options), real, sha256);
  return { directory: real, sha256, file };
}

function origin(file: string, { version }: ProjectTrustOptions) {
  return { file, kind: 'project', version } as const;
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function record({ directory = configDirectory() }: ProjectTrustOptions): FileErrorTarget {
  return { file: path.join(directory, trustRecordFileName), Failure: PolicyError };
}
