/** What the store is told when it is opened, and what it tells of itself. */
import type { DroppedRecord } from './retention.ts';

export interface SnapshotStoreOptions {
  /** At least 32 secret bytes; whoever has them can read everything. */
  readonly key: Uint8Array;
  /** Bytes of all files; exceeded for a moment while what is wanted is copied together. */
  readonly storeBytesMax: number;
  /** Bytes of the largest content that is kept. */
  readonly fileBytesMax: number;
  /** Milliseconds for which records of kind `changes` are kept. */
  readonly keepMs: number;
  /** Must not throw. */
  readonly log: (line: string) => void;
  /** Told of each record that is given up. Must not throw. Default: nobody. */
  readonly onDrop?: (record: DroppedRecord) => void;
  /** Bytes of one file, default: 1/16 of the store, between 1 and 64 MiB. */
  readonly segmentBytes?: number;
  /** Unix milliseconds. Default: `Date.now`. */
  readonly now?: () => number;
}

export interface SnapshotStats {
  /** Of all files, and what of them is wanted. */
  readonly bytes: number;
  readonly liveBytes: number;
  readonly segments: number;
  readonly contents: number;
  readonly records: number;
  /** Given to the store and not yet on disk. */
  readonly pendingBytes: number;
  /** Given up since open, as too old or for want of room. */
  readonly droppedRecords: number;
  readonly droppedBytes: number;
  /** Contents that were not kept: too large, or no room. */
  readonly refusedContents: number;
  /** Contents and records that cannot be read any more. */
  readonly damaged: number;
  readonly damagedBytes: number;
  /** Cut off at open: never said to be on disk. */
  readonly tornBytes: number;
  /** Waits for the disk since open. */
  readonly syncs: number;
  /** Why the last write failed, or `null`. */
  readonly failure: string | null;
}

export interface RecordAppendOptions {
  /** SHA-256 of the contents that are kept as long as the record is. Default: none. */
  readonly contents?: readonly string[];
  /** Of these, what nobody can make again, with what an earlier record of the id said. */
  readonly originals?: readonly string[];
  /** It is never given up by itself. Default: `false`. */
  readonly pin?: boolean;
}

export interface StoredFileInfo {
  /** Of what was read, and so of what is kept. */
  readonly sha256: string;
  readonly size: number;
  /** `false`: too large, or no room. */
  readonly kept: boolean;
  /** Nobody wrote to it while it was read. */
  readonly isSteady: boolean;
}
