/**
 * One connection to a daemon: numbered requests and their answers, and the streams that some of
 * them open. Begins in lines of JSON; after `system.hello` both directions may be binary frames:
 *
 *   →  {"id":"1","method":"exec.stream","params":{…}}          control frame, or a line
 *   ←  {"id":"1","ok":true,"data":{"stream_id":"x-…","channel":3}}
 *   ←  stdout/stderr frames on channel 3                        or {"stream_id":"x-…","seq":…}
 *   ←  {"stream_id":"x-…","seq":N,"stream":"exit",…}
 *
 * What the daemon sends is trusted in shape: it is this user's own process. `JSON.parse` is where
 * the wire becomes typed, by the method that was called.
 */
import { TrlError } from '../errors.ts';
import { limits } from '../limits.ts';
import { encodeHeader, FrameReader, frameTypes } from '../frame.ts';
import type { Frame } from '../frame.ts';
import { LineReader } from '../protocol/lines.ts';
import type { ApprovalEvent } from '../api/approval.ts';
import type { FeedMessage } from '../api/system.ts';
import type { ToolEvent } from '../api/tool.ts';
import type { StreamAnswer } from '../api/exec.ts';
import type { StreamChunk, StreamEvent } from '../api/receipt.ts';
import type { WireError } from '../api/answer-fields.ts';
import type { Data, MethodName, Params } from '../api/methods.ts';
import { concatBytes, fromBase64, decodeUtf8, encodeUtf8 } from './bytes.ts';
import { ReceiveWindow, type Channel } from './channel.ts';
import { ConnectionLostError, toTrlError } from './failure.ts';

/**
 * Largest answer that a client accepts, in `bytes`: two streams of 64 MiB in base64, and the rest.
 */
const answerBytesMax = 256 * 1024 * 1024;

/** Receives one stream. Must not throw. */
export interface ExecStreamSink {
  output(stream: 'stdout' | 'stderr', offset: number, bytes: Uint8Array): void;
  event(event: StreamNotice): void;
  /** The connection ended before the stream did. */
  lost(error: ConnectionLostError): void;
}
/** The events of a stream besides output. */
export type StreamNotice = Exclude<StreamEvent, StreamChunk>;

/** Methods that send changes to their connection while it lasts. */
type Watching = 'approval.watch' | 'system.watch' | 'tool.register';
type ChangeNotice = ApprovalEvent | FeedMessage | ToolEvent;
const noticeKeys = ['approval', 'event', 'call', 'cancel'] as const;

/** Receives the changes of a connection. Must not throw. */
export interface WatchSink {
  notify(message: ChangeNotice): void;
  /** The connection ended: there are no more changes. */
  lost(error: unknown): void;
}

/** `data` has the type of the method's answer; see {@link RpcConnection.call}. */
interface Pending {
  readonly accept: (data: never) => void;
  readonly refuse: (error: TrlError) => void;
}
interface Incoming {
  readonly id?: string;
  readonly ok?: boolean;
  readonly data?: never;
  readonly error?: WireError;
  readonly stream_id?: string;
}

export class RpcConnection {
  readonly #channel: Channel;
  readonly #pending = new Map<string, Pending>();
  readonly #streams = new Map<string, ExecStreamSink>();
  readonly #channels = new Map<number, string>();
  #watch: WatchSink | null = null;
  readonly #lines = new LineReader(answerBytesMax);
  #frames: FrameReader | null = null;
  #window: ReceiveWindow | null = null;
  #asked = 0;
  #paused = false;
  /** The last state that was set on the channel. */
  #isHeldBack = false;
  #left = false;
  #failure: ConnectionLostError | null = null;

  private constructor(channel: Channel) {
    this.#channel = channel;
    const { peer } = channel;
    channel.receive({
      bytes: (chunk) => this.#take(chunk),
      closed: (cause) => {
        const message =
          cause === undefined
            ? `Lost the connection: ${peer} closed it`
            : `Lost the connection to ${peer}: ${cause.message}`;
        this.#fail(new ConnectionLostError(message, cause === undefined ? {} : { cause }));
      },
    });
  }

