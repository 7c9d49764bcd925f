/**
 * Where a log is kept: the few things that the log asks of files, and could ask of a database.
 */
import type { MerkleTree } from './merkle.ts';
import type { Checkpoint } from './signed-note.ts';

/** What is written at once, or not at all. */
export interface EventGroup {
  /** `seq` of its first event. */
  readonly first: number;
  /** Event lines, each with its newline. */
  readonly lines: string;
  /** The signed note over the log with them. */
  readonly head: string;
  /** What gets known with them, in the order of stored hashes. */
  readonly hashes: readonly Buffer[];
}

/** Tells a head that our key signed. */
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
  /** Unfinished ends that were set aside, and of which no event tells. */
  readonly torn: readonly TornWrite[];
}

/** Bytes of a write that never ended, so nobody was told that it had. */
export interface TornWrite {
  /** What they are kept as, inside of the log's directory. */
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
   * Answers when the group is on disk. Rejects with the error of the operating system; then nothing
   * of it counts, and `recover` comes before the next one.
   */
  append(group: EventGroup): Promise<void>;
  /**
   * Back to the end of the last group that was written, without trust in what is cached.
   *
   * @throws LogLost when what was written is not there any more
   */
  recover(): Promise<void>;
  /** An event tells of it now. Must not throw. */
  markRecorded(torn: TornWrite): void;
  /** Frees what is put by for the ends of running commands; `false`: there is nothing. */
  spendReserve(): boolean;
  /** Puts it by where there is none. Throws the error of the operating system. */
  saveReserve(): void;
  close(): Promise<void>;
}

/** The log cannot be gone on with: what lies there is evidence, and stays as it is. */
export class LogLostError extends Error {}
