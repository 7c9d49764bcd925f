/**
 * Encodes output and events of an execution in the two forms that HTTP uses.
 *
 * Server-sent events: `id` is the offset after the event; clients resume with `Last-Event-ID`.
 *
 *   id: 6
 *   event: stdout
 *   data: {"stream_id":"x-…","seq":0,"stream":"stdout","data":"hello\n"}
 *
 * WebSocket: output is a binary message, each other event a text message of its JSON.
 *
 *   0        1                9
 *   +--------+----------------+----------
 *   | stream | offset         | bytes          stream: 1 stdout, 2 stderr
 *   +--------+----------------+----------
 *     u8       u64 LE
 */
import type { ExecId } from '../../command.ts';
import { frameTypes } from '../../frame.ts';
import { ChunkWriter } from '../../protocol/chunks.ts';
import type { StreamChunk, StreamEvent } from '../../api/receipt.ts';
import type { WireError } from '../../api/answer-fields.ts';
import { redactedBytes, type RedactedBytes } from '../../redaction/redacted-text.ts';
import type { Masking } from '../secrets/masking.ts';
import type { OutputSink } from '../runtime.ts';
import type { EncodedChunk } from './chunk-ring.ts';

type Stream = 'stdout' | 'stderr';
type End = Parameters<OutputSink['exit']>[1];
type Body<Event> = Event extends unknown ? Omit<Event, 'stream_id'> : never;

/** Creates chunks; those of one encoder are in journal order and without holes. */
export interface StreamEncoder {
  output(stream: Stream, offset: number, bytes: RedactedBytes): Iterable<EncodedChunk>;
  /** Returns output that was buffered to be joined with more. */
  flush(): Iterable<EncodedChunk>;
  gap(from: number, to: number): EncodedChunk;
  waiting(at: number, info: Parameters<OutputSink['waiting']>[0]): EncodedChunk;
  exit(at: number, end: End): EncodedChunk;
}

const forms = ['events', 'websocket'] as const;
export type StreamFormat = (typeof forms)[number];

export interface StreamEncoderOptions {
  readonly execId: ExecId;
  readonly masking: Masking;
}

export function createStreamEncoder(
  form: StreamFormat,
  options: StreamEncoderOptions,
): StreamEncoder {
  return form === 'events' ? new EventEncoder(options) : new MessageEncoder(options);
}

/** The part of a chunk after `position`. */
export function encodedChunkAfter(
  form: StreamFormat,
  chunk: EncodedChunk,
  position: number,
  options: StreamEncoderOptions,
): EncodedChunk[] {
  const { output, from } = chunk;
  if (output === null || position <= from) return [chunk];
  const bytes = redactedBytes(output.bytes.subarray(position - from));
  const encoder = createStreamEncoder(form, options);
  return [...encoder.output(output.stream, position, bytes), ...encoder.flush()];
}

class EventEncoder implements StreamEncoder {
  readonly #options: StreamEncoderOptions;
  readonly #chunks = new ChunkWriter('text');

  constructor(options: StreamEncoderOptions) {
    this.#options = options;
  }

  *output(stream: Stream, offset: number, bytes: RedactedBytes): Generator<EncodedChunk> {
    for (const chunk of this.#chunks.push(stream, offset, bytes)) yield this.#encode(chunk);
  }

  *flush(): Generator<EncodedChunk> {
    for (const chunk of this.#chunks.flush()) yield this.#encode(chunk);
  }

  gap(from: number, to: number): EncodedChunk {
    return this.#event({ stream: 'gap', from, to }, from, to);
  }

  waiting(at: number, info: Parameters<OutputSink['waiting']>[0]): EncodedChunk {
    return this.#event({ stream: 'status', waiting_for_input: info }, at, at);
  }

  exit(at: number, end: End): EncodedChunk {
    return { ...this.#event(exitEvent(at, end), at, at), isEnd: true };
  }

  #encode(chunk: StreamChunk): EncodedChunk {
    const { execId, masking } = this.#options;
    const { seq: from, stream } = chunk;
    const bytes = 'data' in chunk ? Buffer.from(chunk.data) : Buffer.from(chunk.b64, 'base64');
    const to = from + bytes.length;
    const json = masking.output({ stream_id: execId, ...chunk });
    return { from, to, output: { stream, bytes }, payload: sse(to, stream, json), isEnd: false };
  }

  #event(event: Body<StreamEvent>, from: number, to: number): EncodedChunk {
    const { execId, masking } = this.#options;
    const json = masking.json({ stream_id: execId, ...event });
    return { from, to, output: null, payload: sse(to, event.stream, json), isEnd: false };
  }
}

class MessageEncoder implements StreamEncoder {
  readonly #options: StreamEncoderOptions;

  constructor(options: StreamEncoderOptions) {
    this.#options = options;
  }

  *output(stream: Stream, from: number, bytes: RedactedBytes): Generator<EncodedChunk> {
    const payload = Buffer.allocUnsafe(messageHeaderBytes + bytes.length);
    payload.writeUInt8(frameTypes[stream], 0);
    payload.writeBigUInt64LE(BigInt(from), 1);
    payload.set(bytes, messageHeaderBytes);
    const output = { stream, bytes: payload.subarray(messageHeaderBytes) };
    yield { from, to: from + bytes.length, output, payload, isEnd: false };
  }

  *flush(): Generator<EncodedChunk> {}

  gap(from: number, to: number): EncodedChunk {
    return this.#event({ stream: 'gap', from, to }, from, to);
  }

  waiting(at: number, info: Parameters<OutputSink['waiting']>[0]): EncodedChunk {
    return this.#event({ stream: 'status', waiting_for_input: info }, at, at);
  }

  exit(at: number, end: End): EncodedChunk {
    return { ...this.#event(exitEvent(at, end), at, at), isEnd: true };
  }

  #event(event: Body<StreamEvent>, from: number, to: number): EncodedChunk {
    const { execId, masking } = this.#options;
    const payload = Buffer.from(masking.json({ stream_id: execId, ...event }));
    return { from, to, output: null, payload, isEnd: false };
  }
}

const messageHeaderBytes = 9;

function exitEvent(seq: number, end: End): Body<StreamEvent> {
  if (isFailure(end)) return { seq, stream: 'exit', lost: true, error: end };
  return { seq, stream: 'exit', ...end };
}

const isFailure = (end: End): end is WireError => 'code' in end;

/** Compact JSON has no line ends, so one `data` line is enough. */
function sse(id: number, event: string, json: string): Buffer {
  return Buffer.from(`id: ${id}\nevent: ${event}\ndata: ${json}\n\n`);
}
