/** A command from its launch until it runs: made ready, then waiting for its daemon's word. */
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

  /** Where what it prints goes, from here on. */
  attachOutput(redaction: RedactionChannel): void {
    this.#redaction = redaction;
    if (this.#learnt.length > 0) redaction.learn(this.#learnt);
  }

  /** It is not to run, whatever its daemon says of it. */
  cancel(): void {
    this.#withdrawn.resolve(false);
  }

  isCommitted(permitted: Promise<boolean>): Promise<boolean> {
    return Promise.race([this.#withdrawn.promise, permitted]);
  }
}
