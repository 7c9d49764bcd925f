/**
 * Types of one execution: the context that it runs in, what it needs from the daemon, and its
 * state. Types only.
 */
import type { PolicyHosts } from './network/command-network.ts';
import type { NetworkAccess } from './network-access.ts';
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
import type { BrokeredCredential, EgressRules, UpstreamProxy } from './network-access.ts';
import type { FileLookups, SandboxLookups } from './host/port.ts';
import type { Exposure, RequestedVariable } from './policy/decide.ts';
import type { PolicyJudge } from './policy/judge.ts';

/** The session of a command, and what is known about its sandbox and its workspace. */
export interface ExecutionContext extends SandboxLookups {
  readonly sessionId: SessionId;
  readonly shell: Shell;
  readonly statePersistence: StatePersistence;
  readonly umask?: number;
  readonly workspace: string | null;
  readonly network: NetworkAccess;
  /** Where the session starts, and where it returns to when its directory is gone. */
  readonly home: string;
  readonly box: Box;
  /** SHA-256 (hex) of what the sandbox shows and makes writable: equal for equal sandboxes. */
  readonly scope: string;
  /** The workspace as a directory of the host. */
  readonly workspaceIdentity: ApprovalSubject['workspace'];
  /** Whether commands do not see a path of the workspace. */
  isHidden(file: string): boolean;
  /** The directory of changes that are not applied yet; `null`: there is no overlay. */
  readonly layer: string | null;
  readonly files: FileGrants;
  /** Grants besides the workspace, one clause each. */
  readonly extraGrants: readonly string[];
  /** Variables that every command of the session gets from the runtime. */
  readonly env: Readonly<Record<string, string>>;
  /** Names in `env` that exist only in `legacy` mode. */
  readonly inherited: ReadonlySet<string>;
  /** Patterns of withheld names, in addition to those that are always withheld. */
  readonly withhold: readonly string[];
  /** Directories that exist only in the sandbox. */
  readonly privateDirs: readonly string[];
  /** Restores protected paths that a command created or replaced; returns their names. */
  revert(): Promise<readonly string[]>;
  /** Records and applies what commands change; `null`: changes are not recorded. */
  readonly changeTracker: ChangeTracker | null;
}

