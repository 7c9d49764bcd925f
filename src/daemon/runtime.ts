/**
 * The daemon's services as its transports use them. The transports parse and order requests; all
 * other work is behind this interface. Methods throw `TrlError`.
 */
import type { ApprovalId, Caller, ExecId, SessionId, Verdict } from '../command.ts';
import type { AuditGetParams, AuditListParams, AuditVerifyParams } from '../api/audit.ts';
import type { PublishCheckParams, PublishParams } from '../api/publish.ts';
import type {
  SecretDeleteParams,
  SecretInjectParams,
  SecretRequestParams,
  SecretSetParams,
} from '../api/secrets.ts';
import type {
  ExecUndoParams,
  SnapshotGetParams,
  SnapshotListParams,
  SnapshotRestoreParams,
} from '../api/snapshot.ts';
import type {
  WorkspaceApplyParams,
  WorkspaceDiffParams,
  WorkspaceDiscardParams,
  WorkspaceOpenParams,
} from '../api/workspace.ts';
import type {
  ExecLeaseAnswer,
  ExecLeaseParams,
  ExecParams,
  ExecReadAnswer,
  ExecReadParams,
} from '../api/exec.ts';
import type {
  ApprovalDecideParams,
  ApprovalListParams,
  ApprovalStatus,
  ApprovalView,
  PolicyExplainParams,
} from '../api/approval.ts';
import type { ExecView, Receipt } from '../api/receipt.ts';
import type { MethodAnswers, MethodName } from '../api/methods.ts';
import type { SessionConnection, SessionCreateParams, SessionView } from '../api/session.ts';
import type { WireError } from '../api/answer-fields.ts';
import type { MetricsView } from '../api/system.ts';
import type {
  ToolAnswerParams,
  ToolCallAnswer,
  ToolCallParams,
  ToolListParams,
  ToolRegisterParams,
  ToolStreamMessage,
  ToolView,
} from '../api/tool.ts';

import type { RedactedBytes } from '../redaction/redacted-text.ts';
import type { Clients } from './access/clients.ts';
import type { ConsoleService } from './access/console-service.ts';
import type { AccessGate } from './access/gate.ts';
import type { Feed } from './feed.ts';
import type { Masking } from './secrets/masking.ts';

/**
 * Receives a stream's output. Nothing more is sent while a promise that `output` returned is
 * pending.
 */
export interface OutputSink {
  output(stream: 'stdout' | 'stderr', offset: number, bytes: RedactedBytes): void | Promise<void>;
  gap(from: number, to: number): void;
  waiting(info: { pid: number; program: string; certain: boolean }): void;
  /** The last call: the receipt, or the failure that lost the execution. */
  exit(offset: number, end: Omit<Receipt, 'stdout' | 'stderr'> | WireError): void;
}

/** A parsed call of a method. */
export interface MethodCall {
  readonly caller: Caller;
  readonly method: MethodName;
  readonly params: unknown;
}

/** Pending approvals and their answers. The person who decides proves it in the call. */
export interface ApprovalService {
  listApprovals(caller: Caller, params: ApprovalListParams): readonly ApprovalView[];
  getApproval(caller: Caller, id: ApprovalId): ApprovalView;
  decideApproval(caller: Caller, params: ApprovalDecideParams): Promise<ApprovalView>;
  /**
   * Reports every pending approval to `tell` now, and then each change. `tell` must not throw.
   *
   * @returns a function that ends the watch
   */
  watchApprovals(caller: Caller, tell: (view: ApprovalView) => void): () => void;
  approvalStatus(caller: Caller): ApprovalStatus;
}

/** Secrets by name. Only `set` accepts values, and no method returns one. */
export interface SecretService {
  list(caller: Caller): Promise<MethodAnswers['secrets.list']>;
  check(caller: Caller, name: string): Promise<MethodAnswers['secrets.check']>;
  /** Asks a person for a value; waits for the answer as long as the call specifies. */
  request(caller: Caller, params: SecretRequestParams): Promise<MethodAnswers['secrets.request']>;
  requests(caller: Caller): MethodAnswers['secrets.requests'];
  /** Called by a person, who proves it if a person is enrolled. */
  set(caller: Caller, params: SecretSetParams): Promise<MethodAnswers['secrets.set']>;
  /** Each later command of the session gets the secrets that policy permits. */
  inject(caller: Caller, params: SecretInjectParams): Promise<MethodAnswers['secrets.inject']>;
  delete(caller: Caller, params: SecretDeleteParams): Promise<MethodAnswers['secrets.delete']>;
}

