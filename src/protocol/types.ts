/**
 * The wire in types: what each method takes and answers. Field names are the protocol's own
 * (`snake_case`). Legacy fields keep their exact meaning; everything else is additive.
 */
import type { CacheTool } from '../caches.ts';
import type { WorkspaceMode } from '../change.ts';
import type { ErrorCode } from '../errors.ts';
import type {
  ApprovalId,
  Assurance,
  EnforcedLimit,
  ExecId,
  FileGrants,
  JudgedShell,
  Language,
  PolicyProfile,
  SandboxKind,
  SessionId,
  StopReason,
  Verdict,
} from '../command.ts';
import type { RedactionSummary } from '../redacted.ts';
import type { ApprovalView, ApprovalStatus, ApprovalWatchAnswer } from './approval.ts';
import type { AuditAnswers, AuditMarkView } from './audit.ts';
import type { ConsoleAnswers } from './console.ts';
import type { EnvironmentView } from './environment.ts';
import type { MetricsView } from './metrics.ts';
import type { ExecLeaseAnswer, FeedAnswer } from './feed.ts';
import type { PublishAnswers } from './publish.ts';
import type { SecretAnswers } from './secrets.ts';
import type { ToolAnswers } from './tool.ts';
import type { ReceiptChanges, WorkspaceAnswers, WorkspaceId } from './workspace.ts';

export interface WireError {
  readonly code: ErrorCode;
  readonly message: string;
}
export type WireResponse<T> =
  | { readonly id: string; readonly ok: true; readonly data: T }
  | { readonly id: string; readonly ok: false; readonly error: WireError; readonly data?: unknown };

/** `files` rules are absolute paths, paths relative to the workspace, or globs. */
export interface SessionCreateParams {
  readonly shell?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Names of secrets and of the runtime's variables that each command of the session gets. */
  readonly env_keys?: readonly string[];
  readonly working_dir?: string;
  readonly name?: string;
  /** Default time-out of the session's commands; 0 means the runtime's default. */
  readonly timeout_s?: number;
  readonly timeout_ms?: number;
  readonly files?: Partial<{
    read: Partial<FileGrants['read']>;
    write: Partial<FileGrants['write']>;
  }>;
  readonly network?: 'off' | 'on';
  readonly sandbox?: SandboxKind;
  readonly limits?: LimitParams;
  readonly carry?: 'none' | 'cwd+env' | 'shell';
  /** A profile that the session's commands must pass besides the runtime's policy. */
  readonly policy?: PolicyProfile;
  /** Of `workspace.open`: its directory is the workspace, its rules hold. */
  readonly workspace_id?: WorkspaceId;
  /** What becomes of what commands change; default that of the workspace, else `direct`. */
  readonly workspace_mode?: WorkspaceMode;
  /** `client`: it ends when the client of the socket that made it has left and nothing runs. */
  readonly lifetime?: 'kept' | 'client';
  /** Octal, `022` where it is not given; others never get to write. */
  readonly umask?: string;
  /**
   * Where programs are looked for, as `PATH`, whose tools commands see; default: the runtime's own.
   * Not by a token.
   */
  readonly search_path?: string;
  /** Programs whose caches of the host's user commands see, and leave as they are. */
  readonly share_cache?: readonly CacheTool[];
}
export interface LimitParams {
  readonly cpu_s?: number;
  readonly processes?: number;
  readonly open_files?: number;
  readonly file_bytes?: number;
  readonly memory_bytes?: number;
  readonly address_space_bytes?: number;
  readonly journal_bytes?: number;
}

export type SessionState = 'creating' | 'idle' | 'running' | 'terminated';
export interface SessionView {
  readonly session_id: SessionId;
  readonly name: string | null;
  readonly state: SessionState;
  readonly shell: string;
  /** Present when the shell asked for is missing here and another took its place. */
  readonly shell_resolved?: string;
  readonly working_dir: string;
  /** `null`: the session has no host directory, only its private `/tmp` and home. */
  readonly workspace: string | null;
  /** Present when it was opened by `workspace.open`. */
  readonly workspace_id?: WorkspaceId;
  readonly workspace_mode?: WorkspaceMode;
  readonly created_at: string;
  readonly last_activity: string;
  readonly env_keys: readonly string[];
  /** Names of secrets that each command gets, by `secrets.inject`. */
  readonly injected: readonly string[];
  readonly command_count: number;
  readonly timeout_s: number;
  readonly network: 'off' | 'on';
  readonly sandbox: SandboxKind;
  /** Programs whose caches of the host's user its commands see; absent: none. */
  readonly share_cache?: readonly CacheTool[];
  /** `null` until the first command probed it. */
  readonly assurance: Assurance | null;
  /** Secrets whose values a caller wrote itself: they were seen somewhere, or guessed. */
  readonly typed_secrets?: readonly string[];
  /** In the answer of `session.info`. */
  readonly environment?: EnvironmentView;
}

