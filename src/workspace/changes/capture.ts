/** The types of captures: what a command changed, with the facts needed to apply or refuse it. */
import type { BytePath, Difference, Entry, StatKey } from '../../change.ts';
import type { ContentStore } from '../../content-store.ts';
import type { BulkDirectoryMode } from './bulk-directories.ts';
import type { LayerAttributes } from './layer-attributes.ts';
import type { LayerCopy, LayerState } from './layer-copies.ts';
import type { LedgerLines } from './ledger.ts';
import type { DisplacedFile } from './prune-applied.ts';

/**
 * Where a content is on the host: `path` below the directory `tree`. It may be deeper than
 * `PATH_MAX`, and any component may have become a link since: `openSource` opens it safely.
 */
export interface CapturedSource {
  readonly tree: string;
  readonly path: BytePath;
}

/** A difference, and the entries on both sides of it. */
export interface CapturedChange extends Difference {
  /**
   * The entry in the real tree now; `null`: none, or a masked path, of which nothing is read. Its
   * `sha256` is `null` if nobody needed its content.
   */
  readonly base: Entry | null;
  readonly baseKey: StatKey | null;
  /** Unix nanoseconds: if later than the start of the command, another process wrote meanwhile. */
  readonly baseCtimeNs: bigint | null;
  /**
   * Only with `base: null`: the file was one of the real tree. Either the command wrote to it in
   * place, and another process deleted it meanwhile, or the command gave it this name. Not detected
   * if the file had other names.
   */
  readonly isCopyUp: boolean;
  /** Another process changed the path between a capture that left it out and this one. */
  readonly isOvertaken?: boolean;
  /** The path, or a directory above it, does not exist for the session. */
  readonly isMasked: boolean;
  /** A directory that was deleted or replaced has masked paths below it, which still stand. */
  readonly hasMaskedBelow: boolean;
  /** Where the new content is; `null`: there is none (deleted, links, directories). */
  readonly sourceAt: CapturedSource | null;
  /** Of the entry in the upper layer; `null` where there is none (below a whiteout). */
  readonly upperKey: StatKey | null;
}

export interface CaptureResult {
  /** As a walk meets them: a directory, all that is in it, then its neighbour by bytes. */
  readonly changes: readonly CapturedChange[];
  /** Whether everything was looked at; otherwise `skipped` says what was not. */
  readonly complete: boolean;
  /** Directories that were too deep, or could not be read: what is below them is not known. */
  readonly skipped: readonly BytePath[];
  /** Too recent for this capture. Default: none. */
  readonly waiting?: readonly BytePath[];
  /** New directories whose entries are not captured, or not yet. Default: none. */
  readonly wholes?: readonly BytePath[];
}

/** Finds the changes of a command, by any method. Calls run one after the other. */
export interface ChangeCapture {
  /**
   * Returns the changes since the last capture.
   *
   * @param ageMs captures only what is at least this old, default 0: while commands run, a recent
   *   file may be a lock or a part of something, and soon be gone. Deletions wait as well, as one
   *   may be half of a rename.
   * @param wholes how new directories of thousands of entries are captured, default `parts`
   * @param endedNs with `wait`, Unix ns: changes since then are captured all the same
   */
  capture(
    ageMs?: number,
    wholes?: BulkDirectoryMode,
    endedNs?: bigint | null,
  ): Promise<CaptureResult>;
}

export interface OverlayCaptureOptions {
  /** The real tree: absolute, without a link in it. */
  readonly root: string;
  /** The directory of the upper layer: absolute, without a link in it. */
  readonly upper: string;
  /** What is added to the ids of the real tree's files in the upper layer. */
  readonly idShift: { readonly uid: number; readonly gid: number };
  /** Whether the session is not to see a path. What is below a masked one is masked, too. */
  readonly isMasked: (path: BytePath) => boolean;
  /** Directories of the workspace in which something is mounted: they stay in the layer. */
  readonly pinned?: () => ReadonlySet<BytePath>;
  readonly contents: ContentStore;
  readonly attributes: LayerAttributes;
  /**
   * The key of the entry that applying this layer's changes left at a path of the real tree. A
   * command that deletes a file just when the file is applied leaves no whiteout for it: the
   * capture then reports the applied file as deleted. Default: nothing was applied.
   */
  readonly appliedKeyAt?: (path: BytePath) => StatKey | null;
  /** The captured state of the layer below, if this one is above another. Default: nothing. */
  readonly over?: LedgerLines;
}

/**
 * What `OverlayCapture` offers besides capturing. Cleared paths are those whose upper version is
 * not needed any more: applied, or given up.
 */
export interface LayerCapture extends ChangeCapture {
  /**
   * Whether `clearApplied(paths)` is due: the layer has an entry at one of `paths`, or one that
   * equals the real tree's, as after an open for writing. Until it is cleared it hides later
   * changes of others. A few directories without a change, as after making and removing a file in
   * them, can stay: clearing them costs a refresh, after which the next walk over the tree finds
   * nothing cached.
   */
  isClearDue(paths: readonly BytePath[]): boolean;
  /**
   * Removes unchanged directories of the layer that the real tree does not have any more, or that
   * the session must not see: for a refresh while commands run.
   */
  dropStaleDirectories(): Promise<void>;
  /**
   * Removes entries from the upper layer: those of `paths` that still are as captured, and
   * directories without a change. Everything else stays. Only while no command of the session runs;
   * the overlay must be refreshed before the next one.
   *
   * @returns the paths that changed since the capture, and stayed
   */
  clearApplied(paths: readonly BytePath[]): Promise<readonly BytePath[]>;
  /**
   * The first step of showing another writer's version of a file while commands run.
   *
   * @returns the file that commands may still have open; `null` if a command changed it since
   */
  displace(path: BytePath): Promise<DisplacedFile | null>;
  /** The second step; the overlay must be refreshed after it. */
  removeDisplaced(displaced: readonly Pick<DisplacedFile, 'path' | 'fd'>[]): Promise<void>;
  /** Lets a new directory hide nothing, so that it can be moved away. */
  open(path: BytePath): Promise<void>;
  /** Whether there is anything at a path in the upper layer. */
  has(path: BytePath): boolean;
  /** What the layer has at a path. */
  layerStateOf(path: BytePath): Promise<LayerState>;
  /** Notes a copy of another writer's file: see `layer-copies.ts`. */
  adoptCopy(path: BytePath, copy: LayerCopy & { readonly isCertain: boolean }): Promise<boolean>;
  /**
   * Notes a directory that is in the layer because of the entries below it: see `layer-copies.ts`.
   */
  adoptDirectory(path: BytePath): Promise<boolean>;
  /** Removes the rest of an announced deletion. */
  removeDeletionMarker(path: BytePath): Promise<void>;
  /** Removes a directory of the upper layer that copies come from: see `layer-copies.ts`. */
  removeStaging(name: string, copies: readonly LayerCopy[]): Promise<boolean>;
  /** Forgets the captured state of `paths`, after their upper entries were removed elsewhere. */
  forget(paths: readonly BytePath[]): void;
  /** Empties the upper layer and forgets everything; bounds as for `clearApplied`. */
  discard(): Promise<void>;
  /** The captured state of the layer, for another one that is mounted above it. */
  ledgerLines(): LedgerLines;
  /** What a later process needs to go on, for `restoreLedger`. */
  ledgerJson(): string;
  /** @throws TrlError INTERNAL_ERROR where `json` is not from `ledgerJson` */
  restoreLedger(json: string): void;
}
