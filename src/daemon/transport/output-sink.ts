/** Sends one execution's output and events on a connection, as lines or as frames. */
import type { ExecId } from '../../command.ts';
import { frameTypes } from '../../frame.ts';
import type { RedactedBytes } from '../../redaction/redacted-text.ts';
import { ChunkWriter } from '../../protocol/chunks.ts';
import type { ChunkEncoding } from '../../protocol/chunks.ts';
import type { StreamChunk, StreamEvent } from '../../api/receipt.ts';
import type { WireError } from '../../api/answer-fields.ts';
import type { Masking } from '../secrets/masking.ts';
import type { OutputSink } from '../runtime.ts';
import type { ConnectionWriter } from './connection-writer.ts';

export interface StreamTarget {
  readonly writer: ConnectionWriter;
  readonly masking: Masking;
  readonly execId: ExecId;
  readonly form: ChunkEncoding;
  /** The channel of output frames; unused on a connection that uses lines. */
  readonly channel: number;
  readonly from: number;
}

type Body<Event> = Event extends unknown ? Omit<Event, 'stream_id'> : never;

/** A sink that tracks its position, so that a stream which fails still ends with `exit`. */
export class ConnectionOutputSink implements OutputSink {
  readonly #target: StreamTarget;
  readonly #chunks: ChunkWriter;
  #next: number;
  #ended = false;

  constructor(target: StreamTarget) {
    this.#target = target;
    this.#chunks = new ChunkWriter(target.form);
    this.#next = target.from;
  }

  get ended(): boolean {
    return this.#ended;
  }

  output(
    stream: 'stdout' | 'stderr',
    offset: number,
    bytes: RedactedBytes,
  ): Promise<void> | undefined {
    const { writer, channel } = this.#target;
    this.#next = offset + bytes.length;
    if (writer.inFrames) writer.output(frameTypes[stream], channel, offset, bytes);
    else this.#sendAll(this.#chunks.push(stream, offset, bytes));
    return writer.outputReady();
  }

  gap(from: number, to: number): void {
    this.#next = to;
    this.#sendAll(this.#chunks.flush());
    this.#send({ stream: 'gap', from, to });
  }

  waiting(info: { pid: number; program: string; certain: boolean }): void {
    this.#sendAll(this.#chunks.flush());
    this.#send({ stream: 'status', waiting_for_input: info });
  }

  exit(offset: number, end: Parameters<OutputSink['exit']>[1]): void {
    this.#ended = true;
    this.#sendAll(this.#chunks.flush());
    if ('code' in end) {
      this.#send({ seq: offset, stream: 'exit', lost: true, error: end });
    } else {
      this.#send({ seq: offset, stream: 'exit', ...end });
    }
  }

  /** Sends the last event of a stream that failed. */
  lose(error: WireError): void {
    if (!this.#ended) this.exit(this.#next, error);
  }

  #sendAll(chunks: Iterable<StreamChunk>): void {
    const { writer, masking, execId } = this.#target;
    for (const chunk of chunks) writer.message(masking.output({ stream_id: execId, ...chunk }));
  }

  #send(event: Body<StreamEvent>): void {
    const { writer, masking, execId } = this.#target;
    writer.message(masking.json({ stream_id: execId, ...event }));
  }
}