export interface ExecParams {
  readonly session_id: SessionId;
  readonly command: string;
  /** What `command` is; default `shell`. A Python script runs in a directory of its own. */
  readonly language?: Language;
  readonly cwd?: string;
  /** A directory that `cwd` must not leave, by real path. */
  readonly cwd_within?: string;
  readonly timeout_s?: number;
  readonly timeout_ms?: number;
  readonly idle_timeout_ms?: number;
  /** From TERM to KILL when it is ended; default 5 s. */
  readonly grace_ms?: number;
  readonly stdin?: string;
  readonly stdin_encoding?: 'utf8' | 'base64';
  /** Keep stdin open for `exec.write`. */
  readonly stdin_open?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  /** Names of secrets and of the runtime's variables that this command gets. */
  readonly env_keys?: readonly string[];
  /** `digest`s of redactions that its output is to show: a person is asked. At most 100. */
  readonly reveal?: readonly string[];
  readonly pty?: { readonly columns: number; readonly rows: number };
  readonly limits?: LimitParams;
  readonly exec_key?: string;
  /** Bytes a stream in the answer; default 4 MiB. */
  readonly output_bytes?: number;
  /** How long to wait for a person when one must decide; default 0: answers at once. */
  readonly wait_ms?: number;
  /** For this command; default the session's. */
  readonly workspace_mode?: WorkspaceMode;
  /** A profile that this command must pass besides the session's and the runtime's policy. */
  readonly policy?: PolicyProfile;
}

/** The answer to one command. Its output is redacted; counts and offsets are those of that. */
export interface Receipt extends ReceiptChanges {
  readonly exec_id: ExecId;
  readonly session_id: SessionId;
  readonly stdout: string;
  readonly stderr: string;
  readonly stdout_encoding?: 'base64';
  readonly stderr_encoding?: 'base64';
  readonly exit_code: number;
  readonly signal: string | null;
  readonly duration_ms: number;
  readonly timed_out: boolean;
  readonly stopped: StopReason | null;
  /** Whether bytes are missing from `stdout` or `stderr`; the counts say how many. */
  readonly truncated: boolean;
  readonly stdout_bytes: number;
  readonly stderr_bytes: number;
  /** Bytes left out between the head and the tail kept of each stream. */
  readonly stdout_omitted_bytes: number;
  readonly stderr_omitted_bytes: number;
  readonly started_at: string;
  readonly cwd: string | null;
  readonly cwd_fallback?: string;
  readonly state_captured: boolean;
  readonly state_dropped: readonly { readonly name: string; readonly reason: string }[];
  readonly ended_background: number;
  readonly survivors: readonly number[];
  /** Protected paths the command created or replaced; they were put back as they were. */
  readonly reverted: readonly string[];
  readonly sandbox: {
    readonly kind: SandboxKind;
    readonly level: Assurance['level'];
    readonly network: 'off' | 'on';
    readonly share_cache?: readonly CacheTool[];
    readonly warm: boolean;
  };
  readonly limits: readonly EnforcedLimit[];
  readonly verdict: Verdict;
  readonly plan_digest: string;
  /** Where the audit log tells of its end; `null`: it does not, and need not. */
  readonly audit: AuditMarkView | null;
  /** What was hidden in the output; `null`: redaction failed, and output is missing. */
  readonly redactions: RedactionSummary | null;
  /** Plain sentences that help: how to keep a background child, what a 127 could not see. */
  readonly hints: readonly string[];
  /** What to change before it fails: one sentence each, with the variable's name. */
  readonly warnings: readonly string[];
}

export interface ExecView {
  readonly exec_id: ExecId;
  readonly session_id: SessionId;
  /** `waiting`: a person must decide first. `refused`: they did not say yes, so it never ran. */
  readonly state: 'waiting' | 'running' | 'exited' | 'lost' | 'refused';
  readonly approval_id?: ApprovalId;
  readonly mode: 'foreground' | 'detached';
  /** Present where it has a terminal of its own. */
  readonly pty?: true;
  readonly command: string;
  readonly started_at: string;
  readonly journal_from: number;
  readonly journal_bytes: number;
  readonly exit_code?: number;
  /** Why there is no receipt: of one that was refused or lost. */
  readonly error?: WireError;
  readonly receipt?: Omit<Receipt, 'stdout' | 'stderr'>;
}

