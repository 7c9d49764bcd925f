/**
 * Types that every part shares; no behaviour. The stages of one command:
 * Request → Caller → Facts → Verdict → Plan → ApprovedPlan → Exit → Receipt.
 */
import type { SharedTree } from './caches.ts';
import type {
  ConnectionSummary,
  EgressRules,
  NetworkAccess,
  BridgedView,
} from './network-access.ts';
import type { RawLog, RedactionSummary } from './redacted.ts';

/** `s-` and 32 lower-case hex digits (128 random bits). */
export type SessionId = `s-${string}`;
/** `x-` and 32 lower-case hex digits (128 random bits). */
export type ExecId = `x-${string}`;
/** `a-` and 32 lower-case hex digits (128 random bits). */
export type ApprovalId = `a-${string}`;

/**
 * States of a question to a person. `pending` → `approved` → `used`; or `denied` by a person,
 * `expired` (a denial too: nobody decided, or what was approved did not start in time), `cancelled`
 * by who asked, `superseded` by a question about what changed. Nothing leaves the last five.
 */
export const approvalStates = [
  'pending',
  'approved',
  'used',
  'denied',
  'expired',
  'cancelled',
  'superseded',
] as const;
export type ApprovalState = (typeof approvalStates)[number];

/** The shipped policies, from loosest to strictest. */
export const policyProfiles = ['trusted', 'auto', 'guarded', 'locked'] as const;
export type PolicyProfile = (typeof policyProfiles)[number];

/** Languages whose texts a policy judges. */
export const judgedShells = ['bash', 'posix', 'zsh', 'powershell', 'cmd', 'python'] as const;
export type JudgedShell = (typeof judgedShells)[number];

/** What the text of a command is: for the session's shell, or a Python script. */
export const languages = ['shell', 'python'] as const;
export type Language = (typeof languages)[number];

/** Who asks. */
export interface Caller {
  readonly actor: string;
  readonly kind: 'agent' | 'person';
  /** What says who it is: the kernel (socket), its pipes, a token, a login of the console. */
  readonly authenticatedBy: 'socket-owner' | 'parent-process' | 'token' | 'login';
  readonly roles: readonly Role[];
  /** The script of this caller that calls in its place. */
  readonly within?: ExecId;
  /** The client of the socket that calls, by an id of all its connections. */
  readonly client?: string;
  /** Which token or login it is, by an id that proves nothing; absent: none that can end. */
  readonly credential?: string;
  /** How the person was proved whose token or login it is; absent: nobody was. */
  readonly proof?: 'passphrase' | 'same_uid';
}
export type Role = 'agent' | 'approver' | 'auditor' | 'admin';

