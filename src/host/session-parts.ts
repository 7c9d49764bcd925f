/** What the workspace of sessions is made of, and what it is told. */
import type { BytePath, ChangeMethod, TreeId, WorkspaceMode } from '../change.ts';
import type { ExecId } from '../command.ts';
import type { ChangeCapture } from '../workspace/changes/captured.ts';
import type { AnnouncingParts } from './announcing.ts';
import type { KeptTrees } from './kept-trees.ts';
import type { CommittingParts } from './putting.ts';
import type { ChangeRecord, CommandBeginning, RecordedChange, ViewFacts } from './port.ts';

export interface SessionWorkspaceParts extends CommittingParts {
  /** Its name: see `views.ts`. */
  readonly view: string;
  readonly mode: WorkspaceMode;
  readonly method: ChangeMethod;
  readonly capture: ChangeCapture;
  /** Looks again at what may be seen; `false`: it is not what is mounted. */
  readonly remask: (directories: readonly BytePath[] | 'all') => Promise<boolean>;
  /** How watchers inside hear what others save; `null`: there is no layer. */
  readonly announcing: Pick<AnnouncingParts, 'upper' | 'watched' | 'mayTell'> | null;
  /** Commands that run since before this daemon, and will be begun. */
  readonly adopted: readonly ExecId[];
  readonly isRunning: (id: ExecId) => boolean;
  readonly kept: Pick<KeptTrees, 'placeFor'>;
}

/** What the sessions see, for people. */
export type View = Pick<ViewFacts, 'denied' | 'git' | 'unrecorded'>;

/** One that runs. */
export interface Run extends CommandBeginning {
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
