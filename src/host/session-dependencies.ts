/** What the workspace of a view consists of, and what it receives. */
import type { BytePath, ChangeMethod, TreeId, WorkspaceMode } from '../change.ts';
import type { ExecId } from '../command.ts';
import type { ChangeCapture } from '../workspace/changes/capture.ts';
import type { CommitFilter } from '../workspace/commit/commit-filter.ts';
import type { AnnouncerDependencies } from './change-announcer.ts';
import type { ChangeRecord, CommandStart, RecordedChange, ViewFacts } from './port.ts';
import type { RemovedDirectories } from './snapshot-stores.ts';
import type { CommitterDependencies } from './tree-writer.ts';

export interface SessionWorkspaceDependencies extends CommitterDependencies {
  /** Its name: see `session/views.ts`. */
  readonly view: string;
  readonly mode: WorkspaceMode;
  readonly method: ChangeMethod;
  readonly capture: ChangeCapture;
  /** Looks again at what may be seen; `false`: it is not what is mounted. */
  readonly remask: (directories: readonly BytePath[] | 'all') => Promise<boolean>;
  /** How watchers inside hear what others save; `null`: there is no layer. */
  readonly announcing: Pick<AnnouncerDependencies, 'upper' | 'watched' | 'mayAnnounce'> | null;
  /** Commands that run since before this daemon, and will be begun. */
  readonly adopted: readonly ExecId[];
  readonly isRunning: (id: ExecId) => boolean;
  readonly removedDirectories: Pick<RemovedDirectories, 'findSlot'>;
}

/** What the sessions see, for people. */
export type ViewSummary = Pick<ViewFacts, 'denied' | 'git' | 'unrecorded'>;

/** What one session brings into the view: its rules, and what its sandbox mounts. */
export interface SessionViewContext {
  /** Decides which changes may be applied without approval; `null`: there is no layer. */
  readonly filter: CommitFilter | null;
  /** Git directories below the workspace, relative to it. */
  readonly gitDirectories: readonly BytePath[];
  /** Of the view when the session's overlay was planned. */
  readonly generation: number;
  readonly mounts: readonly { readonly path: BytePath; readonly isWhole: boolean }[];
  readonly summary: ViewSummary;
}

/** One that runs. */
export interface RunningCommand extends CommandStart {
  /** Unix ms. */
  readonly begunAt: number;
  readonly before: TreeId;
  readonly overlapping: Set<ExecId>;
  /** Its changes so far. */
  earlier: readonly RecordedChange[];
}

/** What a look at it found. */
export interface CaptureRecord {
  readonly record: ChangeRecord;
  /** The store has it as it was planned: should this daemon end, recovery finds how it went. */
  readonly needsFinalRecord: boolean;
}