/** One path rule set: an entry is a path or a glob; `workspace/grants.ts` says which one wins. */
export interface PathRules {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

/** Which files beyond the system directories a session may see and change. */
export interface FileGrants {
  readonly read: PathRules;
  readonly write: PathRules;
}

/** What a session may use; every field has a default in `limits.ts` or here. */
export interface Grants {
  readonly files: FileGrants;
  readonly network: NetworkAccess;
  /** Host rules that were requested, in their normal form and in order; absent: none. */
  readonly hosts?: readonly string[];
  readonly sandbox: SandboxKind;
}

export type SandboxKind = 'bubblewrap' | 'none';

/** The bounds of one command. `null` means not bounded. */
export interface Bounds {
  readonly timeoutMs: number | null;
  readonly idleTimeoutMs: number | null;
  /** From TERM to KILL. */
  readonly graceMs: number;
  readonly cpuSeconds: number | null;
  readonly processesMax: number | null;
  readonly openFilesMax: number | null;
  readonly fileBytesMax: number | null;
  readonly memoryBytesMax: number | null;
  /** Whether the memory bound was asked for by name: then it is enforced or the command refused. */
  readonly memoryRequired: boolean;
  readonly addressSpaceBytesMax: number | null;
  readonly journalBytesMax: number;
}

export type ShellDialect = 'bash' | 'posix' | 'zsh';
export interface Shell {
  readonly path: string;
  readonly dialect: ShellDialect;
}

/** What carries from one command of a session to the next. */
export type StatePersistence = 'none' | 'cwd+env' | 'shell';

/** One command as the caller put it, parsed and trusted in shape only. */
export interface CommandRequest {
  readonly command: string;
  /** Default: `shell`. */
  readonly language?: Language;
  readonly cwd: string | null;
  /** The directory that `cwd` must not leave, by real path; absent: the workspace. */
  readonly cwdWithin?: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: StdinChoice;
  readonly pty: { readonly columns: number; readonly rows: number } | null;
  readonly bounds: Partial<Bounds>;
  /** `foreground` makes the session busy and carries state back; `detached` does neither. */
  readonly mode: 'foreground' | 'detached';
  readonly execKey: string | null;
}
export type StdinChoice =
  | { readonly kind: 'closed' }
  | { readonly kind: 'bytes'; readonly base64: string }
  | { readonly kind: 'open' };

/**
 * One rule that decided, and everything that the agent, the person and the audit log learn of it.
 */
export interface DecidingRule {
  /** Stable and dotted, class first: `fs.rm-rf`, `shell.several`, `allow.git.status`. */
  readonly id: string;
  readonly decision: 'allow' | 'ask' | 'block';
  /** One clause: `deletes a tree by force`. */
  readonly reason: string;
  /** UTF-16 offsets `[from, to)` in the command's text, or `null` where no part of it is meant. */
  readonly span: readonly [number, number] | null;
  /** Through which wrappers it was reached, outermost first. */
  readonly via: readonly string[];
  /** What was found, decoded, or `null`. */
  readonly evidence: string | null;
  /** What to do in its place, one sentence, or `null`. */
  readonly instead: string | null;
}

/** Three verdicts; the strictest rule wins and every verdict names its rules. */
export interface Verdict {
  readonly decision: 'allow' | 'ask' | 'block';
  readonly rules: readonly DecidingRule[];
  /** Which policy decided: its name and the digest of all that it consists of. */
  readonly policy: { readonly name: string; readonly version: string };
  /** What is started in place of a shell, when an allow rule accepted a single plain command. */
  readonly runs: readonly string[] | null;
  /** What the decision could not look at, one sentence each: `no workspace: text alone`. */
  readonly notes: readonly string[];
}

/**
 * Everything that would be done, as a value: it is shown, hashed, approved and sent as it is to
 * the runner. Field names are the runner's wire. Values of carried variables are not in it: they
 * live in the runner's memory only.
 */
export interface Plan {
  readonly exec_id: ExecId;
  readonly session_id: SessionId;
  readonly command: string;
  /**
   * What is started in place of a shell, its program as an absolute path; `null`: the shell takes
   * `command`. Then carried variables are not passed on, only the session's directory.
   */
  readonly argv: readonly [string, ...string[]] | null;
  /**
   * `command` is a Python script: it runs in `cwd`, a directory of its own that ends with it, and
   * carries no state back. Absent: the shell takes `command`.
   */
  readonly language?: 'python';
  readonly shell: Shell;
  /** Absolute path inside the sandbox; `null`: where the session's last command ended. */
  readonly cwd: string | null;
  /** `cwd` has no link in it: a command that finds one there on its way does not start. */
  readonly cwd_is_real?: true;
  /** Where to start when the session's directory is gone. */
  readonly cwd_fallback: string;
  /** Variables of runtime and session level. */
  readonly env: Readonly<Record<string, string>>;
  /** Variables of this command only: they never carry. */
  readonly command_env: Readonly<Record<string, string>>;
  readonly carry: StatePersistence;
  /** Values that its output shows although they look like secrets, by digest; absent: none. */
  readonly reveal?: readonly string[];
  /** File mode mask; absent: 022. */
  readonly umask?: number;
  readonly mode: 'foreground' | 'detached';
  readonly stdin: StdinChoice;
  readonly pty: { readonly columns: number; readonly rows: number } | null;
  readonly bounds: Bounds;
  /** What it may reach through the bridge; absent: there is no bridge. */
  readonly egress?: EgressRules;
  readonly box: Box;
}

/** What holds the command. */
export type Box =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'bubblewrap';
      readonly holder: SandboxNamespace;
      /** Arguments of the command's own bubblewrap, up to but without `--`. */
      readonly args: readonly string[];
      /** Seccomp program (`struct sock_filter[]`), base64. */
      readonly seccomp: string;
    };

