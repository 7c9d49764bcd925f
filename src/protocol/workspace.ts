/** The wire of workspaces: what commands changed, what waits, and the way back. */
import type {
  ChangeKind,
  ChangeMark,
  ChangeMethod,
  ChangeState,
  TreeId,
  WorkspaceMode,
} from '../change.ts';
import type { ExecId, SessionId } from '../command.ts';

/** `w-` and 32 lower-case hex digits. */
export type WorkspaceId = `w-${string}`;

/**
 * How git is seen: `real`: its own files. `projected`: a read-only repository of what is visible
 * takes its place. `hidden`: there is none to see. `none`: the workspace has none.
 */
export const gitViews = ['real', 'projected', 'hidden', 'none'] as const;
export type GitView = (typeof gitViews)[number];

export interface WorkspaceAnswers {
  readonly 'workspace.trust': WorkspaceTrustAnswer;
  readonly 'workspace.forget': { readonly forgotten: boolean };
  readonly 'workspace.list': { readonly workspaces: readonly WorkspaceRoot[] };
  readonly 'cache.list': { readonly caches: readonly CacheView[] };
  readonly 'cache.clear': {
    readonly cleared: number;
    /** Entries that could not be removed. */
    readonly left: number;
    /** Why the first of them could not. */
    readonly why?: string;
  };
  readonly 'workspace.open': WorkspaceOpenAnswer;
  readonly 'workspace.status': WorkspaceStatus;
  readonly 'workspace.diff': WorkspaceDiff;
  readonly 'workspace.apply': WorkspaceApplyAnswer;
  readonly 'workspace.discard': WorkspaceDiscardAnswer;
  readonly 'snapshot.list': { readonly snapshots: readonly SnapshotView[] };
  readonly 'snapshot.get': SnapshotRecord;
  readonly 'snapshot.restore': RestoreAnswer;
  readonly 'exec.undo': RestoreAnswer;
}

/** What stands at a path. */
export interface EntryView {
  readonly type: 'file' | 'directory' | 'symlink' | 'fifo' | 'socket' | 'device';
  /** The permission bits in four octal digits: `0644`; of a link `null`. */
  readonly mode: string | null;
  /** Bytes, of a file. */
  readonly size?: number;
  /** Lower-case hex, of a file; `null`: nobody read it. */
  readonly sha256?: string | null;
  /** Where a link leads. */
  readonly target?: string;
  /** Present where the target is no valid UTF-8. */
  readonly target_base64?: string;
  /** Of a directory that came with thousands of entries, which are told as one. */
  readonly entries?: {
    readonly files: number;
    readonly directories: number;
    readonly links: number;
    readonly bytes: number;
  };
}

/** One path that a command changed. */
export interface ChangeView {
  /** Relative to the workspace; bytes that are no UTF-8 show as U+FFFD. */
  readonly path: string;
  /** The path's bytes, where they are no valid UTF-8. */
  readonly path_base64?: string;
  readonly kind: ChangeKind;
  readonly before: EntryView | null;
  readonly after: EntryView | null;
  readonly marks: readonly ChangeMark[];
  readonly state: ChangeState;
  /** Why it is held or in conflict, one stable word. */
  readonly reason: string | null;
  /** Other commands of the session that ran meanwhile: any of them may have done it. */
  readonly concurrent_with: readonly ExecId[];
  /** Of a conflict: the name of the command's own version (`trl snapshot show`); else `null`. */
  readonly kept_as: string | null;
}

/** What a receipt tells of the workspace. */
export interface ReceiptChanges {
  /** `null`: nothing was recorded, as without a workspace. */
  readonly snapshot: {
    readonly before: TreeId;
    readonly after: TreeId;
    readonly method: ChangeMethod;
  } | null;
  /** At most `limits.receiptChanges`; the rest is in `snapshot.get`. */
  readonly changes: readonly ChangeView[];
  readonly changes_omitted: number;
  /** `null`: nothing was recorded. */
  readonly workspace_mode: WorkspaceMode | null;
}

