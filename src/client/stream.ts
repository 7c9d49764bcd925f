/**
 * The output of one execution as it comes, through lost connections: it continues at the byte after
 * the last one taken, so that nothing is lost or repeated.
 */
import type { ExecId } from '../command.ts';
import type { ExecParams, StreamAnswer } from '../api/exec.ts';
import type { ExecEnd, Receipt, StreamEvent } from '../api/receipt.ts';
import { collectReceipt } from './collect.ts';
import { EventBuffer } from './event-buffer.ts';
import { retryLostConnection, toTrlError } from './failure.ts';
import type { RpcConnection, StreamNotice, ExecStreamSink } from './connection.ts';
import type { ConnectionPool } from './connection-pool.ts';
import { deferred } from './wait.ts';

/** Limit of output that is buffered for a slow reader, in `bytes`. */
const bufferBytesMax = 1024 * 1024;
/** Cost of an event besides its bytes, in `bytes`, so that tiny ones are limited, too. */
const eventCostBytes = 128;

export type ExecEvent =
  /** `bytes` of one stream, the first of which has `offset` in the execution's journal. */
  | {
      readonly type: 'output';
      readonly stream: 'stdout' | 'stderr';
      readonly offset: number;
      readonly bytes: Uint8Array;
    }
  /** Journal bytes from `from` up to `to` are no longer stored. */
  | { readonly type: 'gap'; readonly from: number; readonly to: number }
  /** The command waits for input. */
  | ({ readonly type: 'waiting' } & WaitingForInput);
type WaitingForInput = Extract<StreamEvent, { stream: 'status' }>['waiting_for_input'];

/** The source of the stream: a new command, or an existing execution. */
export type StreamSource =
  | { readonly kind: 'run'; readonly params: ExecParams & { readonly exec_key: string } }
  | { readonly kind: 'attach'; readonly execId: ExecId; readonly from: number };

export interface StreamOptions {
  /** Ends the stream: the iteration and `exit` reject with the signal's reason. */
  readonly signal?: AbortSignal;
  /**
   * Whether an abort, or a disposal before the end, also cancels the command. Default: `true` for a
   * command of this stream, `false` for an attached one.
   */
  readonly cancelOnAbort?: boolean;
}

/**
 * Iterate it once for the output, or {@link ExecStream.collect} or {@link ExecStream.drain} it. A
 * reader that pauses also pauses the command once 1 MiB is buffered. Leaving the loop drops further
 * output, and the command continues; disposing the stream ends it.
 */
export class ExecStream implements AsyncIterable<ExecEvent>, AsyncDisposable {
  /** Known once the command was started. Rejects when it was not. */
  readonly execId: Promise<ExecId>;
  /**
   * The end, once all output before it was read or dropped: the program must iterate, collect or
   * drain the stream. Rejects when the end is unknown.
   */
  readonly exit: Promise<ExecEnd>;

  readonly #links: ConnectionPool;
  readonly #source: StreamSource;
  readonly #options: StreamOptions;
  readonly #buffer = new EventBuffer<ExecEvent>(bufferBytesMax);
  readonly #id = deferred<ExecId>();
  readonly #end = deferred<ExecEnd>();
  readonly #stop = new AbortController();
  readonly #pumping: Promise<void>;
  #known: ExecId | null;
  #next: number;
  #progressed = false;
  #over = false;

  constructor(links: ConnectionPool, source: StreamSource, options: StreamOptions) {
    this.#links = links;
    this.#source = source;
    this.#options = options;
    this.#known = source.kind === 'attach' ? source.execId : null;
    this.#next = source.kind === 'attach' ? source.from : 0;
    this.execId = this.#id.promise;
    this.exit = this.#end.promise;
    // A program that only iterates gets the failure there.
    this.execId.catch(() => {});
    this.exit.catch(() => {});
    if (this.#known !== null) {
      this.#id.resolve(this.#known);
    }
    const { signal } = options;
    const abort = (): void => this.#abort(signal?.reason);
    if (signal?.aborted) {
      abort();
    }
    signal?.addEventListener('abort', abort, { once: true });
    this.#pumping = this.#pump().finally(() => signal?.removeEventListener('abort', abort));
  }

  /** Sends `signal`, or without one ends the command: TERM, the grace time, KILL. */
  async cancel(signal?: string): Promise<void> {
    await this.#cancel(await this.execId, signal === undefined ? {} : { signal });
  }

  /**
   * Takes all output and answers the whole receipt. Keeps at most `outputBytes` of each stream
   * (default 4 MiB, at most 64 MiB), the first half and the last; the receipt counts the rest.
   */
  async collect(options: { readonly outputBytes?: number } = {}): Promise<Receipt> {
    return collectReceipt(this, this.exit, options.outputBytes);
  }

  /** Drops all output that was not read and waits for the end. */
  async drain(): Promise<ExecEnd> {
    this.#buffer.discard();
    return this.exit;
  }