  /**
   * Takes over `channel`. A daemon without `system.hello` is addressed in JSON.
   *
   * @throws TrlError BACKEND_UNAVAILABLE when the connection ends first.
   */
  static async open(
    channel: Channel,
    { frames, client }: { readonly frames: 'json' | 'bin'; readonly client: string },
    signal?: AbortSignal,
  ): Promise<RpcConnection> {
    const link = new RpcConnection(channel);
    try {
      await link.#hello(client, frames, signal);
      return link;
    } catch (error) {
      await link.close();
      const cause: unknown = error instanceof ConnectionLostError ? error.cause : null;
      throw cause instanceof TrlError ? cause : error;
    }
  }

  /** Why no request is possible any more, else `null`. */
  get failure(): ConnectionLostError | null {
    return this.#failure;
  }

  /** Whether no answer is pending and nothing unwanted is still to come. */
  get idle(): boolean {
    return !this.#busy && !this.#left;
  }

  /**
   * Sends a request and waits for its answer. An abort ends the wait; the request may still be
   * carried out.
   *
   * @throws TrlError with the code of the daemon's answer; BACKEND_UNAVAILABLE when the connection
   *   ends first.
   */
  async call<M extends MethodName>(
    method: M,
    params: Params<M>,
    signal?: AbortSignal,
  ): Promise<Data<M>> {
    return this.#ask<Data<M>>(method, params, () => {}, signal);
  }

  /** Like {@link call}, for a method that opens a stream: `sink` gets all its events. */
  async follow<M extends 'exec.stream' | 'exec.attach'>(
    method: M,
    params: Params<M>,
    sink: ExecStreamSink,
  ): Promise<StreamAnswer> {
    const register = (opened: StreamAnswer): void => {
      if (typeof opened.stream_id !== 'string') throw new TypeError('a stream has no id');
      this.#streams.set(opened.stream_id, sink);
      if (opened.channel !== undefined) {
        this.#channels.set(opened.channel, opened.stream_id);
      }
    };
    return this.#ask<StreamAnswer>(method, params, register);
  }

