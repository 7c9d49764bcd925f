/**
 * The file side of the port between the daemon, which decides, records and answers, and the machine
 * that has the workspaces (`machine-port.ts` has the runner's side). Requests and answers are data.
 *   host      attach, resolve, project, survey, guard, recover, close
 *   views     whyNotLayered, refuseLayers, plan, open, find, leave, preview,
 *             maskOf, hides, hasPendingChange
 *   view      facts, pendingChanges, refresh, dryRun, begin, abandon, settle, apply, discard
 *   history   records, record, contents, stats, undo, restore
 *   files     collect, survey, open, pushed, staged, committed
 *   caches    trees, leave, list, clear, endIdle
 */
import type { SharedTree } from '../caches.ts';
import type {
  BytePath,
  Change,
  ChangeMethod,
  ChangeState,
  StatKey,
  WorkspaceMode,
} from '../change.ts';
import type { Box, ExecId, Overlay, PathRules, SessionId } from '../command.ts';
import type { ContentStore } from '../content-store.ts';
import type { GitView } from '../api/changes.ts';
import type { OutgoingCollection, EarlierFile } from '../publish/publication.ts';
import type { PushedRef } from '../api/publish.ts';
import type { SessionRecord } from '../session/record.ts';
import type { Guard } from '../workspace/guard.ts';
import type { SurveyInput, WorkspaceFacts } from '../workspace/workspace-survey.ts';
import type { ResolvedRoots, RootsInput } from '../workspace/roots.ts';
import type { ChangeRecord } from './change-record.ts';
import type { FileLookups } from './machine-port.ts';

/** The files of workspaces. */
export interface WorkspaceHost {
  readonly lookups: FileLookups;
  readonly views: WorkspaceViews;
  readonly history: ChangeHistory;
  readonly files: WorkspaceFiles;
  readonly caches: HomeCaches;

  /** Gives the host access to the daemon's sessions. Called once, before anything else. */
  attach(source: AllSessions): void;

  /** As `resolveWorkspace`: the workspace and the directory of a new session, without links. */
  resolve(input: RootsInput): Promise<ResolvedRoots>;
  /** As `resolveProject`: a directory by its real path, and its project. */
  project(
    directory: string,
    home: string,
  ): Promise<{ readonly directory: string; readonly project: string }>;

  /** As `surveyWorkspace`: what must be covered or guarded, also in files granted beyond it. */
  survey(input: SurveyInput): Promise<WorkspaceFacts>;

  /** @param quarantine private to the runtime (0700), outside every workspace; made if missing */
  guard(facts: WorkspaceFacts, quarantine: string): Promise<Guard>;

  /**
   * Finishes what an earlier daemon began, and removes layers of ended sessions. Called once,
   * before any view is opened.
   */
  recover(sessions: readonly SessionRecord[]): Promise<void>;

  /** @param isLast whether no later daemon continues: pending changes are dropped then */
  close(isLast: boolean): Promise<void>;
}

/** What programs cache in HOME for later sessions, by project. */
export interface HomeCaches {
  /**
   * The caches of a session's commands in HOME, created if missing. Empty: nothing persists.
   * `shared`: the granted directories of its `shareCache`.
   */
  trees(
    record: SessionRecord,
    granted: WorkspaceFacts['granted'],
  ): { readonly caches: readonly CachedTree[]; readonly shared: readonly SharedTree[] };
  /** After a session ended. */
  leave(record: SessionRecord): Promise<void>;
  list(): Promise<readonly CacheFacts[]>;
  /**
   * Clears a cache. To be called while no command that uses it runs.
   *
   * @returns how many entries could not be removed, and why the first of them could not; `null`:
   *   another runtime has sessions with it, so that nothing was cleared
   */
  clear(id: string): Promise<{ readonly count: number; readonly why: string | null } | null>;
  /**
   * Ends the private parts of caches whose sessions have been inactive for long. Called regularly.
   */
  endIdle(now: number): void;
}

/** A directory on disk, and where commands see it. */
export interface CachedTree {
  /** The directory that contains all trees of the same cache. */
  readonly tree: string;
  readonly source: string;
  readonly target: string;
  /** Of its owner on disk. */
  readonly uid: number;
  readonly gid: number;
}

export interface CacheFacts {
  /** 32 hex digits. */
  readonly id: string;
  /** The project, by real path. */
  readonly root: string;
  readonly bytes: number;
  /** Unix milliseconds. */
  readonly usedAt: number;
}

/** What the host asks the daemon, and reports to it. */
export interface SessionSource {
  /** Running commands of a session, also those of an earlier daemon. */
  readonly running: (session: SessionId) => readonly ExecId[];
  /** Sessions that work in a view, or will. */
  readonly sessionsIn: (view: string) => readonly SessionId[];
  /** Called when the pending changes of a session's view differ. Must not throw. */
  readonly onPendingChange: (session: SessionId) => void;
}

