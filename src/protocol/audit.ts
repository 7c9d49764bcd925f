/** The wire of the audit log: what is recorded, where it lies, whether it is as it was written. */
import type { ExecId, SessionId } from '../command.ts';

export interface AuditAnswers {
  readonly 'audit.list': AuditListAnswer;
  readonly 'audit.get': AuditEventView;
  readonly 'audit.verify': AuditVerifyAnswer;
}

/** One event, and where it lies. */
export interface AuditEventView {
  /** 32 lower-case hex digits: which log of the machine. */
  readonly log: string;
  /** From 0, in that log. */
  readonly seq: number;
  /** SHA-256 of its leaf (RFC 6962), hex. */
  readonly leaf: string;
  /** ISO 8601, by the clock of who wrote it. */
  readonly at: string;
  /** Dotted: `exec.ended`. Others than those that are documented may come. */
  readonly kind: string;
  /** `null`: the runtime itself. */
  readonly actor: string | null;
  readonly session_id?: SessionId;
  readonly exec_id?: ExecId;
  /** Of a publication without proof of a person: `{withheld:true}`. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** Without proof of a person `session_id` is needed. */
export interface AuditListParams {
  readonly session_id?: SessionId;
  readonly exec_id?: ExecId;
  /** Only these; `exec.*` stands for all that begin so. */
  readonly kinds?: readonly string[];
  readonly actor?: string;
  /** ISO 8601, both inclusive. */
  readonly since?: string;
  readonly until?: string;
  /** Default and most: `limits.auditListed`. */
  readonly limit?: number;
  /** Proves a person, who sees what others did. */
  readonly passphrase?: string;
}
export interface AuditListAnswer {
  /** Newest first. */
  readonly events: readonly AuditEventView[];
  /** Whether there are older ones; ask again with `until`. */
  readonly truncated: boolean;
}

export interface AuditGetParams {
  readonly log: string;
  readonly seq: number;
  /** Without proof of a person: the session that it is of. */
  readonly session_id?: SessionId;
  readonly passphrase?: string;
}
export interface AuditVerifyParams {
  /** Signed heads that were kept elsewhere, as in receipts. */
  readonly heads?: readonly string[];
  /** Proves a person. */
  readonly passphrase?: string;
}
export interface AuditVerifyAnswer {
  readonly good: boolean;
  /** Of logs that are not there, and of heads that another key signed. */
  readonly findings: readonly { readonly kind: string; readonly text: string }[];
  readonly logs: readonly AuditLogView[];
}
/** What a check of one log found. */
export interface AuditLogView {
  /** `null`: it has no head. */
  readonly log: string | null;
  readonly events: number;
  readonly heads: number;
  readonly bytes: number;
  /** The newest good one: worth keeping elsewhere. */
  readonly head: string | null;
  readonly good: boolean;
  /** The first of them; `finding_count` is all. */
  readonly findings: readonly {
    readonly kind: string;
    readonly segment: string | null;
    /** Byte in the segment. */
    readonly offset: number | null;
    readonly seq: number | null;
    /** One sentence. */
    readonly text: string;
  }[];
  readonly finding_count: number;
}

/**
 * Where an event lies in the audit log for good. Who keeps it keeps a head of the log elsewhere.
 */
export interface AuditMarkView {
  /** 32 lower-case hex digits: which log of the machine. */
  readonly log: string;
  readonly seq: number;
  /** SHA-256 of the event's leaf (RFC 6962), hex. */
  readonly leaf: string;
  /** The newest signed head above it, a signed note (C2SP `tlog-checkpoint`). */
  readonly head: string;
}