/** Where sessions may work, and the caches that programs keep there for later commands. */
export interface ProjectService {
  trust(caller: Caller, directory: string): Promise<MethodAnswers['workspace.trust']>;
  forget(directory: string): MethodAnswers['workspace.forget'];
  list(): MethodAnswers['workspace.list'];
  caches(): Promise<MethodAnswers['cache.list']>;
  /**
   * @param directory in the project; `null`: all projects
   * @throws TrlError `SESSION_BUSY` while a command that uses the caches runs
   */
  clearCaches(directory: string | null): Promise<MethodAnswers['cache.clear']>;
}

/** Changes of commands in workspaces: shows, applies, discards and undoes them. */
export interface WorkspaceService {
  open(caller: Caller, params: WorkspaceOpenParams): Promise<MethodAnswers['workspace.open']>;
  status(caller: Caller, id: SessionId): Promise<MethodAnswers['workspace.status']>;
  /** The text is redacted as output is. */
  diff(caller: Caller, params: WorkspaceDiffParams): Promise<MethodAnswers['workspace.diff']>;
  /** A person approves held changes, and proves it if a person is enrolled. */
  apply(caller: Caller, params: WorkspaceApplyParams): Promise<MethodAnswers['workspace.apply']>;
  discard(
    caller: Caller,
    params: WorkspaceDiscardParams,
  ): Promise<MethodAnswers['workspace.discard']>;
  snapshots(caller: Caller, params: SnapshotListParams): Promise<MethodAnswers['snapshot.list']>;
  snapshot(caller: Caller, params: SnapshotGetParams): Promise<MethodAnswers['snapshot.get']>;
  restore(
    caller: Caller,
    params: SnapshotRestoreParams,
  ): Promise<MethodAnswers['snapshot.restore']>;
  undo(caller: Caller, params: ExecUndoParams): Promise<MethodAnswers['exec.undo']>;
}

/** What may leave a workspace, and for which audience. */
export interface PublicationService {
  /** Reveals the source of denied content only to a person who proves it. */
  check(caller: Caller, params: PublishCheckParams): Promise<MethodAnswers['publish.check']>;
  /**
   * Lays out exactly the bytes that were checked.
   *
   * @throws TrlError `PUBLICATION_BLOCKED` with rules and trace ids
   */
  publish(caller: Caller, params: PublishParams): Promise<MethodAnswers['publish']>;
}

/** The audit log. Without proof of a person, a caller sees only the session that the call names. */
export interface AuditService {
  list(caller: Caller, params: AuditListParams): Promise<MethodAnswers['audit.list']>;
  get(caller: Caller, params: AuditGetParams): Promise<MethodAnswers['audit.get']>;
  /** For persons only. */
  verify(caller: Caller, params: AuditVerifyParams): Promise<MethodAnswers['audit.verify']>;
}

/** Tools in addition to those of every runtime. */
export interface ToolService {
  list(caller: Caller, params: ToolListParams): Promise<readonly ToolView[]>;
  call(caller: Caller, params: ToolCallParams): Promise<ToolCallAnswer>;
  /**
   * Sends calls of a tool to `listener`, which must not throw, until {@link leave}.
   *
   * @param owner represents the connection that answers the calls
   */
  register(
    params: ToolRegisterParams,
    by: { readonly owner: object; readonly listener: (message: ToolStreamMessage) => void },
  ): Promise<void>;
  answer(owner: object, params: ToolAnswerParams): void;
  /**
   * Notifies the tool that answers the caller's calls of this key that the caller no longer waits.
   */
  cancel(caller: Caller, key: string): void;
  leave(owner: object): void;
}

/** Sessions: durable records, not processes. */
export interface SessionService {
  create(caller: Caller, params: SessionCreateParams): Promise<SessionView>;
  list(caller: Caller): readonly SessionView[];
  info(caller: Caller, id: SessionId): Promise<SessionView>;
  showPort(
    id: SessionId,
    port: number,
  ): Promise<{ session_id: SessionId; port: number; url: string }>;
  connections(id: SessionId): Promise<{ connections: SessionConnection[] }>;
  blockHost(id: SessionId, host: string): Promise<{ session_id: SessionId; host: string }>;
  hidePort(id: SessionId, port: number): Promise<{ session_id: SessionId; hidden: boolean }>;
  update(
    caller: Caller,
    params: {
      session_id: SessionId;
      name?: string;
      timeout_s?: number;
      env?: Readonly<Record<string, string>>;
      unset?: readonly string[];
      /** The session whose directory and variables the new session takes over. */
      state_of?: SessionId;
    },
  ): Promise<SessionView>;
  fork(caller: Caller, id: SessionId, name: string | null): Promise<SessionView>;
  state(
    caller: Caller,
    id: SessionId,
  ): Promise<{ session_id: SessionId; cwd: string | null; names: readonly string[] }>;
  /** Ends the session and everything that runs in it. Without `force` a busy one is refused. */
  destroy(caller: Caller, id: SessionId, force: boolean): Promise<void>;
}

