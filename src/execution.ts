/**
 * What the story of `run.ts` takes and gives: where a command runs, what it needs of the outside,
 * and the words for how far it has come. Types only.
 */
import type { Approval } from './approval/approval.ts';
import type { ApprovalSubject } from './approval/subject.ts';
import type { AuditPosition } from './audit/event.ts';
import type { RecordedChanges, WorkspaceMode } from './change.ts';
import type {
  ApprovedPlan,
  Bounds,
  Box,
  StatePersistence,
  ExecId,
  Exit,
  FileGrants,
  Plan,
  PolicyProfile,
  CommandRequest,
  SessionId,
  Shell,
  Verdict,
} from './command.ts';
import type { Exposure, RequestedVariable } from './policy/decide.ts';
import type { PolicyJudge } from './policy/judge.ts';

/** What stands when a command is asked for: the session, and what was found out about its place. */
export interface ExecutionContext {
  readonly sessionId: SessionId;
  readonly shell: Shell;
  readonly statePersistence: StatePersistence;
  readonly umask?: number;
  readonly workspace: string | null;
  readonly network: 'off' | 'on';
  /** Where the session starts, and goes back to when its directory is gone. */
  readonly home: string;
  readonly box: Box;
  /** SHA-256 (hex) of what the box shows and lets be written: equal for equal sandboxes. */
  readonly scope: string;
  /** The workspace as a directory of the host. */
  readonly workspaceIdentity: ApprovalSubject['workspace'];
  /** Which directory of the host a path of the session is just now. */
  directoryIdentity(path: string): ApprovalSubject['cwdPlace'];
  /** What a shell starts for a name, by a `PATH` that is not the runtime's; `null`: nothing. */
  findProgram(name: string, path: string, cwd: string): string | null;
  /** Whether a path is the sandbox's own, so that the host has nothing or another thing there. */
  isPrivate(file: string): boolean;
  /** Whether a path of the workspace does not exist for commands. */
  isHidden(file: string): boolean;
  /** Where what commands changed lies until it is applied; `null`: nothing waits anywhere. */
  readonly layer: string | null;
  /** A content as far as a yes can bind it: what the host cannot see, or is no file, it cannot. */
  bindContent(
    content: ApprovalSubject['contents'][number],
    cwd: string,
  ): ApprovalSubject['contents'][number];
  readonly files: FileGrants;
  /** What the sandbox was granted besides the workspace, one clause each. */
  readonly extraGrants: readonly string[];
  /** Variables of the runtime's level. */
  readonly env: Readonly<Record<string, string>>;
  /** Those of `env` that are there in `legacy` mode alone. */
  readonly inherited: ReadonlySet<string>;
  /** Patterns of names that no command gets from the runtime, besides what never passes. */
  readonly withhold: readonly string[];
  /** Directories that only the sandbox has. */
  readonly privateDirs: readonly string[];
  /** Puts protected paths back that a command created or replaced; answers their names. */
  revert(): Promise<readonly string[]>;
  /** What becomes of what a command changes in the workspace; `null`: nothing is recorded. */
  readonly changeTracker: ChangeTracker | null;
}

/** Tells what each command changed, keeps it, and lets it into the real tree as far as it may. */
export interface ChangeTracker {
  /** Whether what commands see at a path of the host waits to be put there. */
  isWaiting(path: string): boolean;
  /** Where the command is to run; `null`: in the session's own box. */
  boxFor(mode: WorkspaceMode | null, id: ExecId): Promise<Box | null>;
  /** Notes how things stand before a command; `startedAt` (Unix ms) of one that runs already. */
  begin(command: {
    readonly id: ExecId;
    readonly text: string;
    readonly mode: WorkspaceMode | null;
    readonly startedAt?: number;
  }): Promise<void>;
  /** The command never ran. */
  abandon(id: ExecId): Promise<void>;
  /** `isLost`: nobody saw how it ended. */
  settle(id: ExecId, isLost: boolean): Promise<RecordedChanges | null>;
}

/** Values of variables that were asked for by name. */
export interface VariableSource {
  /**
   * Where each would come from; no value is read for it.
   *
   * @throws TrlError `INVALID_PARAMS` for a name that nobody has
   */
  find(names: readonly string[]): Promise<readonly RequestedVariable[]>;
  /** @throws TrlError when a value cannot be read, or could not be masked */
  values(requested: readonly RequestedVariable[]): Promise<Readonly<Record<string, string>>>;
  /** The tool that manages a variable, so that no other process gets it; `null`: none does. */
  managedBy(name: string, workspace: string | null): string | null;
}

/** Where something lies in the audit log, and the newest signed head above it. */
export interface AuditMark extends AuditPosition {
  /** A signed note (C2SP `tlog-checkpoint`). */
  readonly head: string;
}

