/**
 * The one port between the daemon, which decides, records and answers, and the machine that runs
 * commands and has their files. Requests and answers are data: the machine can be another one.
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
import type { GitView } from '../protocol/workspace.ts';
import type { OutgoingCollection, EarlierFile } from '../publish/outgoing.ts';
import type { PushedRef } from '../protocol/publish.ts';
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

  /** Tells the host about the daemon's sessions. Called once, before anything else. */
  attach(source: AllSessions): void;

  /**
   * The workspace and the working directory of a new session, after every link is resolved.
   *
   * @throws TrlError as `resolveWorkspace`
   */
  resolve(input: RootsInput): Promise<ResolvedRoots>;
  /**
   * A directory by its real path, and the project that holds it.
   *
   * @throws TrlError as `resolveProject`
   */
  project(
    directory: string,
    home: string,
  ): Promise<{ readonly directory: string; readonly project: string }>;

  /**
   * What is in a workspace and in the files granted beyond it: what has to be covered or guarded.
   *
   * @throws TrlError as `surveyWorkspace`
   */
  survey(input: SurveyInput): Promise<WorkspaceFacts>;

  /** @param quarantine private to the runtime (0700), outside every workspace; made if missing */
  guard(facts: WorkspaceFacts, quarantine: string): Promise<Guard>;

  /**
   * Finishes what an earlier daemon began, and removes layers of sessions that are gone. Called
   * once, before any view is opened.
   */
  recover(sessions: readonly SessionRecord[]): Promise<void>;

  /** @param isLast whether no later daemon continues: waiting changes are dropped then */
  close(isLast: boolean): Promise<void>;
}

/** What programs keep in HOME for a later time, by project. */
export interface HomeCaches {
  /**
   * What a session's commands have in HOME; made where it is missing. Empty: nothing lasts.
   * `shared`: of what is granted, the directories of its `shareCache`.
   */
  trees(
    record: SessionRecord,
    granted: WorkspaceFacts['granted'],
  ): { readonly caches: readonly CachedTree[]; readonly shared: readonly SharedTree[] };
  /** After a session ended. */
  leave(record: SessionRecord): Promise<void>;
  list(): Promise<readonly CacheFacts[]>;
  /**
   * While no command of it runs: who starts one then has nothing of it.
   *
   * @returns how many entries could not be removed, and why the first of them could not; `null`:
   *   another runtime has sessions with it, so that nothing was cleared
   */
  clear(id: string): Promise<{ readonly count: number; readonly why: string | null } | null>;
  /** Ends what is private of caches whose sessions did nothing for long. Called now and then. */
  endIdle(now: number): void;
}

/** A directory on disk, and where commands see it. */
export interface CachedTree {
  /** The directory that has all of the same cache. */
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

/** What the host asks of the daemon, and reports to it. */
export interface SessionSource {
  /** Running commands of a session, also those of an earlier daemon. */
  readonly running: (session: SessionId) => readonly ExecId[];
  /** Sessions that work in a view, or will. */
  readonly sessionsIn: (view: string) => readonly SessionId[];
  /** Called when the waiting changes of a session's view are others. Must not throw. */
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

  /** Notes that an overlay was refused: the workspace's changes are found by scans from now on. */
  refuseLayers(root: string, why: string): void;

  /**
   * Where a session's workspace is to be mounted; `null`: its commands write to the real tree.
   *
   * @param place `dev:ino` of the workspace in decimal digits; `null`: it does not exist
   */
  plan(record: SessionRecord, place: string | null, visible: PathRules): Promise<ViewPlan | null>;

  /** Opens a session's view, or moves the session to another ground; waiting changes stay. */
  open(record: SessionRecord, root: string, ground: ViewContext): Promise<WorkspaceView>;

  /** `null`: no command of the session came yet. */
  find(session: SessionId): Promise<WorkspaceView> | null;

  /** Removes a session; waiting changes go with the last session of its view. */
  leave(record: SessionRecord): Promise<void>;

  /** What the sessions of an opened workspace will see. */
  preview(opened: PreviewRequest): ViewPreview;

  /** Digest (hex) of what a session is not shown; `null`: it sees everything. */
  maskOf(session: SessionId): string | null;

  /** Whether commands of a session see no file at a path of the host. */
  hides(session: SessionId, root: string, path: string): boolean;

