/**
 * Where a log is stored: the few things that the log asks of files, and could ask of a database,
 * and why a store fails.
 */
import { TrlError } from '../errors.ts';
import { systemErrorCode } from '../segment-files.ts';
import type { MerkleTree } from './merkle.ts';
import type { Checkpoint } from './signed-note.ts';

/** Events that are written together, or not at all. */
export interface EventGroup {
  /** `seq` of its first event. */
  readonly first: number;
  /** Event lines, each with its newline. */
  readonly lines: string;
  /** The signed note over the log with them. */
  readonly head: string;
  /** The stored hashes that they complete, in their order. */
  readonly hashes: readonly Buffer[];
}

/** The checkpoint of a head that our key signed; `null` for any other. */
export type VerifyHead = (note: string) => Checkpoint | null;

/** What a store has when it is opened. */
export interface StoredLog {
  /** 32 lower-case hex digits. */
  readonly log: string;
  /** The newest head. */
  readonly head: string;
  readonly tree: MerkleTree;
  /** Leaf hash of the last event, hex; zeros before the first. */
  readonly prev: string;
  /** Torn writes that were preserved, and that no event records. */
  readonly torn: readonly TornWrite[];
}

/** Bytes of a write that did not finish; no caller was notified that it had. */
export interface TornWrite {
  /** Its copy, relative to the log's directory. */
  readonly file: string;
  readonly sha256: string;
  readonly bytes: number;
  /** `seq` of the first event that would have been there. */
  readonly seq: number;
}

export interface AuditStore {
  /** For messages: what cannot be written. */
  readonly location: string;
  /**
   * Resolves when the group is on disk. Rejects with the error of the operating system; then
   * nothing of it counts, and `recover` must run before the next one.
   */
  append(group: EventGroup): Promise<void>;
  /**
   * Returns to the end of the last group that was written, without trusting what is cached.
   *
   * @throws LogLost when what was written is not there any more
   */
  recover(): Promise<void>;
  /** An event records it now. Must not throw. */
  markRecorded(torn: TornWrite): void;
  /** Frees the room reserved for the ends of running commands; `false`: there is none. */
  spendReserve(): boolean;
  /** Reserves that room if it is not reserved. Throws the error of the operating system. */
  saveReserve(): void;
  close(): Promise<void>;
}

/** The log cannot be continued: what is there is evidence, and stays as it is. */
export class LogLostError extends Error {}

const writeFailures: Readonly<Record<string, string>> = {
  ENOSPC: 'no space is left on the disk; free some',
  EDQUOT: 'the quota of the disk is used up; free some of it',
  EFBIG: 'files may not grow that large here; raise the limit of file sizes (ulimit -f)',
  EROFS: 'its file system is read-only; mount it for writing',
  EIO: 'the disk reports an error; see the log of the kernel',
  EACCES: 'permission is missing; give the directory back to its user (0700)',
  EPERM: 'permission is missing; give the directory back to its user (0700)',
  ENOENT: 'its directory is not there; restore it, or restart the runtime',
  ENOTDIR: 'a part of its path is no directory; restore the directory',
  EMFILE: 'too many files are open; raise the limit of open files (ulimit -n)',
};

/** Why a log cannot be written, for people. */
export function describeWriteFailure(error: unknown): string {
  const known = writeFailures[systemErrorCode(error) ?? ''];
  return known ?? (error instanceof Error ? error.message : String(error));
}

export const isDiskFull = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT'].includes(systemErrorCode(error) ?? '');

export function auditUnavailable(location: string, reason: string, cause?: unknown): TrlError {
  const message = `Cannot write the audit log "${location}": ${reason}`;
  return new TrlError('AUDIT_UNAVAILABLE', message, { cause });
}