/**
 * The layers that are mounted in a workspace's place: commands see `upper` over `mask` over `tree`
 * and write `upper` only. All are absolute paths of the host; none of them is visible inside.
 */
export interface Overlay {
  /** Sessions of one view share one mount of it; a box for one command has a mount of its own. */
  readonly view: string;
  /** The workspace, by real path. */
  readonly tree: string;
  /** `dev:ino` of `tree` in decimal digits, as it was surveyed: no other may be mounted. */
  readonly place: string;
  /**
   * A directory of whiteouts and of directories that lead to them, else `null`. Owners and modes on
   * disk are those of the tree: a directory is shown with the mask's.
   */
  readonly mask: string | null;
  /** The layer of the session, which a command with its own sees and leaves as it is. */
  readonly below?: string;
  /**
   * Of commands that wrote, beside each other in one private directory. Both are made when they are
   * missing. Files in `upper` belong on disk to the holder's `hostUid` and `hostGid`.
   */
  readonly upper: string;
  readonly work: string;
}

/** The session's user, network and mount namespace, made once and kept as descriptors. */
export interface SandboxNamespace {
  /** SHA-256 of the rest: two holders of equal id are interchangeable within a session. */
  readonly id: string;
  /**
   * `user`: made with the rights of an ordinary user. `root-idmap`: root binds `staged` trees
   * idmapped, then everything runs as host uid `hostUid`. `root-uid`: uid 0 without capabilities.
   */
  readonly level: 'user' | 'root-idmap' | 'root-uid';
  /** Host uid and gid that run the sandbox; inside it is `insideUid`. */
  readonly hostUid: number;
  readonly hostGid: number;
  readonly insideUid: number;
  readonly insideGid: number;
  /** An absolute directory used as the private mount point of staged trees. */
  readonly stage: string;
  /**
   * Trees bound at `<stage>/<index>` before bubblewrap starts: idmapped with `root-idmap`, as they
   * are where there is an overlay. Else empty.
   */
  readonly staged: readonly {
    readonly source: string;
    readonly writable: boolean;
    /** Uid and gid of the tree on disk that become the sandbox's own. */
    readonly uid: number;
    readonly gid: number;
  }[];
  /** What replaces the workspace, at `<stage>/tree`; `null`: the workspace itself. */
  readonly overlay: Overlay | null;
  /** Trees of the host with a layer of the holder's own above; absent: none. */
  readonly shared?: readonly SharedTree[];
  /** Its network namespace leads to hosts through the bridge; absent: no. */
  readonly bridged?: BridgedView;
  /** Made for one command beside the session's own holder, and let go of once it is inside. */
  readonly once: boolean;
  /** Arguments of the holder's bubblewrap, up to but without `--`. */
  readonly args: readonly string[];
  /** Small files written into the view; `fd` is the number `args` refers to (from 20 upwards). */
  readonly files: readonly { readonly fd: number; readonly base64: string }[];
  /** Absolute paths. `nsenter` and `perl` are the host's, `bwrap` exists in the view too. */
  readonly tools: {
    readonly bwrap: string;
    readonly nsenter: string;
    readonly perl: string | null;
  };
}