  /** Whether commands of a session see another version at a path of the host, or below it. */
  hasPendingChange(session: SessionId, path: string): boolean;
}

/** One session's access to its view. */
export interface WorkspaceView {
  facts(): ViewFacts;

  /** Changes that the real tree does not have, in byte order of the paths. Default: all states. */
  pendingChanges(...states: readonly ChangeState[]): Promise<readonly Change[]>;

  /**
   * Brings the session up to date with the real tree. `false`: that would show what it must not
   * see, so its overlay has to be mounted anew.
   */
  refresh(): Promise<boolean>;

  /** Where a command runs whose changes are thrown away; `null`: there are no layers. */
  dryRun(exec: ExecId): Overlay | null;

  /** Before a command starts, or before an adopted one is followed. */
  begin(command: CommandStart): Promise<void>;

  /** For a command that never ran. */
  abandon(exec: ExecId): Promise<void>;

  /**
   * Finds, records and applies what a command changed; `null`: it was not begun.
   *
   * @param isLost nobody saw how the command ended
   * @throws TrlError of the store: then nothing more reached the real tree
   */
  settle(exec: ExecId, isLost: boolean): Promise<ChangeRecord | null>;

  /**
   * Applies waiting changes; `null`: none is selected.
   *
   * @throws TrlError `INVALID_PARAMS` when the held changes are no longer those of `heldDigest`
   */
  apply(selection: ApplySelection): Promise<ChangeRecord | null>;

  /**
   * Throws waiting changes away, and answers with them.
   *
   * @throws TrlError `SESSION_BUSY` while a command runs in the view
   */
  discard(paths: PathSelection): Promise<readonly Change[]>;
}

/** Records of what commands changed, the contents of files, and the way back. */
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
 * Files of a workspace as they are now, for the publication gate. No link is followed, no FIFO or
 * device opened, and git is run without hooks and filters.
 */
export interface WorkspaceFiles {
  /**
   * What publishing these paths would send. A denied path is collected by its name alone.
   *
   * @throws TrlError `INVALID_PARAMS` for a path that does not exist; `QUOTA_EXCEEDED`
   */
  collect(request: FilesRequest, paths: readonly BytePath[]): Promise<OutgoingCollection>;

  /**
   * Which files are denied, and which are visible.
   *
   * @throws TrlError `QUOTA_EXCEEDED`; the system's error where a denied file cannot be looked at
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
  /** What the audience may see. */
  readonly rules: PathRules;
}

export interface GitRequest {
  readonly root: string;
  /** In the worktree whose repository is meant. */
  readonly cwd: string;
}

export interface PushRequest {
  /** `A..B`, or one revision; default: `HEAD`. */
  readonly range?: string | undefined;
  /** What a `pre-push` hook was given; then `range` is ignored. */
  readonly refs?: readonly PushedRef[] | undefined;
  /** Name of the remote; default: all remotes. */
  readonly remote?: string | undefined;
}

export interface FileSource extends Disposable {
  /**
   * `null`: it is no regular file, or larger than `bytesMax`.
   *
   * @throws the system's error where it cannot be read
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
  /** Other names of denied files are among them. */
  readonly denied: readonly DeniedFile[];
  readonly visible: readonly BytePath[];
}

/** Where a session's workspace is to be mounted. */
export interface ViewPlan {
  readonly overlay: Overlay;
}

/** What was found about a workspace, and the sandbox that it is mounted in. */
export interface ViewContext {
  readonly facts: WorkspaceFacts | null;
  readonly box: Box;
  readonly plan: ViewPlan | null;
  /** Rules for writing, with those of policy. */
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
  /** Digest of the held changes that a person saw; absent: not checked; `null`: there were none. */
  readonly heldDigest?: string | null;
}

export interface UndoRequest {
  readonly paths: PathSelection;
  /** Rules of policy for paths that are not touched. */
  readonly deny: readonly string[];
  readonly dryRun: boolean;
}

export interface UndoResult {
  readonly restored: readonly Change[];
  readonly conflicts: readonly Change[];
  readonly impossible: readonly Change[];
  /** Commands whose changes were undone. */
  readonly execs: readonly ExecId[];
  /** Why there is nothing of all this. */
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
