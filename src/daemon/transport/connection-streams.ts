/** The executions that one connection follows, each on its own channel. */
import type { Caller, ExecId } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import type { ChunkEncoding } from '../../protocol/chunks.ts';
import type { StreamAnswer } from '../../api/exec.ts';
import type { Runtime } from '../runtime.ts';
import { toWireError } from './reply-messages.ts';
import type { ReplyContext } from './reply-messages.ts';
import { ConnectionOutputSink } from './output-sink.ts';
import type { ConnectionWriter } from './connection-writer.ts';

/** How many executions one connection may follow at the same time. */
const streamsMax = 256;
const channelMax = 65_535;

export interface ConnectionStreamsOptions {
  readonly runtime: Runtime;
  readonly caller: Caller;
  readonly writer: ConnectionWriter;
  readonly replyContext: ReplyContext;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  /** Called after each stream ends. Must not throw. */
  readonly ended: () => void;
}

/** A stream whose answer is not sent yet: `start` sends the first event, after the answer. */
export interface AnnouncedStream {
  readonly answer: StreamAnswer;
  readonly start: () => void;
}

export class ConnectionStreams {
  readonly #options: ConnectionStreamsOptions;
  readonly #byChannel = new Map<number, ExecId>();
  #lastChannel = 0;

  constructor(options: ConnectionStreamsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#byChannel.size;
  }

  /** The execution that uses `channel`. */
  on(channel: number): ExecId | undefined {
    return this.#byChannel.get(channel);
  }

  /**
   * Reserves a channel for an execution; the caller must start every announced stream.
   *
   * @throws TrlError `INVALID_PARAMS` if the connection already follows the execution (events
   *   carry only the execution's id); `QUOTA_EXCEEDED` if it follows the maximum number.
   */
  announce(execId: ExecId, from: number, form: ChunkEncoding): AnnouncedStream {
    const { writer, replyContext } = this.#options;
    if ([...this.#byChannel.values()].includes(execId)) {
      throw new TrlError('INVALID_PARAMS', `Cannot follow ${execId}: this connection does already`);
    }
    if (this.#byChannel.size >= streamsMax) {
      const reason = `this connection follows ${streamsMax} already`;
      throw new TrlError('QUOTA_EXCEEDED', `Cannot follow ${execId}: ${reason}`);
    }
    const channel = this.#freeChannel();
    this.#byChannel.set(channel, execId);
    const { masking } = replyContext;
    const sink = new ConnectionOutputSink({ writer, masking, execId, form, channel, from });
    const answer = { stream_id: execId, exec_id: execId, offset: from };
    return {
      answer: writer.inFrames ? { ...answer, channel } : answer,
      start: () => void this.#follow({ execId, from, sink, channel }),
    };
  }

  async #follow(stream: {
    execId: ExecId;
    from: number;
    sink: ConnectionOutputSink;
    channel: number;
  }): Promise<void> {
    const { runtime, caller, signal, replyContext, ended } = this.#options;
    const { execId, from, sink, channel } = stream;
    try {
      if (!signal.aborted) await runtime.execs.follow(caller, execId, { from, sink, signal });
      if (!sink.ended && !signal.aborted) throw new Error(`the stream of ${execId} has no end`);
    } catch (error) {
      if (!signal.aborted) sink.lose(toWireError('the stream', error, replyContext));
    }
    this.#byChannel.delete(channel);
    ended();
  }

  /** All numbers are used before one is reused, so that a late frame reaches no other stream. */
  #freeChannel(): number {
    do this.#lastChannel = (this.#lastChannel % channelMax) + 1;
    while (this.#byChannel.has(this.#lastChannel));
    return this.#lastChannel;
  }
}
