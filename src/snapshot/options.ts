/** Parameters and results of the store. */
import type { DroppedRecord } from './retention.ts';

export interface SnapshotStoreOptions {
  /** At least 32 secret bytes; anyone who has them can read everything. */
  readonly key: Uint8Array;
  /** Bytes of all files; exceeded for a moment while a sweep copies what is needed. */
  readonly storeBytesMax: number;
  /** Bytes of the largest content that is stored. */
  readonly fileBytesMax: number;
  /** How long records of kind `changes` are stored, in `ms`. */
  readonly keepMs: number;
  /** Must not throw. */
  readonly log: (line: string) => void;
  /** Runs for each record that is dropped. Must not throw. */
  readonly onDrop?: (record: DroppedRecord) => void;
  /** Bytes of one file. Default: 1/16 of the store, between 1 and 64 MiB. */
  readonly segmentBytes?: number;
  /** Unix milliseconds. Default: `Date.now`. */
  readonly now?: () => number;
}

export interface SnapshotStats {
  /** Of all files, and the part of them that is needed. */
  readonly bytes: number;
  readonly liveBytes: number;
  readonly segments: number;
  readonly contents: number;
  readonly records: number;
  /** Queued and not on disk so far. */
  readonly pendingBytes: number;
  /** Dropped since open, as too old or for lack of room. */
  readonly droppedRecords: number;
  readonly droppedBytes: number;
  /** Contents that were not stored: too large, or no room. */
  readonly refusedContents: number;
  /** Contents and records that are not readable any more. */
  readonly damaged: number;
  readonly damagedBytes: number;
  /** Cut off at open: never acknowledged as on disk. */
  readonly tornBytes: number;
  /** Waits for the disk since open. */
  readonly syncs: number;
  /** Why the last write failed, or `null`. */
  readonly failure: string | null;
}

export interface RecordAppendOptions {
  /** SHA-256 of the contents that are stored as long as the record is. Default: none. */
  readonly contents?: readonly string[];
  /** Those that cannot be made again, besides the originals of an earlier record of the id. */
  readonly originals?: readonly string[];
  /** Never dropped by itself. Default: `false`. */
  readonly pin?: boolean;
}

export interface StoredFileInfo {
  /** Of what was read, and so of what is stored. */
  readonly sha256: string;
  readonly size: number;
  /** `false`: too large, or no room. */
  readonly kept: boolean;
  /** It was not written while it was read. */
  readonly isSteady: boolean;
}