declare class Approved {
  private readonly approved: true;
}
/** Passed policy and, where asked, a person. Minted only by `approval/`; a spread of it is none. */
export type ApprovedPlan = Approved & {
  readonly plan: Plan;
  /** SHA-256 (hex) of `canonical`. */
  readonly digest: string;
  /** Canonical JSON of the plan with the box's digest in place of the box. */
  readonly canonical: string;
  readonly box: CanonicalBox;
};

/** A box as text, under the SHA-256 (hex) of it. */
export interface CanonicalBox {
  readonly digest: string;
  readonly canonical: string;
}

/** Why a command was ended by the runtime rather than by itself. */
export type StopReason =
  | 'timeout'
  | 'idle-timeout'
  | 'cancelled'
  | 'session-destroyed'
  | 'shutdown'
  /** Its output could not be redacted any more, so none of it is given out. */
  | 'redaction-failed'
  /** What it did could not be recorded any more. */
  | 'audit-failed';

/** SHA-256 (hex) of the redacted bytes of each stream, all that ever came. */
export interface OutputDigests {
  readonly stdout_sha256: string;
  readonly stderr_sha256: string;
}

/** What a running command has printed so far, redacted. */
export interface OutputProgress extends OutputDigests {
  readonly exec_id: ExecId;
  readonly session_id: SessionId;
  readonly stdout_bytes: number;
  readonly stderr_bytes: number;
}

/** How one command ended, as the runner saw it. `exit_code` comes from a wait, never made up. */
export interface Exit extends OutputDigests {
  readonly exec_id: ExecId;
  readonly session_id: SessionId;
  /** 0–255; 124 after a time-out; 128+n after signal n. */
  readonly exit_code: number;
  /** `SIGKILL` … or `null`. */
  readonly signal: string | null;
  readonly timed_out: boolean;
  readonly stopped: StopReason | null;
  /** Unix milliseconds. */
  readonly started_at: number;
  readonly ended_at: number;
  readonly duration_ms: number;
  /** Bytes of redacted output, per stream, and the end of the journal. */
  readonly stdout_bytes: number;
  readonly stderr_bytes: number;
  readonly journal_bytes: number;
  /** First journal offset still held. */
  readonly journal_from: number;
  readonly cwd: string | null;
  readonly state_captured: boolean;
  readonly state_names: readonly string[];
  readonly state_dropped: readonly { readonly name: string; readonly reason: string }[];
  /** Where the command started when the session's directory was gone, else `null`. */
  readonly cwd_fallback: string | null;
  /** The directory asked for did not exist inside, so nothing ran. */
  readonly cwd_missing: boolean;
  /** Processes still alive when the shell ended; all were ended with it. */
  readonly ended_background: number;
  /** Processes that could not be confirmed gone. Empty in a sandbox. */
  readonly survivors: readonly number[];
  /** What it connected to through the bridge, and what was refused; absent: there is no bridge. */
  readonly connections?: readonly ConnectionSummary[];
  /** Whether the sandbox had been prepared ahead. */
  readonly warm: boolean;
  readonly limits: readonly EnforcedLimit[];
  /** What was hidden; `null`: redaction failed, and output is missing. */
  readonly redactions: RedactionSummary | null;
  /** `null`: there are no recipients, or nothing was printed. */
  readonly raw_log: RawLog | null;
}

/** A bound, its value and how it was enforced. */
export interface EnforcedLimit {
  readonly name: string;
  readonly value: number;
  readonly by: 'runtime' | 'setrlimit' | 'cgroup-v1' | 'cgroup-v2' | 'tmpfs' | 'none';
  /** Whether it ended or cut something; `null` where the kernel does not tell. */
  readonly hit: boolean | null;
}

/** What a probe found enforced, from strongest to weakest. */
export type AssuranceLevel = 'full' | 'root-uid' | 'none';
export interface Assurance {
  readonly level: AssuranceLevel;
  readonly checks: readonly { readonly name: string; readonly enforced: boolean }[];
}