/** What else {@link WorkspaceHost.attach} takes. */
export interface AllSessions extends SessionSource {
  /** Every session, also those of an earlier daemon. */
  readonly all: () => readonly SessionRecord[];
}

/** The workspace as the commands of sessions see it. Sessions with the same rules share a view. */
export interface WorkspaceViews {
  /** Why a session's commands write to the real tree; `null`: they write to a layer. */
  whyNotLayered(record: SessionRecord, visible: PathRules): string | null;

  /** Notes that an overlay was refused: from now on scans find the workspace's changes. */
  refuseLayers(root: string, why: string): void;

  /**
   * Where to mount a session's workspace; `null`: its commands write to the real tree.
   *
   * @param place `dev:ino` of the workspace in decimal digits; `null`: it does not exist
   */
  plan(record: SessionRecord, place: string | null, visible: PathRules): Promise<ViewPlan | null>;

  /** Opens a session's view, or moves the session to another context; pending changes stay. */
  open(record: SessionRecord, root: string, context: ViewContext): Promise<WorkspaceView>;

  /** `null`: the session has not run a command yet. */
  find(session: SessionId): Promise<WorkspaceView> | null;

  /** Removes a session; pending changes are dropped with the last session of its view. */
  leave(record: SessionRecord): Promise<void>;

  /** How sessions in a newly opened workspace will see it. */
  preview(opened: PreviewRequest): ViewPreview;

  /** Digest (hex) of the paths hidden from a session; `null`: it sees everything. */
  maskOf(session: SessionId): string | null;

  /** Whether a path of the host is hidden from a session's commands. */
  hides(session: SessionId, root: string, path: string): boolean;

  /** Whether a session's commands see another version of a path of the host, or below it. */
  hasPendingChange(session: SessionId, path: string): boolean;
}

/** One session's access to its view. */
export interface WorkspaceView {
  facts(): ViewFacts;

  /** Changes that the real tree does not have, in byte order of the paths. Default: all states. */
  pendingChanges(...states: readonly ChangeState[]): Promise<readonly Change[]>;

  /**
   * Brings the session up to date with the real tree. `false`: that would show files that it must
   * not see, so its overlay must be mounted again.
   */
  refresh(): Promise<boolean>;

  /** Where a dry run happens, whose changes are discarded; `null`: there are no layers. */
  dryRun(exec: ExecId): Overlay | null;

  /** Before a command starts, or before an adopted one is followed. */
  begin(command: CommandStart): Promise<void>;

  /** For a command that never ran. */
  abandon(exec: ExecId): Promise<void>;

  /**
   * Captures, records and applies what a command changed; `null`: it was not begun.
   *
   * @param isLost nobody saw how the command ended
   * @throws TrlError of the store: then nothing more reached the real tree
   */
  settle(exec: ExecId, isLost: boolean): Promise<ChangeRecord | null>;

  /**
   * Applies pending changes; `null`: none is selected.
   *
   * @throws TrlError `INVALID_PARAMS` if the held changes are no longer those of `heldDigest`
   */
  apply(selection: ApplySelection): Promise<ChangeRecord | null>;

  /**
   * Discards pending changes and returns them.
   *
   * @throws TrlError `SESSION_BUSY` while a command runs in the view
   */
  discard(paths: PathSelection): Promise<readonly Change[]>;
}

/** Records of what commands changed, the contents of files, and undo. */
export interface ChangeHistory {
  /** All records, in no order. */
  records(): Promise<readonly ChangeRecord[]>;

  /** @throws TrlError `EXEC_NOT_FOUND` */
  record(exec: ExecId): Promise<ChangeRecord>;

  /** Contents by hash. */
  contents(): Promise<Pick<ContentStore, 'has' | 'read'>>;

  stats(): Promise<HistoryStats>;

  /** Undoes one command, including what was applied of it later. */
  undo(record: ChangeRecord, how: UndoRequest): Promise<UndoResult>;

  /**
   * Restores the workspace to its state after `record`, or before it (`inclusive`): what was
   * recorded since is undone, newest first. Unrecorded changes stay.
   */
  restore(
    record: ChangeRecord,
    how: UndoRequest & { readonly inclusive: boolean },
  ): Promise<UndoResult>;
}

/**
 * Files of a workspace as they are now, for the publication gate. It follows no link, opens no FIFO
 * or device, and runs git without hooks and filters.
 */
