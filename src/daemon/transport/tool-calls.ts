/**
 * Sends the calls of the tools that one connection registered: `{"stream_id":"t-…","call":{…}}` for
 * each, which the client answers by `tool.answer`, and `{…,"cancel":{…}}` if the caller stops
 * waiting. The tools end with the connection.
 */
import { randomBytes } from 'node:crypto';
import { TrlError } from '../../errors.ts';
import type {
  ToolAnswerParams,
  ToolEvent,
  ToolRegisterParams,
  ToolStreamId,
  ToolStreamMessage,
} from '../../api/tool.ts';
import type { MethodAnswers } from '../../api/methods.ts';
import type { Runtime } from '../runtime.ts';
import type { ConnectionWriter } from './connection-writer.ts';

export interface ToolCallsOptions {
  readonly runtime: Runtime;
  readonly writer: ConnectionWriter;
  /** Aborted when the client is gone; the only end. */
  readonly signal: AbortSignal;
}

export class ToolCalls {
  readonly #options: ToolCallsOptions;
  readonly #id: ToolStreamId = `t-${randomBytes(16).toString('hex')}`;
  /** Calls that came before the answer to the registration had left. */
  #early: ToolEvent[] | null = [];
  #isOn = false;

  constructor(options: ToolCallsOptions) {
    this.#options = options;
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  /** The caller must call `start` after it has sent the answer; `start` sends the queued events. */
  async register(
    params: ToolRegisterParams,
  ): Promise<{ readonly answer: MethodAnswers['tool.register']; readonly start: () => void }> {
    const { runtime, signal } = this.#options;
    if (signal.aborted) throw new TrlError('BACKEND_UNAVAILABLE', 'The client is gone');
    const tell = (message: ToolStreamMessage): void =>
      this.#send({ stream_id: this.#id, ...message });
    await runtime.tools.register(params, { owner: this, listener: tell });
    if (!this.#isOn) {
      this.#isOn = true;
      signal.addEventListener('abort', () => runtime.tools.leave(this), { once: true });
    }
    // The client may have disconnected during the lookup of the name.
    if (signal.aborted) runtime.tools.leave(this);
    return { answer: { stream_id: this.#id }, start: () => this.#start() };
  }

  answer(params: ToolAnswerParams): MethodAnswers['tool.answer'] {
    this.#options.runtime.tools.answer(this, params);
    return { call_id: params.call_id };
  }

  #start(): void {
    const early = this.#early ?? [];
    this.#early = null;
    for (const event of early) this.#send(event);
  }

  #send(event: ToolEvent): void {
    if (this.#early !== null) this.#early.push(event);
    else this.#options.writer.message(this.#options.runtime.masking.json(event));
  }
}