/** Writes down what a command is and does, before what that permits. */
export interface Recorder {
  /**
   * Answers when all that led to the start is on disk.
   *
   * @throws TrlError `AUDIT_UNAVAILABLE`: it must not start
   */
  starting(decided: AuthorizedExecution): Promise<void>;
  /** It never ran, or nobody knows how it ended. Must not throw. */
  failed(id: ExecId, error: unknown): void;
  /**
   * Answers when how it ended is on disk; `null`: it is not, and need not be.
   *
   * @throws TrlError `AUDIT_UNAVAILABLE`: nobody must be told
   */
  ended(id: ExecId, outcome: Omit<ExecutionOutcome, 'audit'>): Promise<AuditMark | null>;
}

/** What the story needs of the outside. */
export interface RunDependencies {
  readonly recorder: Recorder;
  /** Where a session stands: its directory, and a MAC of every variable that it carries. */
  sessionState(id: SessionId): Promise<{
    cwd: string | null;
    /** The session's own `PATH`, which a command exported; `null`: the runtime's. */
    path: string | null;
    macs: Readonly<Record<string, string>>;
  }>;
  readonly variables: VariableSource;
  /** Names of values that a person's rules show in a project, for who asks. */
  revealed(workspace: ApprovalSubject['workspace'], requester: string): ReadonlySet<string>;
  /** Settles when a text may be analysed: one in each turn of the event loop. */
  yieldToEventLoop(): Promise<void>;
  /** Stands for a value where the value may not be; equal values of a name have equal MACs. */
  mac(name: string, value: string): string;
  /**
   * Makes the command ready, and starts it when `permitted` settles.
   *
   * @throws TrlError when it was not started; what `permitted` rejects with
   */
  launch(approved: ApprovedPlan, permitted: Promise<unknown>): Promise<void>;
  /** @throws TrlError `BACKEND_UNAVAILABLE` when the execution was lost */
  exited(id: ExecId): Promise<Exit>;
}

/** By what a command is judged. */
export interface Authorization {
  readonly judge: PolicyJudge;
  readonly exposure: Exposure;
  /** The actor that asks. */
  readonly requester: string;
  /** The script that asks in its place; `null`: none. */
  readonly parent: ExecId | null;
  readonly session: {
    /** Names that each command of the session gets. */
    readonly requested: readonly string[];
    /** Names of the session's own variables, which its caller set. */
    readonly given: readonly string[];
  };
}

/** What a registered tool starts, as its file and the call say. */
export interface ToolCommand {
  readonly name: string;
  /** Hex, of the tool's file. */
  readonly sha256: string;
  /** Started as it is; no shell reads it. */
  readonly argv: readonly [string, ...string[]];
  /** Names of the variables that the tool manages and its process gets. */
  readonly env: readonly string[];
}

export type ExecutionRequest = CommandRequest & {
  readonly bounds: Bounds;
  /** Names that this command asks for; absent in records of before. */
  readonly requested?: readonly string[];
  /** Names of values that the output is to show, see {@link Plan.reveal}; default: none. */
  readonly reveal?: readonly string[];
  /** What becomes of what this command changes; default: the session's mode. */
  readonly workspaceMode?: WorkspaceMode;
  /** The tool that this command is; absent: none. No caller of the wire can set it. */
  readonly tool?: ToolCommand;
  /** A profile that this command must pass besides the session's. */
  readonly policy?: PolicyProfile;
};

export interface ExecutionOutcome {
  readonly exit: Exit;
  readonly reverted: readonly string[];
  /** `null`: nothing was recorded. */
  readonly recorded: RecordedChanges | null;
  /** Where the audit log tells it; `null`: it does not, and need not. */
  readonly audit: AuditMark | null;
}

/** What is known before anything runs. */
export interface AuthorizedExecution {
  readonly approved: ApprovedPlan;
  readonly verdict: Verdict;
  /** What becomes of what it changes; `null`: as the session has it. */
  readonly workspaceMode: WorkspaceMode | null;
  /** The actor that asks. */
  readonly requester: string;
  /** The script that asks in its place; `null`: none. */
  readonly parent: ExecId | null;
  /** The registered tool that it is; `null`: none. */
  readonly tool: Pick<ToolCommand, 'name' | 'sha256'> | null;
  /** By whose yes; `null`: nobody was asked. */
  readonly approval: Approval | null;
  /** What the text names, as far as it was looked up. */
  readonly contents: ApprovalSubject['contents'];
  readonly exposure: Exposure;
  /**
   * The last look before the start. Absent: nobody was asked.
   *
   * @throws TrlError `APPROVAL_EXPIRED` when what the answer binds changed since
   */
  readonly confirm?: () => Promise<void>;
}

/** A command that waits for a person: the question, and the plan as it would be. */
export interface PendingApproval {
  readonly subject: ApprovalSubject;
  readonly verdict: Verdict;
  readonly plan: Plan;
  readonly parent: ExecId | null;
  readonly tool: Pick<ToolCommand, 'name' | 'sha256'> | null;
  readonly workspaceMode: WorkspaceMode | null;
  readonly exposure: Exposure;
  /** The same as its files are by now. */
  readonly refreshSubject: () => Promise<ApprovalSubject>;
}
