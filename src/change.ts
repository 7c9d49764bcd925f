/**
 * The words of what a command changed in its workspace. This module imports types of
 * `command.ts` only and holds no behaviour.
 *
 * Names of files are bytes, so a path is a string of bytes: one character (0-255, latin1) a byte.
 */
import type { ExecId } from './command.ts';

/** Relative to the workspace, parts joined by `/`, no `.`, `..` or empty part; `''`: itself. */
export type BytePath = string;

/** `tree:sha256:` and 64 lower-case hex digits. */
export type TreeId = `tree:sha256:${string}`;

/** What stands at a path. Modes are the 12 permission bits. */
export type Entry =
  | {
      readonly type: 'file';
      readonly mode: number;
      readonly size: number;
      /** Unix milliseconds, with a fraction. */
      readonly mtimeMs: number;
      /** Lower-case hex; `null`: nobody read it, so it is not known. */
      readonly sha256: string | null;
    }
  | { readonly type: 'directory'; readonly mode: number; readonly whole?: DirectorySummary }
  /** `target` as bytes, like a path, but whatever the link says. */
  | { readonly type: 'symlink'; readonly target: string }
  | { readonly type: 'fifo' | 'socket' | 'device'; readonly mode: number };

/** The contents of a directory whose thousands of entries are reported as one change. */
export interface DirectorySummary {
  readonly files: number;
  readonly directories: number;
  readonly links: number;
  /** Of all files. */
  readonly bytes: number;
  /** Hashes of the contents that list the entries, in order: see `move-directory.ts`. */
  readonly manifest: readonly string[];
  /** Where it is kept since it was removed: the name `path` in the private directory `tree`. */
  readonly kept?: { readonly tree: string; readonly path: BytePath };
}

/**
 * `mode`: only permissions differ. `type`: another kind of thing took the place. `symlink`: a link
 * leads elsewhere. `special`: a FIFO, socket or device came. `metadata-only`: content and mode are
 * equal, times or owner are not.
 */
export const changeKinds = [
  'added',
  'modified',
  'deleted',
  'mode',
  'type',
  'symlink',
  'special',
  'metadata-only',
] as const;
export type ChangeKind = (typeof changeKinds)[number];

/**
 * `hardlink-split`: the file had other names, which keep the old content. `over-cap`: a content was
 * too large to keep: this change cannot be undone. `before-unknown`: nobody knew the old content.
 * `partly-applied`: it is held, except for the part that was applied.
 * `values-restored`: it was written with tags, and the applied file has its earlier values.
 * `merged`: another process changed the file meanwhile; the applied file has both changes.
 */
export const changeMarks = [
  'hardlink-split',
  'over-cap',
  'before-unknown',
  'merged',
  'partly-applied',
  'values-restored',
] as const;
export type ChangeMark = (typeof changeMarks)[number];

/** What a command did to one path. */
export interface Difference {
  readonly path: BytePath;
  readonly kind: ChangeKind;
  readonly before: Entry | null;
  readonly after: Entry | null;
  readonly marks: readonly ChangeMark[];
}

/**
 * `applied`: in the real tree. `staged`: waits to be applied. `held`: the commit filter keeps it
 * out until a person says yes. `conflict`: somebody else changed the path meanwhile; theirs stands.
 * `discarded`: thrown away as asked.
 */
export const changeStates = ['applied', 'staged', 'held', 'conflict', 'discarded'] as const;
export type ChangeState = (typeof changeStates)[number];

export interface Change extends Difference {
  readonly state: ChangeState;
  /** Why it is held or in conflict, one stable word: `git-hooks`, `denied`, `changed-meanwhile`. */
  readonly reason: string | null;
  /** Other commands of the session that ran meanwhile: any of them may have done it. */
  readonly concurrentWith: readonly ExecId[];
  /** The name under which the command's own version of a conflict is kept: `x-…:path`. */
  readonly keptAs?: string;
}

/** How changes are known: from the overlay's upper layer, or by comparing two scans. */
export type ChangeMethod = 'overlay' | 'index';

/** What happens to the changes of a command. */
export const workspaceModes = ['direct', 'staged', 'discard'] as const;
export type WorkspaceMode = (typeof workspaceModes)[number];

/** What a command changed, as its receipt reports it. */
export interface RecordedChanges {
  readonly snapshot: SnapshotPair;
  readonly mode: WorkspaceMode;
  /** All of them, in byte order of their paths. */
  readonly changes: readonly Change[];
  /** Whether everything was looked at. */
  readonly complete: boolean;
}

/** The workspace before and after a command. Equal ids mean equal trees. */
export interface SnapshotPair {
  readonly before: TreeId;
  readonly after: TreeId;
  readonly method: ChangeMethod;
}

/**
 * Identifies a file without reading its content: equal keys mean the same unchanged file, since
 * any write changes ctime. `ino:mode:size:mtimeNs:ctimeNs` in decimal.
 */
export type StatKey = string;