/** Finds and stores what each command changed, and applies it to the real tree if allowed. */
export interface ChangeTracker {
  /** Whether a path of the host has a change that is not applied yet. */
  isWaiting(path: string): boolean;
  /** The sandbox that the command needs; `null`: the session's own. */
  boxFor(mode: WorkspaceMode | null, id: ExecId): Promise<Box | null>;
  /** Records the state before a command. `startedAt` (Unix ms): it runs already. */
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

/** What a command gets for the variables that it requested. */
export interface VariableValues {
  /** Of a brokered secret it is a placeholder. */
  readonly env: Readonly<Record<string, string>>;
  readonly credentials: readonly BrokeredCredential[];
}

/** A secret that a call wants to use without having it. */
export interface BrokerRequest {
  readonly name: string;
  /** Host rules; `null`: those of the configuration, or of its preset. */
  readonly hosts: readonly string[] | null;
}

/** Values of variables that are requested by name. */
export interface VariableSource {
  /**
   * Finds the source of each, without reading a value.
   *
   * @param brokered those of `names` that are to be used without being had; more may be configured
   * @throws TrlError `INVALID_PARAMS` for a name without a source, or with no known hosts
   */
  find(
    names: readonly string[],
    brokered?: readonly BrokerRequest[],
  ): Promise<readonly RequestedVariable[]>;
  /** @throws TrlError when a value cannot be read, could not be masked, or cannot be brokered */
  values(requested: readonly RequestedVariable[]): Promise<VariableValues>;
  /** Of the files that commands see with placeholders. */
  fileCredentials(): Promise<readonly BrokeredCredential[]>;
  /** The tool that alone gets a variable; `null`: none manages it. */
  managedBy(name: string, workspace: string | null): string | null;
}

/** A position in the audit log, and the newest signed head above it. */
export interface AuditMark extends AuditPosition {
  /** A signed note (C2SP `tlog-checkpoint`). */
  readonly head: string;
}

/** Records each step of a command before the step that it permits. */
export interface Recorder {
  /**
   * Resolves when everything that led to the start is on disk.
   *
   * @throws TrlError `AUDIT_UNAVAILABLE`: the command must not start
   */
  starting(execution: AuthorizedExecution): Promise<void>;
  /** The command never ran, or its end is unknown. Must not throw. */
  failed(id: ExecId, error: unknown): void;
  /**
   * Resolves when the end is on disk; `null`: it is not, and the log is not required.
   *
   * @throws TrlError `AUDIT_UNAVAILABLE`: no receipt may be sent
   */
  ended(id: ExecId, outcome: Omit<ExecutionOutcome, 'audit'>): Promise<AuditMark | null>;
}

/** What `authorize.ts` and `run.ts` need from the daemon. */
export interface RunDependencies {
  readonly recorder: Recorder;
  /** A session's directory, and a MAC of every variable that it persists. */
  sessionState(id: SessionId): Promise<{
    cwd: string | null;
    /** The session's own `PATH`, which a command exported; `null`: the runtime's. */
    path: string | null;
    macs: Readonly<Record<string, string>>;
  }>;
  /** The files that a command names. */
  readonly files: FileLookups;
  readonly variables: VariableSource;
  /** Names of values that a person's rules show to a requester in a project. */
  revealed(workspace: ApprovalSubject['workspace'], requester: string): ReadonlySet<string>;
  /** Host rules that a person's answers let commands reach, but for the answer to this command. */
  allowedHosts(
    workspace: ApprovalSubject['workspace'],
    by: { readonly requester: string; readonly session: SessionId; readonly exec: ExecId },
  ): readonly string[];
  /** Where names are served instead, by the configuration. */
  readonly connectHosts: EgressRules['connect'];
  /** Through which hosts outside are reached; `null`: none. */
  readonly upstreamProxy: UpstreamProxy | null;
  /** Resolves when a text may be analysed: one in each turn of the event loop. */
  yieldToEventLoop(): Promise<void>;
  /** Replaces a value where the value must not appear; equal values of a name have equal MACs. */
  mac(name: string, value: string): string;
  /**
   * Prepares the command, and starts it when `committed` resolves.
   *
   * @throws TrlError when it was not started; what `committed` rejects with
   */
  launch(approved: ApprovedPlan, committed: Promise<unknown>): Promise<void>;
  /** @throws TrlError `BACKEND_UNAVAILABLE` when the execution was lost */
  exited(id: ExecId): Promise<Exit>;
}

/** What a command is judged by. */
export interface Authorization {
  readonly judge: PolicyJudge;
  readonly exposure: Exposure;
  /** What policy says of hosts. */
  readonly hosts: PolicyHosts;
  /** The actor that requests the command. */
  readonly requester: string;
  /** The script that calls for it; `null`: none. */
  readonly parent: ExecId | null;
  readonly session: {
    /** Host names that a person blocked for it. */
    readonly blocked: readonly string[];
    /** Host rules that were requested with it. */
    readonly hosts: readonly string[];
    /** Names that each command of the session gets. */
    readonly requested: readonly string[];
    /** Names of the session's own variables, which its caller set. */
    readonly given: readonly string[];
  };
}

/** What a registered tool starts, by its file and the call. */
export interface ToolCommand {
  readonly name: string;
  /** Hex, of the tool's file. */
  readonly sha256: string;
  /** Started as is, without a shell. */
  readonly argv: readonly [string, ...string[]];
  /** Names of the variables that the tool manages and its process gets. */
  readonly env: readonly string[];
}

export type ExecutionRequest = CommandRequest & {
  readonly bounds: Bounds;
  /** Names that this command requests; absent in records of earlier versions. */
  readonly requested?: readonly string[];
  /** Secrets that it uses without having them; absent: those that are configured so alone. */
  readonly brokered?: readonly BrokerRequest[];
  /** Names of values that the output is to show, see {@link Plan.reveal}; default: none. */
  readonly reveal?: readonly string[];
  /** What happens to this command's changes; default: the session's mode. */
  readonly workspaceMode?: WorkspaceMode;
  /** The tool that this command is; absent: none. No caller of the wire can set it. */
  readonly tool?: ToolCommand;
  /** A profile that applies in addition to the session's. */
  readonly policy?: PolicyProfile;
};

export interface ExecutionOutcome {
  readonly exit: Exit;
  readonly reverted: readonly string[];
  /** `null`: nothing was recorded. */
  readonly recorded: RecordedChanges | null;
  /** Its record in the audit log; `null`: there is none, and the log is not required. */
  readonly audit: AuditMark | null;
}

/** A command that may run. */
export interface AuthorizedExecution {
  readonly approved: ApprovedPlan;
  readonly verdict: Verdict;
  /** What happens to its changes; `null`: the session's mode. */
  readonly workspaceMode: WorkspaceMode | null;
  /** The actor that requests the command. */
  readonly requester: string;
  /** The script that calls for it; `null`: none. */
  readonly parent: ExecId | null;
  /** The registered tool that it is; `null`: none. */
  readonly tool: Pick<ToolCommand, 'name' | 'sha256'> | null;
  /** The approval that it needed; `null`: none. */
  readonly approval: Approval | null;
  /** What the text names, if it was looked up. */
  readonly contents: ApprovalSubject['contents'];
  readonly exposure: Exposure;
  /**
   * The last check before the start; absent if nothing was approved by a person.
   *
   * @throws TrlError `APPROVAL_EXPIRED` when something that the approval binds has changed
   */
  readonly confirm?: () => Promise<void>;
}

/** A command that needs a person's approval, and the plan that would run. */
export interface PendingApproval {
  readonly subject: ApprovalSubject;
  readonly verdict: Verdict;
  readonly plan: Plan;
  readonly parent: ExecId | null;
  readonly tool: Pick<ToolCommand, 'name' | 'sha256'> | null;
  readonly workspaceMode: WorkspaceMode | null;
  readonly exposure: Exposure;
  /** Builds the subject again from the files as they are now. */
  readonly refreshSubject: () => Promise<ApprovalSubject>;
}