export interface WorkspaceTrustAnswer {
  /** The root that holds the directory from now on, by real path. */
  readonly path: string;
  /** Whether it was not a root before. */
  readonly is_new: boolean;
}

/** What programs keep in HOME for later commands of one project, with one set of rules. */
export interface CacheView {
  /** 32 hex digits. */
  readonly cache_id: string;
  /** The project, by real path. */
  readonly path: string;
  readonly bytes: number;
  /** ISO 8601. */
  readonly used_at: string;
}

/** A directory in which sessions may work. */
export interface WorkspaceRoot {
  /** Real path. */
  readonly path: string;
  /** ISO 8601; `null`: the runtime was started with it. */
  readonly trusted_at: string | null;
  readonly is_there: boolean;
  /** That work in it. */
  readonly sessions: number;
}

/** Rules that only add to the runtime's policy: paths or globs, relative to the workspace. */
export interface WorkspacePolicy {
  readonly read?: { readonly allow?: readonly string[]; readonly deny?: readonly string[] };
  readonly write?: { readonly deny?: readonly string[] };
}
export interface WorkspaceOpenParams {
  readonly path: string;
  readonly policy?: WorkspacePolicy;
  /** Of the sessions that are made in it; default `direct`. */
  readonly mode?: WorkspaceMode;
}
export interface WorkspaceOpenAnswer {
  readonly workspace_id: WorkspaceId;
  /** Absolute, links resolved. */
  readonly path: string;
  readonly mode: WorkspaceMode;
  readonly method: ChangeMethod;
  /** Paths that do not exist for its commands; `null`: not counted yet. */
  readonly denied: number | null;
  readonly git: GitView;
}

/** Lists hold at most `limits.changesListed` changes each; `totals` counts all of them. */
export interface WorkspaceStatus {
  readonly session_id: SessionId;
  readonly path: string;
  readonly mode: WorkspaceMode;
  readonly method: ChangeMethod;
  readonly staged: readonly ChangeView[];
  readonly held: readonly ChangeView[];
  readonly conflicts: readonly ChangeView[];
  readonly totals: {
    readonly staged: number;
    readonly held: number;
    readonly conflicts: number;
  };
  /** SHA-256 (hex) of all that is held; who lets it through names what was seen by it. */
  readonly held_digest: string | null;
  readonly store: StoreView;
  readonly denied: number | null;
  readonly git: GitView;
  /** Writable trees besides the workspace: what is changed there is not recorded. */
  readonly unrecorded: readonly string[];
}
/** What is kept for diffs and undo. */
export interface StoreView {
  readonly bytes: number;
  readonly bytes_max: number;
  /** Distinct contents, and commands whose changes are recorded. */
  readonly contents: number;
  readonly records: number;
  /** Contents given up because of the bound: what needs them cannot be undone. */
  readonly dropped: number;
}

/** Which paths are meant: these and what lies below them; absent: all. */
export interface PathsParams {
  /** Relative to the workspace, or absolute inside it. */
  readonly paths?: readonly string[];
  /** The same as bytes, for names that are no UTF-8; relative. */
  readonly paths_base64?: readonly string[];
}

/** Exactly one of `session_id` (all that its commands changed, net) and `exec_id`. */
export interface WorkspaceDiffParams extends PathsParams {
  readonly session_id?: SessionId;
  readonly exec_id?: ExecId;
  /** Lines around a change; default 3. */
  readonly context?: number;
}
export interface WorkspaceDiff {
  /** Unified, with the headers of git; secrets are hidden, so it may not apply. */
  readonly diff: string;
  readonly files: readonly DiffFile[];
  /** Whether files are missing from `diff` or `files` because there is too much. */
  readonly truncated: boolean;
}
export interface DiffFile {
  readonly path: string;
  readonly path_base64?: string;
  readonly kind: ChangeKind;
  readonly state: ChangeState;
  /** `null`: not counted, as for what is binary or too large. */
  readonly added_lines: number | null;
  readonly removed_lines: number | null;
  readonly binary: boolean;
}