  /** Requests changes; `sink` gets the present state and each change from then on. */
  async watch<M extends Watching>(method: M, sink: WatchSink, params: Params<M>): Promise<void> {
    await this.#ask<Data<M>>(method, params, () => {
      this.#watch = sink;
    });
  }

  /** Later changes are dropped. */
  unwatch(): void {
    this.#watch = null;
    this.#settle();
  }

  /** Stops delivery of a stream to its sink; later events are dropped. */
  leave(streamId: string): void {
    if (this.#streams.delete(streamId)) {
      this.#left = true;
      this.#settle();
    }
  }

  /**
   * Stops reading, which also stops the daemon. Pending answers are still read: a caller that waits
   * for one would otherwise wait for itself.
   */
  pause(paused: boolean): void {
    this.#paused = paused;
    this.#settle();
  }

  /** Sends pending requests, then ends. Never rejects. */
  async close(): Promise<void> {
    this.#fail(new ConnectionLostError('The connection is closed: the client closed it'));
    await this.#channel.close();
  }

  #ask<T>(
    method: string,
    params: unknown,
    onAnswer: (data: T) => void,
    signal?: AbortSignal,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#failure !== null) {
        reject(this.#failure);
        return;
      }
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      this.#asked += 1;
      const id = String(this.#asked);
      const abort = (): void => {
        this.#pending.delete(id);
        this.#settle();
        reject(signal?.reason);
      };
      const done = (): void => signal?.removeEventListener('abort', abort);
      signal?.addEventListener('abort', abort, { once: true });
      const accept = (data: T): void => {
        done();
        onAnswer(data);
        resolve(data);
      };
      const refuse = (error: TrlError): void => {
        done();
        reject(error);
      };
      this.#pending.set(id, { accept, refuse });
      this.#settle();
      this.#send(JSON.stringify({ id, method, params }));
    });
  }

  /** Also in lines: without it the daemon sends text instead of bytes. */
  async #hello(client: string, frames: 'json' | 'bin', signal?: AbortSignal): Promise<void> {
    const bounded = this.#channel.holdsBack ? {} : { window_bytes: limits.windowBytes.default };
    const params: Params<'system.hello'> =
      frames === 'json'
        ? { protocol: 'trl/2', client }
        : { protocol: 'trl/2', client, frames, ...bounded };
    const accept = (data: Data<'system.hello'>): void => {
      if (data.frames === 'bin') {
        this.#frames = new FrameReader(answerBytesMax);
      }
      if (data.window_bytes !== undefined) {
        this.#window = new ReceiveWindow(data.window_bytes, (taken) => {
          this.#channel.send(encodeHeader(frameTypes.window, 0, taken, 0));
        });
      }
    };
    try {
      await this.#ask('system.hello', params, accept, signal);
    } catch (error) {
      if (!(error instanceof TrlError && error.code === 'INVALID_PARAMS')) {
        throw error;
      }
    }
  }

  #send(text: string): void {
    if (this.#frames === null) {
      this.#channel.send(encodeUtf8(`${text}\n`));
      return;
    }
    const payload = encodeUtf8(text);
    const header = encodeHeader(frameTypes.control, 0, 0, payload.length);
    this.#channel.send(concatBytes([header, payload]));
  }

  #take(chunk: Uint8Array): void {
    if (this.#failure !== null) {
      return;
    }
    try {
      if (this.#frames === null) {
        this.#takeLines(chunk);
      } else {
        this.#takeFrames(chunk);
      }
    } catch (cause) {
      this.#fail(
        new ConnectionLostError(`Lost the connection: ${this.#channel.peer} broke it`, { cause }),
      );
      this.#channel.close().catch(() => {});
    }
  }

  #takeLines(chunk: Uint8Array): void {
    this.#lines.feed(chunk);
    for (let line = this.#lines.take(); line !== null; line = this.#lines.take()) {
      if (line.kind === 'long') {
        throw new RangeError(`an answer is longer than ${answerBytesMax} bytes`);
      }
      this.#message(line.bytes);
      if (this.#frames !== null) {
        // What follows the answer that switches is already in frames.
        this.#takeFrames(this.#lines.takeUnread());
        return;
      }
    }
  }

  #takeFrames(bytes: Uint8Array): void {
    for (const frame of this.#frames?.push(bytes) ?? []) {
      if (frame.type === frameTypes.control) {
        this.#message(frame.payload);
      } else {
        this.#output(frame);
      }
    }
  }

  #output({ type, channel, offset, payload }: Frame): void {
    this.#window?.addTaken(payload.length);
    const sink = this.#streams.get(this.#channels.get(channel) ?? '');
    sink?.output(type === frameTypes.stderr ? 'stderr' : 'stdout', offset, payload);
  }

  #message(bytes: Uint8Array): void {
    const message: Incoming & (StreamEvent | ChangeNotice) = JSON.parse(decodeUtf8(bytes));
    if (message.id === undefined) {
      if (isChangeNotice(message)) this.#watch?.notify(message);
      else this.#event(message);
      return;
    }
    const pending = this.#pending.get(message.id);
    if (message.ok === true && message.data !== undefined) {
      pending?.accept(message.data);
    } else {
      pending?.refuse(toTrlError(message.error, message.data ?? null));
    }
    // Only now: an unreadable answer fails the connection, and its call must fail with it.
    this.#pending.delete(message.id);
    this.#settle();
  }

  #event(event: StreamEvent): void {
    const sink = this.#streams.get(event.stream_id);
    if ('data' in event) {
      sink?.output(event.stream, event.seq, encodeUtf8(event.data));
      return;
    }
    if ('b64' in event) {
      sink?.output(event.stream, event.seq, fromBase64(event.b64));
      return;
    }
    sink?.event(event);
    if (event.stream === 'exit') {
      this.#streams.delete(event.stream_id);
      this.#settle();
    }
  }

  get #busy(): boolean {
    return this.#pending.size > 0 || this.#streams.size > 0 || this.#watch !== null;
  }

  /** Keeps the process alive while something is awaited, and pauses the channel if necessary. */
  #settle(): void {
    this.#channel.hold(this.#busy);
    const heldBack = this.#paused && this.#pending.size === 0;
    if (heldBack !== this.#isHeldBack) {
      this.#isHeldBack = heldBack;
      this.#channel.pause(heldBack);
    }
    this.#window?.hold(this.#paused);
  }

  #fail(failure: ConnectionLostError): void {
    if (this.#failure !== null) {
      return;
    }
    this.#failure = failure;
    const pending = [...this.#pending.values()];
    const streams = [...this.#streams.values()];
    const watch = this.#watch;
    this.#pending.clear();
    this.#streams.clear();
    this.#watch = null;
    this.#paused = false;
    this.#settle();
    for (const { refuse } of pending) {
      refuse(failure);
    }
    for (const sink of streams) {
      sink.lost(failure);
    }
    watch?.lost(failure);
  }
}

const isChangeNotice = (message: object): message is ChangeNotice =>
  noticeKeys.some((key) => key in message);