export interface ExecReadParams {
  readonly exec_id: ExecId;
  readonly from?: number;
  readonly max?: number;
  readonly wait_ms?: number;
  /** Keep only lines that contain this text. */
  readonly grep?: string;
  /** Only the last so many lines. */
  readonly tail?: number;
  /** What is waited for: this text from `from` on; `''`: the end. Default: any output. */
  readonly until?: string;
}
export interface ExecReadAnswer {
  readonly exec_id: ExecId;
  readonly from: number;
  /** Offset to ask for next. */
  readonly next: number;
  readonly chunks: readonly StreamChunk[];
  /** Present when bytes before `next` are no longer held. */
  readonly gap?: { readonly from: number; readonly to: number };
  /** With `grep` or `tail`: lines that are cut or left out, as they are over `max` together. */
  readonly omitted_lines?: number;
  /** With a text in `until`: whether it is there. */
  readonly found?: boolean;
  readonly state: ExecView['state'];
  readonly exit_code?: number;
}
export type StreamChunk =
  | { readonly seq: number; readonly stream: 'stdout' | 'stderr'; readonly data: string }
  | { readonly seq: number; readonly stream: 'stdout' | 'stderr'; readonly b64: string };

/** Event lines of a stream. The last one is `exit` (or `exit` with `lost:true`). */
export type StreamEvent = { readonly stream_id: ExecId } & (
  | StreamChunk
  | { readonly stream: 'gap'; readonly from: number; readonly to: number }
  | {
      readonly stream: 'status';
      readonly waiting_for_input: {
        readonly pid: number;
        readonly program: string;
        readonly certain: boolean;
      };
    }
  | ({ readonly seq: number; readonly stream: 'exit'; readonly lost?: false } & Omit<
      Receipt,
      'stdout' | 'stderr'
    >)
  | {
      readonly seq: number;
      readonly stream: 'exit';
      readonly lost: true;
      readonly error: WireError;
    }
);

/** What `exec.stream` and `exec.attach` answer before the first event. */
export interface StreamAnswer {
  readonly stream_id: ExecId;
  readonly exec_id: ExecId;
  /** Journal offset of the first byte that is sent, unless a gap is reported first. */
  readonly offset: number;
  /** On a connection with binary frames: the channel of the output frames. */
  readonly channel?: number;
}

/** What each method answers in `data`. */
export interface MethodAnswers
  extends
    SecretAnswers,
    WorkspaceAnswers,
    PublishAnswers,
    AuditAnswers,
    ConsoleAnswers,
    ToolAnswers {
  readonly 'session.create': SessionView;
  readonly 'session.list': { readonly sessions: readonly SessionView[] };
  readonly 'session.info': SessionView;
  readonly 'session.destroy': { readonly session_id: SessionId; readonly state: 'terminated' };
  readonly 'session.update': SessionView;
  readonly 'session.fork': SessionView;
  readonly 'session.state': {
    readonly session_id: SessionId;
    readonly cwd: string | null;
    readonly names: readonly string[];
  };
  readonly 'exec.run': Receipt;
  readonly 'exec.stream': StreamAnswer;
  readonly 'exec.start': { readonly exec_id: ExecId; readonly session_id: SessionId };
  readonly 'exec.attach': StreamAnswer;
  readonly 'exec.read': ExecReadAnswer;
  readonly 'exec.write': { readonly exec_id: ExecId; readonly bytes: number };
  readonly 'exec.resize': { readonly exec_id: ExecId };
  readonly 'exec.cancel': { readonly stopped: readonly ExecId[] };
  readonly 'exec.lease': ExecLeaseAnswer;
  readonly 'exec.list': { readonly execs: readonly ExecView[] };
  readonly 'exec.info': ExecView;
  readonly 'system.ping': { readonly uptime_s: number; readonly version: string };
  readonly 'system.stats': {
    readonly active_sessions: number;
    readonly total_commands_run: number;
    readonly uptime_s: number;
    readonly memory_rss_bytes: number;
    /** Descriptors that the daemon has open; `null`: the system does not say. */
    readonly open_fds: number | null;
  };
  readonly 'system.metrics': MetricsView;
  /** `frames: "bin"`: everything after this answer is binary frames, in both directions. */
  readonly 'system.hello': {
    readonly version: string;
    readonly protocol: 'trl/2';
    readonly features: readonly string[];
    readonly frames: 'lines' | 'bin';
    /** Present when it was asked for, with frames: see `docs/protocol.md`. */
    readonly window_bytes?: number;
  };
  readonly 'system.watch': FeedAnswer;
  readonly 'runtime.list': { readonly runtimes: readonly RuntimeView[] };
  readonly 'policy.explain': Verdict;
  readonly 'approval.list': { readonly approvals: readonly ApprovalView[] };
  readonly 'approval.get': ApprovalView;
  readonly 'approval.decide': ApprovalView;
  readonly 'approval.watch': ApprovalWatchAnswer;
  readonly 'approval.status': ApprovalStatus;
}

/** A place where commands run. */
export interface RuntimeView {
  readonly runtime_id: string;
  readonly kind: 'local';
  readonly platform: string;
  readonly version: string;
  readonly uptime_s: number;
  readonly active_sessions: number;
}

/** Without a session the text stands alone: nothing is looked up, and the notes say so. */
export interface PolicyExplainParams {
  readonly command: string;
  readonly session_id?: SessionId;
  /** Default `bash`; of a session it is the session's own. */
  readonly shell?: JudgedShell;
}
