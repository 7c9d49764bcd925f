/** What the workspace of sessions is made of, and what it is told. */
import type { BytePath, ChangeMethod, TreeId, WorkspaceMode } from '../change.ts';
import type { ExecId, SessionId } from '../command.ts';
import type { GitView } from '../protocol/workspace.ts';
import type { ChangeCapture, LayerCapture } from '../workspace/changes/captured.ts';
import type { CommittingParts } from './committing.ts';
import type { ChangeRecord, RecordedChange } from './record.ts';

export interface SessionWorkspaceParts extends CommittingParts {
  /** Its name: see `views.ts`. */
  readonly view: string;
  readonly mode: WorkspaceMode;
  readonly method: ChangeMethod;
  readonly capture: ChangeCapture;
  /** With an overlay, `capture` of its upper layer; `null`: commands write to the real tree. */
  readonly layer: LayerCapture | null;
  /** Looks again at what may be seen; `false`: it is not what is mounted. */
  readonly remask: (directories: readonly BytePath[] | 'all') => Promise<boolean>;
  /** Makes the overlay show what lies in its layers now, above all in these directories. */
  readonly refresh: (directories: readonly BytePath[] | 'all') => Promise<void>;
  /** Commands that run since before this daemon, and will be begun. */
  readonly adopted: readonly ExecId[];
  readonly isRunning: (id: ExecId) => boolean;
  /** Must not throw. */
  readonly log: (text: string) => void;
}

/** What the sessions see, for people. */
export interface View {
  /** Paths that do not exist for its commands; `null`: not counted. */
  readonly denied: number | null;
  readonly git: GitView;
  /** Writable trees besides the workspace. */
  readonly unrecorded: readonly string[];
}

/** A command whose changes are to be told. */
export interface Beginning {
  readonly exec: ExecId;
  readonly session: SessionId;
  /** As it is kept: known secrets are masked. */
  readonly command: string;
  readonly mode: WorkspaceMode;
  /** Unix ms; absent: now. */
  readonly startedAt?: number;
}

/** One that runs. */
export interface Run extends Beginning {
  /** Unix ms. */
  readonly begunAt: number;
  readonly before: TreeId;
  readonly overlapping: Set<ExecId>;
  /** What was told of it already. */
  earlier: readonly RecordedChange[];
}

/** What a look at it found. */
export interface Looked {
  readonly record: ChangeRecord;
  /** The store has it as it was planned: should this daemon end, recovery finds how it went. */
  readonly isToBeKept: boolean;
}