export interface WorkspaceFiles {
  /**
   * What publishing these paths would send. A denied path is collected by its name alone.
   *
   * @throws TrlError `INVALID_PARAMS` for a path that does not exist; `QUOTA_EXCEEDED`
   */
  collect(request: FilesRequest, paths: readonly BytePath[]): Promise<OutgoingCollection>;

  /**
   * The denied and the visible files.
   *
   * @throws TrlError `QUOTA_EXCEEDED`; the system's error if a denied file cannot be read
   */
  survey(request: FilesRequest): Promise<SurveyedFiles>;

  /** Reads files one after the other. */
  open(root: string): FileSource;

  /** What a push would send. @throws TrlError `INVALID_PARAMS` for an unknown revision */
  pushed(request: GitRequest, push: PushRequest): Promise<OutgoingCollection>;

  /** What the next commit would add. */
  staged(request: GitRequest): Promise<OutgoingCollection>;

  /** Files of the last commit; `null`: there is none. */
  committed(request: GitRequest): Promise<(() => AsyncIterable<EarlierFile>) | null>;
}

export interface FilesRequest {
  readonly root: string;
  /** What the recipients may see. */
  readonly rules: PathRules;
}

export interface GitRequest {
  readonly root: string;
  /** A directory in the worktree of the repository. */
  readonly cwd: string;
}

export interface PushRequest {
  /** `A..B`, or one revision; default: `HEAD`. */
  readonly range?: string | undefined;
  /** The input of a `pre-push` hook; then `range` is ignored. */
  readonly refs?: readonly PushedRef[] | undefined;
  /** Name of the remote; default: all remotes. */
  readonly remote?: string | undefined;
}

export interface FileSource extends Disposable {
  /**
   * `null`: it is no regular file, or larger than `bytesMax`.
   *
   * @throws the system's error if it cannot be read
   */
  read(path: BytePath, bytesMax: number): Promise<WorkspaceFileContent | null>;
}

export interface WorkspaceFileContent {
  readonly bytes: Buffer;
  readonly mode: number;
  readonly key: StatKey;
}

export interface DeniedFile {
  readonly path: BytePath;
  readonly key: StatKey;
  readonly size: number;
}

export interface SurveyedFiles {
  /** Includes other names of denied files. */
  readonly denied: readonly DeniedFile[];
  readonly visible: readonly BytePath[];
}

/** Where to mount a session's workspace. */
export interface ViewPlan {
  readonly overlay: Overlay;
}

/** The survey of a workspace, and the sandbox that mounts it. */
export interface ViewContext {
  readonly facts: WorkspaceFacts | null;
  readonly box: Box;
  readonly plan: ViewPlan | null;
  /** Rules for writing, including those of policy. */
  readonly write: PathRules;
}

export interface ViewFacts {
  readonly view: string;
  readonly root: string;
  readonly mode: WorkspaceMode;
  readonly method: ChangeMethod;
  /** Paths that do not exist for its commands; `null`: not counted. */
  readonly denied: number | null;
  readonly git: GitView;
  /** Writable trees besides the workspace. */
  readonly unrecorded: readonly string[];
}

export interface PreviewRequest {
  readonly path: string;
  readonly read: PathRules;
}

export type ViewPreview = Pick<ViewFacts, 'method' | 'denied' | 'git'>;

export interface CommandStart {
  readonly exec: ExecId;
  readonly session: SessionId;
  /** Known secrets in it are masked. */
  readonly command: string;
  readonly mode: WorkspaceMode;
  /** Unix ms; absent: now. */
  readonly startedAt?: number;
}

/** Paths with everything below them, relative to the workspace; `null`: all of it. */
export type PathSelection = readonly BytePath[] | null;

export interface ApplySelection {
  readonly paths: PathSelection;
  readonly states: readonly ChangeState[];
  /**
   * Digest of the held changes that a person reviewed; absent: not checked; `null`: there were
   * none.
   */
  readonly heldDigest?: string | null;
}

export interface UndoRequest {
  readonly paths: PathSelection;
  /** Rules of policy for paths that must not be touched. */
  readonly deny: readonly string[];
  readonly dryRun: boolean;
}

export interface UndoResult {
  readonly restored: readonly Change[];
  readonly conflicts: readonly Change[];
  readonly impossible: readonly Change[];
  /** Commands whose changes were undone. */
  readonly execs: readonly ExecId[];
  /** Why nothing was undone; `null`: something was. */
  readonly nothing: string | null;
}

export interface HistoryStats {
  readonly bytes: number;
  readonly contents: number;
  readonly records: number;
  readonly droppedRecords: number;
}

export type { ChangeRecord, RecordedChange } from './change-record.ts';
export type { FileLookups, MachinePort, RunnerConnection, SandboxLookups } from './machine-port.ts';
