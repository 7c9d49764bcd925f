/**
 * One client, on a socket or on standard input and output: reads requests, runs them in their
 * lanes, and sends replies and stream events. The connection ends when the client has sent its
 * last request and received every answer, or disconnects. Commands continue without it.
 */
import { randomUUID } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';
import type { Caller } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import { FrameError, FrameReader, frameTypes } from '../../frame.ts';
import type { Frame } from '../../frame.ts';
import { limits } from '../../limits.ts';
import { LineReader } from '../../protocol/lines.ts';
import { definitionOf, findMethod, type MethodName } from '../../api/methods.ts';
import { readRequest, refuseOversizedLine, unknownRequestId } from '../../protocol/request.ts';
import type { RequestEnvelope } from '../../protocol/request.ts';
import type { RedactedText } from '../../redaction/redacted-text.ts';
import type { Runtime } from '../runtime.ts';
import { successReply, failureReply } from './reply-messages.ts';
import type { Log, ReplyContext } from './reply-messages.ts';
import { FeedWatch } from './feed-watch.ts';
import { callMethod } from './methods.ts';
import type { ConnectionContext } from './methods.ts';
import { OrderedReplies } from './ordered-replies.ts';
import type { SendReply } from './ordered-replies.ts';
import { ConnectionStreams } from './connection-streams.ts';
import { ToolCalls } from './tool-calls.ts';
import { ApprovalWatch } from './approval-watch.ts';
import { ConnectionWriter } from './connection-writer.ts';

const requestBytesMax = limits.frameBytes.max;
const pendingMax = limits.pendingRequests.max;
const stdinBytesMax = limits.streamWindowBytes.default;
/** How often the daemon probes whether a client that sends no more is still connected, in ms. */
const probeMs = 250;

export interface ConnectionOptions {
  readonly input: Readable;
  readonly output: Writable;
  readonly caller: Caller;
  readonly runtime: Runtime;
  readonly version: string;
  readonly log: Log;
  /** Limits the rate of the caller's requests; default: no limit. */
  readonly pace?: RequestPacer;
}

/** Limits a rate of requests. */
export interface RequestPacer {
  /** @throws TrlError `QUOTA_EXCEEDED` if the limit is reached */
  take(): void;
  /** Settles when one more is allowed. Used for input, which must not be lost. */
  ready(): Promise<void>;
}

type Request = Extract<RequestEnvelope, { kind: 'request' }>;

export class Connection {
  readonly #options: ConnectionOptions;
  readonly #replyContext: ReplyContext;
  readonly #writer: ConnectionWriter;
  readonly #replies: OrderedReplies;
  readonly #streams: ConnectionStreams;
  readonly #watch: ApprovalWatch;
  readonly #toolCalls: ToolCalls;
  readonly #feed: FeedWatch;
  readonly #lines = new LineReader(requestBytesMax);
  readonly #frames = new FrameReader(requestBytesMax);
  readonly #gone = new AbortController();
  /** Requests whose replies are not sent yet. */
  #pending = 0;
  /** Bytes of stdin frames that no command has read yet. */
  #stdinBytes = 0;
  /** Settles when the in-turn requests so far have ended. */
  #turn: Promise<void> = Promise.resolve();
  #caller: Caller;
  /** Removes this connection from its client. */
  #leaveClient = (): void => {};
  #hasGreeted = false;
  #isStopping = false;
  #waiters: (() => void)[] = [];