export interface WorkspaceApplyParams extends PathsParams {
  readonly session_id: SessionId;
  /** Also what the commit filter holds, which a person decides. */
  readonly held?: boolean;
  /** With `held`: the first 8 or more digits of `held_digest` that was seen. */
  readonly digest?: string;
  /** Proves a person, where one is enrolled. */
  readonly passphrase?: string;
}
/** At most `limits.changesListed` in each list. */
export interface WorkspaceApplyAnswer {
  readonly applied: readonly ChangeView[];
  readonly conflicts: readonly ChangeView[];
  readonly held: readonly ChangeView[];
  readonly totals: {
    readonly applied: number;
    readonly conflicts: number;
    readonly held: number;
  };
}
export interface WorkspaceDiscardParams extends PathsParams {
  readonly session_id: SessionId;
}
export interface WorkspaceDiscardAnswer {
  readonly discarded: readonly ChangeView[];
  readonly totals: { readonly discarded: number };
}

export interface SnapshotListParams {
  readonly session_id?: SessionId;
  /** The workspace, or a path in it. */
  readonly path?: string;
  /** Newest first; default 50. */
  readonly limit?: number;
}
export interface SnapshotView {
  readonly exec_id: ExecId;
  readonly session_id: SessionId;
  /** The workspace. */
  readonly path: string;
  /** Known secrets in it are masked. */
  readonly command: string;
  readonly before: TreeId;
  readonly after: TreeId;
  /** ISO 8601: when the command ended. */
  readonly at: string;
  readonly method: ChangeMethod;
  readonly mode: WorkspaceMode;
  readonly counts: Readonly<Record<ChangeKind, number>>;
  readonly states: Readonly<Record<ChangeState, number>>;
  /** Whether everything that it changed was taken back. */
  readonly undone: boolean;
}
/** Exactly one of `exec_id` and `id`; of an id the newest command that left it. */
export interface SnapshotGetParams {
  readonly exec_id?: ExecId;
  readonly id?: TreeId;
  /** Index of the first change; default 0. */
  readonly from?: number;
  /** Default and most: `limits.changesListed`. */
  readonly limit?: number;
  /** A path of it, whose content is to be in the answer as the command left it. */
  readonly content?: string;
}
/** Secrets are hidden in it as in output. */
export interface ContentView {
  /** Bytes as the command left them. */
  readonly size: number;
  /** `null`: it is larger than `limits.diffFileBytes`, or was not kept. */
  readonly base64: string | null;
}
export interface SnapshotRecord extends SnapshotView {
  /** Of the path that was named; `null`: none was, or the command left no file there. */
  readonly content: ContentView | null;
  readonly changes: readonly ChangeView[];
  readonly changes_total: number;
  /** Index to ask for next; `null`: that was the last. */
  readonly next: number | null;
}
/** Exactly one: to the state before `exec_id` ran, or to the state `id`. */
export interface SnapshotRestoreParams extends PathsParams {
  readonly exec_id?: ExecId;
  readonly id?: TreeId;
  /** Say what would be done, and do nothing. */
  readonly dry_run?: boolean;
}
export interface ExecUndoParams extends PathsParams {
  readonly exec_id: ExecId;
  readonly dry_run?: boolean;
}
/** At most `limits.changesListed` in each list. */
export interface RestoreAnswer {
  /** `before`: what stood there, `after`: what stands there now. */
  readonly restored: readonly ChangeView[];
  /** Somebody changed the path since: theirs stands. */
  readonly conflicts: readonly ChangeView[];
  /** The old content was not kept. */
  readonly impossible: readonly ChangeView[];
  readonly totals: {
    readonly restored: number;
    readonly conflicts: number;
    readonly impossible: number;
  };
  /** The commands that were taken back. */
  readonly exec_ids: readonly ExecId[];
  readonly dry_run: boolean;
  /** Why nothing was done, where nothing was to be; else `null`. */
  readonly nothing: string | null;
}
