/** Reports approvals to one connection: `{"stream_id":"w-…","approval":{…}}`, until it closes. */
import { randomBytes } from 'node:crypto';
import type { Caller } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import type { ApprovalEvent, ApprovalWatchAnswer, ApprovalWatchId } from '../../api/approval.ts';
import type { Runtime } from '../runtime.ts';
import { CoalescingSender } from './coalescing-sender.ts';
import type { ConnectionWriter } from './connection-writer.ts';

export interface WatchOptions {
  readonly runtime: Runtime;
  readonly caller: Caller;
  readonly writer: ConnectionWriter;
  /** Aborts when the client disconnects; nothing else ends the stream. */
  readonly signal: AbortSignal;
}

export class ApprovalWatch {
  readonly #options: WatchOptions;
  #id: ApprovalWatchId | null = null;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  get isOn(): boolean {
    return this.#id !== null;
  }

  /**
   * The caller must call `start` after it has sent the answer; `start` sends the first events.
   *
   * @throws TrlError `INVALID_PARAMS` if the connection already watches approvals
   */
  announce(): { readonly answer: ApprovalWatchAnswer; readonly start: () => void } {
    if (this.#id !== null) {
      const message = 'Cannot watch approvals: this connection does already';
      throw new TrlError('INVALID_PARAMS', message);
    }
    const id: ApprovalWatchId = `w-${randomBytes(16).toString('hex')}`;
    this.#id = id;
    return { answer: { stream_id: id }, start: () => this.#start(id) };
  }

  #start(id: ApprovalWatchId): void {
    const { runtime, caller, signal } = this.#options;
    if (signal.aborted) return;
    const latest = new CoalescingSender({ ...this.#options, masking: runtime.masking });
    const stop = runtime.approvals.watchApprovals(caller, (approval) => {
      if (!runtime.gate.canSeeSession(caller, 'approval.watch', approval.session_id)) return;
      latest.put(approval.approval_id, (): ApprovalEvent => ({ stream_id: id, approval }));
    });
    signal.addEventListener('abort', stop, { once: true });
  }
}
