/**
 * Records input to running commands once a second: how much and from whom. Neither the bytes nor
 * their digest is recorded: a typed password could be guessed from a digest.
 */
import type { Caller, ExecId, SessionId } from '../../command.ts';
import type { Masking } from '../secrets/masking.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { recordTypedSecrets } from '../secrets/typed-secrets.ts';
import type { Auditing } from './auditing.ts';

export interface InputAuditParts {
  readonly sessions: Sessions;
  readonly auditing: Auditing;
  readonly masking: Pick<Masking, 'look'>;
  readonly log: (text: string) => void;
}

interface Written {
  readonly actor: string;
  readonly session: SessionId;
  bytes: number;
  isEnd: boolean;
}

const everyMs = 1_000;

export class InputAudit {
  readonly #parts: InputAuditParts;
  readonly #written = new Map<ExecId, Written>();
  #timer: NodeJS.Timeout | null = null;

  constructor(parts: InputAuditParts) {
    this.#parts = parts;
  }

  /** Input is checked as a command's text is: a known value in it may be a guess. */
  recordInput(
    { actor }: Caller,
    { id, sessionId }: { readonly id: ExecId; readonly sessionId: SessionId },
    input: { readonly data: Uint8Array; readonly eof: boolean },
  ): void {
    const session = this.#parts.sessions.find(sessionId);
    const { names } = this.#parts.masking.look(Buffer.from(input.data).toString('latin1'));
    if (session !== null && names.length > 0) recordTypedSecrets(session, names, this.#parts);
    const before = this.#written.get(id);
    if (before !== undefined && before.actor !== actor) this.#record();
    const written = this.#written.get(id) ?? { actor, session: sessionId, bytes: 0, isEnd: false };
    written.bytes += input.data.length;
    written.isEnd ||= input.eof;
    this.#written.set(id, written);
    this.#timer ??= setTimeout(() => this.#record(), everyMs).unref();
  }

  /** Ends the recording: no more input arrives. */
  close(): void {
    this.#record();
  }

  #record(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    for (const [exec, { actor, session, bytes, isEnd }] of this.#written) {
      const data = { bytes, eof: isEnd };
      this.#parts.auditing.note({ kind: 'exec.input', actor, session, exec, data });
    }
    this.#written.clear();
  }
}
