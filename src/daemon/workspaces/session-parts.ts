/** What the workspace of a session is made of, and what it is told. */
import type { BytePath, ChangeMethod, WorkspaceMode } from '../../change.ts';
import type { ExecId, SessionId } from '../../command.ts';
import type { GitView } from '../../protocol/workspace.ts';
import type { ChangeCapture, LayerCapture } from '../../workspace/changes/captured.ts';
import type { CommittingParts } from './committing.ts';

export interface SessionWorkspaceParts extends CommittingParts {
  readonly session: SessionId;
  readonly mode: WorkspaceMode;
  readonly method: ChangeMethod;
  readonly capture: ChangeCapture;
  /** With an overlay, `capture` of its upper layer; `null`: commands write to the real tree. */
  readonly layer: LayerCapture | null;
  /** Looks again at what may be seen; `false`: it is not what is mounted. */
  readonly remask: (directories: readonly BytePath[] | 'all') => Promise<boolean>;
  /** Makes the overlay show what lies in its layers now, above all in these directories. */
  readonly refresh: (directories: readonly BytePath[] | 'all') => Promise<void>;
  /** Must not throw. */
  readonly log: (text: string) => void;
}

/** What the session sees, for people. */
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
  /** As it is kept: known secrets are masked. */
  readonly command: string;
  readonly mode: WorkspaceMode;
  /** Unix ms; absent: now. */
  readonly startedAt?: number;
}
