/** Questions to a person on the wire, and their answers. */
import type { Binding, ContentRole } from '../binding.ts';
import type {
  ApprovalId,
  ApprovalState,
  Assurance,
  ExecId,
  FileGrants,
  SandboxKind,
  SessionId,
  ShellDialect,
  Verdict,
} from '../command.ts';

/** For how long a yes holds. */
export const answerScopes = ['once', 'session', 'project'] as const;
export type AnswerScope = (typeof answerScopes)[number];

/** What each of them means, as a person reads it. */
export const scopeMeanings = {
  once: 'this run alone',
  session: 'equal commands of this session, too',
  project: 'from now on, by the rule that is shown',
} as const satisfies Record<AnswerScope, string>;

/** One question to a person, and its answer. No variable's value is in it. */
export interface ApprovalView {
  readonly approval_id: ApprovalId;
  readonly exec_id: ExecId;
  readonly session_id: SessionId;
  readonly state: ApprovalState;
  /** SHA-256 (hex) of everything the answer binds; a decision names at least 8 digits of it. */
  readonly digest: string;
  readonly created_at: string;
  readonly expires_at: string;
  /** The actor that asked. */
  readonly requester: string;
  readonly asked: ApprovalSubjectView;
  readonly verdict: Verdict;
  /** `once`, or `session`: equal plans of the session run without asking again. */
  readonly scope?: AnswerScope;
  /** Of a question that is open: for how long policy lets a yes hold. */
  readonly scopes?: readonly AnswerScope[];
  readonly decided_at?: string;
  readonly decided_by?: string;
  /** Present when nothing but the user's uid proved who decided. */
  readonly same_uid?: true;
  /** What the person said. */
  readonly words?: string;
  readonly superseded_by?: ApprovalId;
  /** What changed since the approval that this question replaces, one sentence each. */
  readonly changes?: readonly string[];
}

/** What takes the text of a question: `command` is a shell's. */
export function approvalTextKind({
  language,
  tool,
}: Pick<ApprovalSubjectView, 'language' | 'tool'>): string {
  if (tool !== undefined) return `tool "${tool.name}", SHA-256 ${tool.sha256.slice(0, 16)}`;
  return language === 'python' ? 'Python script' : 'command';
}

/** What would be done, as a person sees it. */
export interface ApprovalSubjectView {
  /** The whole text, never cut. */
  readonly command: string;
  /** Present when `command` is a Python script; else the shell takes it. */
  readonly language?: 'python';
  /** Present when it is a registered tool: its name, and the SHA-256 (hex) of its file. */
  readonly tool?: { readonly name: string; readonly sha256: string };
  readonly shell: { readonly path: string; readonly dialect: ShellDialect };
  readonly mode: 'foreground' | 'detached';
  readonly cwd: string;
  readonly workspace: string | null;
  readonly network: 'off' | 'on';
  readonly sandbox: { readonly kind: SandboxKind; readonly level: Assurance['level'] };
  readonly files: FileGrants;
  readonly stdin: 'closed' | 'bytes' | 'open';
  /** Of a question that is open: what it gets there, while the runtime holds it. */
  readonly input?: ApprovalInputView;
  readonly pty: boolean;
  readonly timeout_ms: number | null;
  /** Names of the variables; their values are bound, never shown. */
  readonly variables: readonly string[];
  /** What the command names and would run; `null` where nothing was found. */
  readonly contents: readonly {
    readonly role: ContentRole;
    readonly name: string;
    readonly path: string | null;
    readonly sha256: string | null;
    /** Permission bits of a file or directory of the workspace. */
    readonly mode?: number;
  }[];
  /** The rule that an answer for the project makes; absent: no such answer is taken. */
  readonly rule?: string;
  /** How far the answer binds what it runs besides `contents`; absent: not at all. */
  readonly binding?: Binding;
  /** What is started in place of a shell, or `null`: the shell takes `command`. */
  readonly argv: readonly string[] | null;
}

/** What a person is told of what the answer does not name; `null`: nothing else is run. */
export function bindingText({ binding }: Pick<ApprovalSubjectView, 'binding'>): string | null {
  switch (binding?.kind) {
    case 'named':
      return null;
    case 'workspace': {
      const bound = `a yes binds all ${binding.entries} files of the workspace as they are`;
      const why = `${bound} (${binding.why})`;
      return `It may run files that it does not name, so ${why}, and none in HOME or /tmp`;
    }
    case 'unbound':
      return `WHAT IT RUNS IS NOT BOUND: it may change before it starts (${binding.why})`;
    case undefined:
      return 'WHAT IT RUNS IS NOT BOUND beyond the files that are shown';
  }
}

/** The beginning of what is given on standard input, known secrets masked. */
export interface ApprovalInputView {
  /** At most 8 Ki characters; bytes that are no text are spelled `\\xNN`. */
  readonly text: string;
  readonly bytes: number;
  /** Whether `text` is all of it. */
  readonly is_whole: boolean;
}

/** What a person is told of standard input besides its text; `null`: it is empty. */
export function inputHeading({
  stdin,
  input,
}: Pick<ApprovalSubjectView, 'stdin' | 'input'>): string | null {
  if (stdin === 'closed') return null;
  if (stdin === 'open') {
    return 'Its standard input stays open: what is written there while it runs is not asked about';
  }
  if (input === undefined) return 'It gets standard input, which is not held here';
  const all = input.is_whole ? '' : ', OF WHICH ONLY THE BEGINNING IS SHOWN';
  return `It gets on standard input (${input.bytes} bytes${all})`;
}

export interface ApprovalListParams {
  readonly state?: ApprovalState;
  readonly session_id?: SessionId;
}
export interface ApprovalDecideParams {
  readonly approval_id: ApprovalId;
  readonly decision: 'approve' | 'deny';
  /** Default `once`; one of the question's `scopes`. */
  readonly scope?: AnswerScope;
  /** For the agent and the record. */
  readonly words?: string;
  /** The first 8 or more digits of the digest that was seen. */
  readonly digest: string;
  /** Proves a person, where one is enrolled. */
  readonly passphrase?: string;
}
export interface ApprovalStatus {
  /** Whether a passphrase is set, so that every decision needs it. */
  readonly enrolled: boolean;
  /** Whether decisions without a passphrase are taken while none is set. */
  readonly same_uid_allowed: boolean;
}
/** What `approval.watch` answers before the first event; all pending approvals come first. */
export interface ApprovalWatchAnswer {
  readonly stream_id: ApprovalWatchId;
}
export type ApprovalWatchId = `w-${string}`;
export interface ApprovalEvent {
  readonly stream_id: ApprovalWatchId;
  readonly approval: ApprovalView;
}
