/**
 * The events of the audit log. None has the value of a variable or secret, and every text of a
 * caller or a command is masked before (`RedactedText`).
 */
import type { ExecId, SessionId } from '../command.ts';

/** What canonical JSON can represent. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [name: string]: Json | undefined };

/** Kinds of events by subject; a log may have kinds that a reader does not know. */
const eventKinds = [
  // The log itself. `opened` is the first event of each process that writes it.
  'log.opened',
  'log.repaired',
  'log.interrupted',
  'config.loaded',
  'policy.loaded',
  'policy.refused',
  'session.created',
  'session.updated',
  'session.destroyed',
  'session.host_blocked',
  'session.port_shown',
  'session.port_hidden',
  // One command, in this order. Durable before the spawn: up to `started`.
  'exec.requested',
  'exec.decided',
  'exec.planned',
  'exec.started',
  /** How much a caller wrote to it, once a second while there is input. */
  'exec.input',
  /** Running digests of a stream of redacted output, once a second while there is output. */
  'exec.output',
  /** Connections to one host and port through the bridge, allowed or not; at the end. */
  'exec.connected',
  // Durable before the receipt.
  'exec.ended',
  'exec.changed',
  /** The in-toto statement of the command in its DSSE envelope. */
  'exec.statement',
  /** Policy blocked it or a person denied it; nothing ran. */
  'exec.refused',
  /** The infrastructure failed: the end is unknown, or nothing ran. */
  'exec.failed',
  'approval.requested',
  'approval.decided',
  'approval.used',
  'approval.ended',
  /** Sessions may work there from now on, or no longer. */
  'workspace.trusted',
  'workspace.forgotten',
  'workspace.opened',
  /** Held or undone changes were applied to the real tree. */
  'workspace.committed',
  'secret.set',
  'secret.deleted',
  'secret.requested',
  'secret.granted',
  /** A caller typed a known value. */
  'secret.typed',
  /** A caller requests something that changes more than a command's own state. */
  'call.requested',
  'call.done',
  /** The caller lacks permission, or the request is invalid. */
  'call.refused',
  'call.failed',
  // Who may use the runtime: by id, name and roles, never the token.
  'token.created',
  'token.revoked',
  /** A person opened the console by the link of `trl console`. */
  'login.opened',
  'publication.checked',
  'publication.published',
  'publication.blocked',
  'raw-log.revealed',
  'raw-log.shredded',
] as const;
export type EventKind = (typeof eventKinds)[number];

export interface AuditEvent {
  readonly kind: EventKind;
  /** Unix milliseconds, by the clock of the writer. */
  readonly at: number;
  /** `agent:…`, `user:…`; `null`: the runtime itself. */
  readonly actor: string | null;
  readonly session?: SessionId | undefined;
  readonly exec?: ExecId | undefined;
  /** Details by kind; field names are `snake_case`, digests hex. */
  readonly data: { readonly [name: string]: Json | undefined };
}

/** The final position of an event: it is on disk, and a signed head covers it. */
export interface AuditPosition {
  /** 32 lower-case hex digits: the log on this machine. */
  readonly log: string;
  /** From 0. */
  readonly seq: number;
  /** SHA-256 of its leaf (RFC 6962), hex. */
  readonly leaf: string;
}

export interface AuditAppendOptions {
  /** The end of a running command: it may use the reserve. Default: `false`. */
  readonly urgent?: boolean | undefined;
}

/** Writes events. */
export interface AuditSink {
  /**
   * Resolves when all of them are on disk under a signed head, in this order and without others in
   * between.
   *
   * @throws TrlError `AUDIT_UNAVAILABLE` if they cannot be written: then none of them counts, and
   *   what they permit must not happen
   */
  append(
    events: readonly AuditEvent[],
    options?: AuditAppendOptions,
  ): Promise<readonly AuditPosition[]>;
  /** The newest signed head, a signed note (C2SP `tlog-checkpoint`); `null` before the first. */
  head(): string | null;
}
