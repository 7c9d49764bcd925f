/**
 * What the audit log says. No value of a variable or secret is in an event, and every text that a
 * caller or a command made was masked before (`RedactedText`).
 */
import type { ExecId, SessionId } from '../command.ts';

/** What canonical JSON can hold. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [name: string]: Json | undefined };

/** Kinds of events by what they are about; a log may hold kinds that a reader does not know. */
const eventKinds = [
  // The log itself. `opened` is its first event and that of each process that goes on with it.
  'log.opened',
  'log.repaired',
  'log.interrupted',
  'config.loaded',
  'policy.loaded',
  'policy.refused',
  'session.created',
  'session.updated',
  'session.destroyed',
  // One command, in this order. Durable before the spawn: up to `started`.
  'exec.requested',
  'exec.decided',
  'exec.planned',
  'exec.started',
  /** How much a caller wrote to it, each second in which there was some. */
  'exec.input',
  /** Running digests of a stream of redacted output, each second in which there was some. */
  'exec.output',
  // Durable before the receipt.
  'exec.ended',
  'exec.changed',
  /** The in-toto statement of the command in its DSSE envelope. */
  'exec.statement',
  /** Policy or a person said no; nothing ran. */
  'exec.refused',
  /** The infrastructure failed: nothing is known of the end, or nothing ran. */
  'exec.failed',
  'approval.requested',
  'approval.decided',
  'approval.used',
  'approval.ended',
  /** Sessions may work there from now on, or no longer. */
  'workspace.trusted',
  'workspace.forgotten',
  'workspace.opened',
  /** What waited or was undone reached the real tree. */
  'workspace.committed',
  'secret.set',
  'secret.deleted',
  'secret.requested',
  'secret.granted',
  /** A caller typed a known value. */
  'secret.typed',
  /** A caller asks for something that changes more than a command's own state. */
  'call.requested',
  'call.done',
  /** Not permitted to that caller, or not right. */
  'call.refused',
  'call.failed',
  // Who may speak to the runtime: by id, name and roles, never the token.
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
  /** Unix milliseconds, by the clock of who wrote it. */
  readonly at: number;
  /** Who did it: `agent:…`, `user:…`; `null`: the runtime itself. */
  readonly actor: string | null;
  readonly session?: SessionId | undefined;
  readonly exec?: ExecId | undefined;
  /** What there is to say of it, by kind; field names are `snake_case`, digests hex. */
  readonly data: { readonly [name: string]: Json | undefined };
}

/** Where an event lies for good: it is on disk, and a signed head covers it. */
export interface AuditPosition {
  /** 32 lower-case hex digits: which log of this machine. */
  readonly log: string;
  /** From 0. */
  readonly seq: number;
  /** SHA-256 of its leaf (RFC 6962), hex. */
  readonly leaf: string;
}

export interface AuditAppendOptions {
  /** The end of what runs already: it may use the room that is put by. Default: `false`. */
  readonly urgent?: boolean | undefined;
}

/** What writes events down. */
export interface AuditSink {
  /**
   * Answers when all of them are on disk under a signed head. They lie in this order, one after
   * another.
   *
   * @throws TrlError `AUDIT_UNAVAILABLE` when they cannot be written: then none of them counts, and
   *   what they permit must not happen
   */
  append(
    events: readonly AuditEvent[],
    options?: AuditAppendOptions,
  ): Promise<readonly AuditPosition[]>;
  /** The newest signed head, a signed note (C2SP `tlog-checkpoint`); `null` before the first. */
  head(): string | null;
}