  [Symbol.asyncIterator](): AsyncGenerator<ExecEvent, void, void> {
    return this.#buffer[Symbol.asyncIterator]();
  }

  /** Settles when the daemon has received the cancellation, if there is one. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort(new DOMException('The stream was disposed before its end', 'AbortError'));
    await this.#pumping;
  }

  /** Ends all waits at once; the pump still learns the id of the command and cancels it. */
  #abort(reason: unknown): void {
    if (this.#over) {
      return;
    }
    this.#fail(reason);
    this.#buffer.discard();
    this.#stop.abort(reason);
    this.#links.finish(() => this.#pumping);
  }

  async #pump(): Promise<void> {
    const progressed = (): boolean => {
      const progressed = this.#progressed;
      this.#progressed = false;
      return progressed;
    };
    try {
      const { signal } = this.#stop;
      await retryLostConnection(
        () => this.#attempt(),
        this.#links.isSingle ? null : { hasProgressed: progressed, signal },
      );
    } catch (error) {
      this.#fail(error);
    }
    const cancels = this.#options.cancelOnAbort ?? this.#source.kind === 'run';
    if (this.#stop.signal.aborted && cancels && this.#known !== null) {
      await this.#cancel(this.#known, {}).catch(() => {});
    }
  }

  async #cancel(exec_id: ExecId, how: { readonly signal?: string }): Promise<void> {
    const link = await this.#links.shared();
    await link.call('exec.cancel', { exec_id, ...how });
  }

  /** The part of the stream on one connection. Rejects when that ended before the stream. */
  async #attempt(): Promise<void> {
    const { signal } = this.#stop;
    const { connection: link, release } = await this.#links.lease();
    try {
      signal.throwIfAborted();
      await this.#attemptOn(link);
    } finally {
      release();
    }
  }

  async #attemptOn(link: RpcConnection): Promise<void> {
    const { signal } = this.#stop;
    const ended = deferred<void>();
    ended.promise.catch(() => {});
    const opened = await this.#open(link, {
      output: (stream, offset, bytes) => this.#output(stream, offset, bytes),
      event: (event) => this.#notice(event) && ended.resolve(),
      lost: ended.reject,
    });
    this.#buffer.throttle((paused) => link.pause(paused));
    const stop = (): void => ended.reject(signal.reason);
    signal.addEventListener('abort', stop);
    try {
      if (signal.aborted) {
        stop();
      }
      await ended.promise;
    } finally {
      signal.removeEventListener('abort', stop);
      this.#buffer.throttle(() => {});
      link.leave(opened.stream_id);
    }
  }

  async #open(link: RpcConnection, sink: ExecStreamSink): Promise<StreamAnswer> {
    if (this.#known !== null) {
      return link.follow('exec.attach', { exec_id: this.#known, from: this.#next }, sink);
    }
    if (this.#source.kind === 'attach') {
      throw new TypeError('a stream that attaches knows its execution');
    }
    // By the key, a retry attaches to the execution that the lost connection may have started.
    const opened = await link.follow('exec.stream', this.#source.params, sink);
    this.#known = opened.exec_id;
    this.#id.resolve(this.#known);
    return opened;
  }

  #output(stream: 'stdout' | 'stderr', offset: number, bytes: Uint8Array): void {
    this.#skipTo(offset);
    const fresh = bytes.subarray(Math.min(this.#next - offset, bytes.length));
    if (fresh.length > 0) {
      const event: ExecEvent = { type: 'output', stream, offset: this.#next, bytes: fresh };
      this.#next += fresh.length;
      this.#progressed = true;
      this.#buffer.push(event, fresh.length + eventCostBytes);
    }
  }

  /** Reports missing bytes, whether or not the daemon did. */
  #skipTo(offset: number): void {
    if (offset > this.#next) {
      this.#buffer.push({ type: 'gap', from: this.#next, to: offset }, eventCostBytes);
      this.#next = offset;
    }
  }

  /** Whether this was the last event. */
  #notice(event: StreamNotice): boolean {
    this.#progressed = true;
    if (event.stream === 'gap') {
      this.#skipTo(event.to);
      return false;
    }
    if (event.stream === 'status') {
      this.#buffer.push({ type: 'waiting', ...event.waiting_for_input }, eventCostBytes);
      return false;
    }
    if (event.lost === true) {
      this.#fail(toTrlError(event.error, null));
      return true;
    }
    this.#skipTo(event.seq);
    const { stream_id: _id, seq: _seq, stream: _stream, lost: _lost, ...end } = event;
    this.#over = true;
    this.#end.resolve(end);
    this.#buffer.end();
    return true;
  }

  #fail(error: unknown): void {
    this.#over = true;
    this.#id.reject(error);
    this.#end.reject(error);
    this.#buffer.fail(error);
  }
}
