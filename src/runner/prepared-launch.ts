/** A command from its launch until it runs: it is prepared, then waits for `permit`. */
import type { SessionId } from '../command.ts';
import type { KnownSecret } from '../redacted.ts';
import type { RedactionChannel } from './redactor-process.ts';

export class PreparedLaunch {
  readonly sessionId: SessionId;
  #learnt: readonly KnownSecret[] = [];
  #redaction: RedactionChannel | null = null;
  readonly #withdrawn = Promise.withResolvers<false>();

  constructor(sessionId: SessionId) {
    this.sessionId = sessionId;
  }

  /** Values that have become known meanwhile: its output must not show them. */
  learn(known: readonly KnownSecret[]): void {
    if (this.#redaction === null) this.#learnt = [...this.#learnt, ...known];
    else this.#redaction.learn(known);
  }

  /** The destination of its output from now on. */
  attachOutput(redaction: RedactionChannel): void {
    this.#redaction = redaction;
    if (this.#learnt.length > 0) redaction.learn(this.#learnt);
  }

  /** Cancels it, even if the daemon permits it. */
  cancel(): void {
    this.#withdrawn.resolve(false);
  }

  isCommitted(permitted: Promise<boolean>): Promise<boolean> {
    return Promise.race([this.#withdrawn.promise, permitted]);
  }
}