  constructor(options: ConnectionOptions) {
    const { input, output, runtime, caller } = options;
    this.#options = options;
    this.#caller = caller;
    this.#belongTo(randomUUID());
    this.#replyContext = { log: options.log, masking: runtime.masking };
    const writer = new ConnectionWriter(output);
    this.#writer = writer;
    this.#replies = new OrderedReplies((json) => writer.message(json));
    const { signal } = this.#gone;
    const ended = (): void => this.#settle();
    this.#streams = new ConnectionStreams({
      runtime,
      caller,
      writer,
      replyContext: this.#replyContext,
      signal,
      ended,
    });
    this.#watch = new ApprovalWatch({ runtime, caller, writer, signal });
    this.#toolCalls = new ToolCalls({ runtime, writer, signal });
    this.#feed = new FeedWatch({ runtime, caller, writer, signal });
    const leave = (): void => this.#leave();
    output.on('error', leave).on('close', leave);
    input.on('error', leave);
  }

  /** Serves until the client sends no more requests and awaits no more events. Never rejects. */
  async serve(): Promise<void> {
    await this.#read();
    const probe = setInterval(() => this.#writer.probe(), probeMs);
    // Detects a client that was killed already: its requests must not start.
    this.#writer.probe();
    await this.#until(() => this.#pending === 0 && this.#follows === 0);
    clearInterval(probe);
    await this.#writer.end();
    this.#leave();
  }

  /** Whether both sides use binary frames already. */
  get inFrames(): boolean {
    return this.#writer.inFrames;
  }

  /** Refuses new requests; requests that are running continue. */
  stop(): void {
    this.#isStopping = true;
  }

  /** Waits up to `waitMs` for pending replies, then drops the streams and ends. */
  async close(waitMs: number): Promise<void> {
    this.stop();
    const timer = setTimeout(() => this.#leave(), waitMs);
    await this.#until(() => this.#pending === 0);
    await this.#writer.end();
    clearTimeout(timer);
    this.#leave();
  }

  /** Handles a client that disconnected: its streams end, its commands continue. */
  #leave(): void {
    if (this.#gone.signal.aborted) return;
    this.#gone.abort();
    this.#leaveClient();
    this.#options.input.destroy();
    this.#settle();
  }

  /** Applies only to callers of the socket: a token or the runtime's own pipes identify others. */
  #belongTo(id: string): void {
    if (this.#caller.authenticatedBy !== 'socket-owner' || this.#gone.signal.aborted) return;
    const leave = this.#options.runtime.clients.enter(id);
    this.#caller = { ...this.#caller, client: id };
    this.#leaveClient();
    this.#leaveClient = leave;
  }

  async #read(): Promise<void> {
    const { input, log } = this.#options;
    try {
      // Clients close their half after the last request; the other half must stay open for replies.
      for await (const chunk of input.iterator({ destroyOnReturn: false })) await this.#take(chunk);
      const rest = this.#lines.takeRest();
      if (!isBlank(rest)) await this.#accept(readRequest(rest));
    } catch (error) {
      if (this.#gone.signal.aborted) return;
      if (error instanceof FrameError) {
        const refusal = new TrlError('INVALID_PARAMS', `Cannot read the request: ${error.message}`);
        this.#writer.message(
          failureReply(unknownRequestId, 'the request', refusal, this.#replyContext),
        );
      } else {
        log(`a connection ended: ${String(error)}`);
        this.#leave();
      }
    }
  }

  async #take(chunk: Uint8Array): Promise<void> {
    if (this.#writer.inFrames) {
      for (const frame of this.#frames.push(chunk)) await this.#takeFrame(frame);
      return;
    }
    this.#lines.feed(chunk);
    for (let line = this.#lines.take(); line !== null; line = this.#lines.take()) {
      if (line.kind === 'long') await this.#accept(refuseOversizedLine(requestBytesMax));
      else if (!isBlank(line.bytes)) await this.#accept(readRequest(line.bytes));
      if (this.#writer.inFrames) {
        await this.#take(this.#lines.takeUnread());
        return;
      }
    }
  }

  async #takeFrame(frame: Frame): Promise<void> {
    if (frame.type === frameTypes.control) await this.#accept(readRequest(frame.payload));
    else if (frame.type === frameTypes.stdin) await this.#takeStdin(frame);
    else if (frame.type === frameTypes.window) this.#writer.taken(frame.offset);
    else throw new FrameError(`a client may not send frames of type ${frame.type}`);
  }

  /** An empty frame ends the input. A failure becomes a message, since no reply exists for it. */
  async #takeStdin(frame: Frame): Promise<void> {
    const { runtime, pace } = this.#options;
    const caller = this.#caller;
    await pace?.ready();
    await this.#until(() => this.#stdinBytes < stdinBytesMax);
    const fail = (error: unknown): void =>
      this.#writer.message(
        failureReply(unknownRequestId, 'the stdin frame', error, this.#replyContext),
      );
    const execId = this.#streams.on(frame.channel);
    if (execId === undefined) {
      const message = `Cannot write input: no stream has channel ${frame.channel}`;
      fail(new TrlError('EXEC_NOT_FOUND', message));
      return;
    }
    const bytes = Uint8Array.from(frame.payload);
    this.#stdinBytes += bytes.length;
    const write = async (): Promise<void> => {
      await runtime.gate.authorizeParams('exec.write', { exec_id: execId }, caller);
      await runtime.execs.write(caller, execId, { bytes, eof: bytes.length === 0, lease: null });
    };
    const written = write();
    void written.catch(fail).finally(() => {
      this.#stdinBytes -= bytes.length;
      this.#settle();
    });
  }

  /** Waits for room, so that neither requests nor unread replies accumulate. */
  async #accept(envelope: RequestEnvelope): Promise<void> {
    await this.#until(() => this.#pending < pendingMax);
    await this.#writer.ready();
    if (this.#gone.signal.aborted) return;
    this.#pending += 1;
    try {
      this.#options.pace?.take();
      if (envelope.kind === 'refused') throw envelope.error;
      this.#refuseWhenStopping(envelope.method);
      await this.#dispatch(findMethod(envelope.method), envelope);
    } catch (error) {
      const json = failureReply(envelope.id, 'the request', error, this.#replyContext);
      this.#replies.reserve()(json, () => this.#sent());
    }
  }

  #refuseWhenStopping(method: string): void {
    if (!this.#isStopping) return;
    const message = `Cannot run ${method.slice(0, 64)}: the runtime is stopping`;
    throw new TrlError('BACKEND_UNAVAILABLE', message);
  }

  async #dispatch(method: MethodName, request: Request): Promise<void> {
    const lane = definitionOf(method).lane;
    if (lane === 'beside') {
      void this.#run(method, request, (json, sent) => {
        this.#writer.message(json);
        sent();
      });
      return;
    }
    const reply = this.#replies.reserve();
    if (lane === 'in-turn') {
      this.#turn = this.#turn.then(() => this.#runInTurn(method, request, reply));
      return;
    }
    const running = this.#run(method, request, reply);
    // The bytes after a hello may be frames, so the hello must finish before they are read.
    if (method === 'system.hello') await running;
  }

  /** Requests that have not started when their client disconnects are dropped. */
  async #runInTurn(method: MethodName, request: Request, reply: SendReply): Promise<void> {
    await this.#writer.ready();
    if (this.#gone.signal.aborted) this.#sent();
    else await this.#run(method, request, reply);
  }

  /** Runs one request and sends its reply. Never rejects. */
  async #run(method: MethodName, request: Request, reply: SendReply): Promise<void> {
    const { runtime, version } = this.#options;
    const afterwards: (() => void)[] = [];
    const context: ConnectionContext = {
      runtime,
      caller: this.#caller,
      version,
      follow: (execId, from, form) => {
        const { answer, start } = this.#streams.announce(execId, from, form);
        afterwards.push(start);
        return answer;
      },
      registerTool: async (params) => {
        const { answer, start } = await this.#toolCalls.register(params);
        afterwards.push(start);
        return answer;
      },
      answerToolCall: (params) => this.#toolCalls.answer(params),
      watch: () => {
        const { answer, start } = this.#watch.announce();
        afterwards.push(start);
        return answer;
      },
      feed: () => {
        const { answer, start } = this.#feed.announce();
        afterwards.push(start);
        return answer;
      },
      joinClient: (id) => this.#belongTo(id),
      markGreeted: () => {
        this.#hasGreeted = true;
      },
      hasGreeted: this.#hasGreeted,
      switchToFrames: (windowBytes) => {
        this.#refuseWhenBusy();
        afterwards.push(() => this.#writer.switchToFrames(windowBytes));
      },
    };
    let json: RedactedText;
    try {
      const { params } = request;
      const answer = await callMethod(method, params, context);
      json = successReply(request.id, answer, this.#replyContext);
    } catch (error) {
      json = failureReply(request.id, method, error, this.#replyContext);
    }
    reply(json, () => {
      for (const act of afterwards) act();
      this.#sent();
    });
  }

  #refuseWhenBusy(): void {
    if (this.#pending <= 1 && this.#follows === 0) return;
    const reason = 'other requests or streams are under way on this connection';
    throw new TrlError('INVALID_PARAMS', `Cannot switch to frames: ${reason}`);
  }

  /** How many streams on this connection have not ended. */
  get #follows(): number {
    return (
      this.#streams.size +
      [this.#watch, this.#feed, this.#toolCalls].filter(({ isOn }) => isOn).length
    );
  }

  #sent(): void {
    this.#pending -= 1;
    this.#settle();
  }

  #settle(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }

  /** Waits until `done()` or the client disconnects; each change of state must wake the wait. */
  async #until(done: () => boolean): Promise<void> {
    while (!done() && !this.#gone.signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#waiters.push(resolve);
      });
    }
  }
}

/** Whether a line has only spaces and line ends: some clients end their last line twice. */
function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x0d || byte === 0x09 || byte === 0x0a);
}
