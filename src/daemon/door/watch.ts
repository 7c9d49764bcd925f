/** Tells one connection of approvals: `{"stream_id":"w-…","approval":{…}}`, as long as it lasts. */
import { randomBytes } from 'node:crypto';
import type { Caller } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import type { ApprovalEvent, ApprovalView, WatchAnswer, WatchId } from '../../protocol/approval.ts';
import type { Runtime } from '../runtime.ts';
import type { Writer } from './writer.ts';

export interface WatchOptions {
  readonly runtime: Runtime;
  readonly caller: Caller;
  readonly writer: Writer;
  /** Aborted when the client is gone; the only end. */
  readonly signal: AbortSignal;
}

export class Watch {
  readonly #options: WatchOptions;
  /** What a slow reader has not been told, the latest of each approval. */
  readonly #waiting = new Map<string, ApprovalView>();
  #id: WatchId | null = null;
  #sending = false;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  get isOn(): boolean {
    return this.#id !== null;
  }

  /**
   * `start` sends the first events, after the answer has left; it must be called.
   *
   * @throws TrlError `INVALID_PARAMS` when the connection watches already
   */
  announce(): { readonly answer: WatchAnswer; readonly start: () => void } {
    if (this.#id !== null) {
      const message = 'Cannot watch approvals: this connection does already';
      throw new TrlError('INVALID_PARAMS', message);
    }
    const id: WatchId = `w-${randomBytes(16).toString('hex')}`;
    this.#id = id;
    return { answer: { stream_id: id }, start: () => this.#start(id) };
  }

  #start(id: WatchId): void {
    const { runtime, caller, signal } = this.#options;
    if (signal.aborted) return;
    const stop = runtime.approvals.watchApprovals(caller, (view) => {
      if (!runtime.gate.sees(caller, 'approval.watch', view.session_id)) return;
      this.#waiting.delete(view.approval_id);
      this.#waiting.set(view.approval_id, view);
      if (!this.#sending) void this.#send(id);
    });
    signal.addEventListener('abort', stop, { once: true });
  }

  /** Never rejects: what is written to a client that is gone is dropped. */
  async #send(id: WatchId): Promise<void> {
    const { writer, signal } = this.#options;
    this.#sending = true;
    for (;;) {
      await writer.ready();
      // Taken after the wait: meanwhile a later state of the same approval may have come.
      const [approval] = this.#waiting.values();
      if (approval === undefined || signal.aborted) break;
      this.#waiting.delete(approval.approval_id);
      const event: ApprovalEvent = { stream_id: id, approval };
      writer.message(this.#options.runtime.masking.json(event));
    }
    this.#sending = false;
  }
}
