/** Launches that wait for `permit`: until it comes, nothing of the command runs. */
import type { ExecId } from '../command.ts';

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
