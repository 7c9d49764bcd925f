/** Launches that are prepared, and wait for `permit`: until it comes, nothing of a command runs. */
import type { ExecId, SessionId } from '../command.ts';
import type { KnownSecret } from '../redacted.ts';
import type { RedactionChannel } from './redactor-process.ts';

/** A command from its launch until it runs. */
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

/** Launches of one daemon that wait for its `permit`. */
export class PendingLaunches {
  readonly #waiting = new Map<ExecId, (isPermitted: boolean) => void>();
  #isClosed = false;

  /** Resolves with the value given to {@link settle}; `false` when its daemon is gone. */
  waitForCommit(id: ExecId): Promise<boolean> {
    if (this.#isClosed) return Promise.resolve(false);
    this.settle(id, false);
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  settle(id: ExecId, isPermitted: boolean): void {
    this.#waiting.get(id)?.(isPermitted);
    this.#waiting.delete(id);
  }

  /** Refuses all that wait. */
  close(): void {
    this.#isClosed = true;
    for (const id of this.#waiting.keys()) this.settle(id, false);
  }
}