/** Commands: started, followed, fed and ended. */
export interface ExecutionService {
  /**
   * Runs to the end and returns the output. A time-out throws `COMMAND_TIMEOUT` whose `data` is the
   * receipt with the partial output. The command runs to its end even if the caller disconnects.
   */
  run(caller: Caller, params: ExecParams): Promise<Receipt>;
  /** Starts in the foreground (`exec.stream`); the session is busy until it ends. */
  openStream(caller: Caller, params: ExecParams): Promise<ExecId>;
  /** Starts detached (`exec.start`). */
  start(caller: Caller, params: ExecParams): Promise<ExecId>;
  /** Sends output from `from` on until the end; resolves after `sink.exit`, or when aborted. */
  follow(
    caller: Caller,
    id: ExecId,
    options: { from: number; sink: OutputSink; signal: AbortSignal },
  ): Promise<void>;
  read(caller: Caller, params: ExecReadParams): Promise<ExecReadAnswer>;
  /**
   * @throws TrlError `SESSION_BUSY` while another caller holds its lease; so does {@link resize}
   */
  write(
    caller: Caller,
    id: ExecId,
    input: { readonly bytes: Uint8Array; readonly eof: boolean; readonly lease: string | null },
  ): Promise<void>;
  resize(
    caller: Caller,
    id: ExecId,
    size: { readonly columns: number; readonly rows: number; readonly lease: string | null },
  ): Promise<void>;
  /** Takes, extends or releases the lease that permits its holder to type. */
  lease(caller: Caller, params: ExecLeaseParams): Promise<ExecLeaseAnswer>;
  /**
   * With a signal: sends only that signal. Without: TERM, grace period, KILL. Returns the commands
   * that were stopped.
   */
  cancel(
    caller: Caller,
    target: { exec_id: ExecId } | { session_id: SessionId } | { exec_key: string },
    signal: string | null,
  ): Promise<{ stopped: readonly ExecId[] }>;
  list(caller: Caller, session: SessionId | null): Promise<readonly ExecView[]>;
  info(caller: Caller, id: ExecId): Promise<ExecView>;
}

export interface Runtime {
  readonly startedAt: number;
  readonly sessions: SessionService;
  readonly execs: ExecutionService;
  readonly approvals: ApprovalService;
  /** Hides known secrets in all texts that the runtime returns. */
  readonly masking: Masking;
  readonly secrets: SecretService;
  readonly projects: ProjectService;
  readonly workspaces: WorkspaceService;
  readonly publications: PublicationService;
  readonly audit: AuditService;
  readonly tools: ToolService;
  /** All changes that the caller can see. */
  readonly feed: Pick<Feed, 'watch'>;
  readonly console: Pick<ConsoleService, 'login'>;
  /** What a caller may do and see; `call()` checks it for every transport. */
  readonly clients: Pick<Clients, 'enter'>;
  readonly gate: Pick<
    AccessGate,
    'requireRole' | 'authorizeParams' | 'filterAnswer' | 'canSeeSession' | 'canSeeActor'
  >;
  /** The policy's decision about a command, which neither runs nor requests an approval. */
  explain(caller: Caller, params: PolicyExplainParams): Promise<Verdict>;
  stats(): {
    active_sessions: number;
    total_commands_run: number;
    uptime_s: number;
    memory_rss_bytes: number;
    open_fds: number | null;
  };
  /** The runtime's counters. */
  metrics(): MetricsView;
  /**
   * Runs a call. If the call changes something, the audit log records its request before it acts
   * and its end after it.
   *
   * @throws TrlError `AUDIT_UNAVAILABLE` before it acted; else what `act` throws
   */
  runAudited<Answer>(call: MethodCall, act: () => Answer | Promise<Answer>): Promise<Answer>;
  /**
   * Checks a call before it acts; the audit log records a refusal.
   *
   * @throws what `check` throws
   */
  checkAudited<Params>(call: MethodCall, check: () => Params | Promise<Params>): Promise<Params>;
  /** Stops accepting requests, ends or leaves commands as configured, and closes. */
  close(): Promise<void>;
}
