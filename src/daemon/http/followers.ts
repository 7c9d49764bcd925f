/**
 * Many followers of one command: its output is read from the runner once, encoded once in each
 * form, and stored in a ring for the followers that keep up. A follower that is behind the ring, or
 * starts before it, reads for itself at its own pace until it has caught up. A follower delays a
 * command no longer than the ring waits: one that is slower may reach the journal's limit, and then
 * gets a `gap` event.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Caller, ExecId } from '../../command.ts';
import type { OutputSink } from '../runtime.ts';
import { Semaphore } from '../executions/semaphore.ts';
import type { HttpTransportParts } from './method-calls.ts';
import { toWireError } from '../transport/reply-messages.ts';
import { createStreamEncoder, encodedChunkAfter } from './stream-encoding.ts';
import type { StreamEncoder, StreamFormat } from './stream-encoding.ts';
import { ChunkRing } from './chunk-ring.ts';
import type { RingCursor, EncodedChunk } from './chunk-ring.ts';
import { EncodedWindowCache } from './encoded-windows.ts';

/** Limits of one ring and of all rings together. */
const ringBytesMax = 8 * 1_024 * 1_024;
const ringBytesMin = 256 * 1_024;
const ringsBytesMax = 64 * 1_024 * 1_024;
/** Followers of one caller that may read for themselves at the same time; the others wait. */
const ownOfCallerMax = 1;
/** How long the ring waits for its slowest follower, in ms. */
const paceMs = 2_000;

/** The destination of a follower's chunks. */
export interface FollowerOutput {
  readonly form: StreamFormat;
  /** Must not throw; drops chunks after its end. */
  send(chunk: EncodedChunk): void;
  /** Settles when more may be sent; `undefined` if more may be sent now. */
  ready(): Promise<void> | undefined;
  /** Aborts when the follower leaves. */
  readonly signal: AbortSignal;
}

export interface FollowerRequest {
  readonly caller: Caller;
  readonly execId: ExecId;
  readonly from: number;
  readonly outlet: FollowerOutput;
}

interface Shared {
  readonly ring: ChunkRing;
  readonly stop: AbortController;
}

export class OutputFollowers {
  readonly #parts: HttpTransportParts;
  readonly #shared = new Map<string, Shared>();
  readonly #windows: EncodedWindowCache;
  readonly #own = new Semaphore(ownOfCallerMax);
  /** How many followers currently read for themselves. */
  ownReaders = 0;

  constructor(parts: HttpTransportParts) {
    this.#parts = parts;
    this.#windows = new EncodedWindowCache(parts);
  }

  /** Sends output and events until the end or until the follower leaves. Never rejects. */
  async follow(following: FollowerRequest): Promise<void> {
    const { outlet } = following;
    let position = following.from;
    while (!outlet.signal.aborted) {
      const shared = this.#sharedOf(following, position);
      const cursor = shared.ring.join(position);
      if (cursor === null) {
        const reached = await this.#readOwn(following, position, shared.ring);
        if (reached === null) return;
        // The ring's first follower wanted a later offset, so this follower cannot join the ring.
        if (reached === position) return await this.#readAlone(following, position);
        position = reached;
        continue;
      }
      const isOver = await this.#pump(following, shared.ring, cursor);
      position = cursor.position;
      this.#leave(following, shared, cursor);
      if (isOver) return;
    }
  }

  /** @returns whether the stream is over; `false` if the follower fell behind the ring */
  async #pump(
    { execId, outlet }: FollowerRequest,
    ring: ChunkRing,
    cursor: RingCursor,
  ): Promise<boolean> {
    const { masking } = this.#parts.replyContext;
    const { signal, form } = outlet;
    signal.addEventListener('abort', () => cursor.wake?.(), { once: true });
    while (!signal.aborted) {
      const chunk = ring.take(cursor);
      if (chunk === 'behind') return false;
      if (chunk === null) {
        await ring.more(cursor);
        continue;
      }
      // The follower already has this output: it started within the chunk or read it itself.
      const isKnown = chunk.output !== null && chunk.to <= cursor.position;
      if (!isKnown) {
        for (const one of encodedChunkAfter(form, chunk, cursor.position, { execId, masking })) {
          outlet.send(one);
        }
        cursor.position = Math.max(cursor.position, chunk.to);
      }
      if (chunk.isEnd) return true;
      await outlet.ready();
    }
    return true;
  }

  /**
   * Reads windows, each after the follower has taken the one before, so that a slow reader buffers
   * little.
   *
   * @returns the offset at which the follower is within the ring or at the end; `null`: it is over
   */
  async #readOwn(
    following: FollowerRequest,
    from: number,
    ring: ChunkRing,
  ): Promise<number | null> {
    const { outlet, execId, caller } = following;
    let position = from;
    const step = async (): Promise<number> => {
      if (outlet.signal.aborted) return position;
      const { chunks, next } = await this.#windows.read(following, position);
      for (const chunk of chunks) outlet.send(chunk);
      // Other requests run between two windows.
      await nextTurn();
      return next;
    };
    this.ownReaders += 1;
    try {
      while (!outlet.signal.aborted && !ring.holds(position)) {
        const next = await this.#own.run(caller.actor, step);
        if (next === position) break;
        position = next;
        await outlet.ready();
      }
      return outlet.signal.aborted ? null : position;
    } catch {
      // The journal is gone: only the end of the stream is left to send.
      const encoder = createStreamEncoder(outlet.form, {
        execId,
        masking: this.#parts.replyContext.masking,
      });
      const sink = new ChunkSink(encoder, position, (chunk) => outlet.send(chunk));
      const options = { from: position, sink: forward(sink), signal: outlet.signal };
      await this.#read(following, options, sink);
      return null;
    } finally {
      this.ownReaders -= 1;
    }
  }

  /** Reads to the end without a ring, each chunk after the follower has taken the one before. */
  async #readAlone(following: FollowerRequest, from: number): Promise<void> {
    const { outlet, execId } = following;
    const { masking } = this.#parts.replyContext;
    const encoder = createStreamEncoder(outlet.form, { execId, masking });
    const sink = new ChunkSink(encoder, from, (chunk) => outlet.send(chunk));
    const paced: OutputSink = {
      ...forward(sink),
      output: (stream, offset, bytes) => {
        sink.output(stream, offset, bytes);
        return outlet.ready();
      },
    };
    this.ownReaders += 1;
    await this.#read(following, { from, sink: paced, signal: outlet.signal }, sink);
    this.ownReaders -= 1;
  }

  #sharedOf(following: FollowerRequest, from: number): Shared {
    const { execId, outlet } = following;
    const key = `${outlet.form} ${execId}`;
    const found = this.#shared.get(key);
    if (found !== undefined) return found;
    const ring = new ChunkRing(from);
    const stop = new AbortController();
    const shared = { ring, stop };
    this.#shared.set(key, shared);
    const { masking } = this.#parts.replyContext;
    const encoder = createStreamEncoder(outlet.form, { execId, masking });
    const sink = new ChunkSink(encoder, from, (chunk) => ring.push(chunk));
    const all: OutputSink = {
      ...forward(sink),
      output: (stream, offset, bytes) => {
        sink.output(stream, offset, bytes);
        const bytesMax = this.#ringBytes();
        return ring.bytes > bytesMax ? ring.shrink(bytesMax, paceMs) : undefined;
      },
    };
    void this.#read(following, { from, sink: all, signal: stop.signal }, sink);
    return shared;
  }

  /** Never rejects: a stream that fails ends with the error. */
  async #read(
    { caller, execId }: FollowerRequest,
    options: Parameters<HttpTransportParts['runtime']['execs']['follow']>[2],
    sink: ChunkSink,
  ): Promise<void> {
    const { runtime, replyContext } = this.#parts;
    try {
      await runtime.execs.follow(caller, execId, options);
      if (!sink.isEnded && !options.signal.aborted) throw new Error(`${execId} has no end`);
    } catch (error) {
      if (options.signal.aborted) return;
      sink.exit(sink.next, toWireError('the stream', error, replyContext));
    }
  }

  #ringBytes(): number {
    const share = ringsBytesMax / Math.max(1, this.#shared.size);
    return Math.max(ringBytesMin, Math.min(ringBytesMax, share));
  }

  /** Ends the shared reading when the last follower leaves. */
  #leave({ execId, outlet }: FollowerRequest, shared: Shared, cursor: RingCursor): void {
    shared.ring.leave(cursor);
    if (shared.ring.cursors > 0) return;
    shared.stop.abort();
    const key = `${outlet.form} ${execId}`;
    if (this.#shared.get(key) === shared) this.#shared.delete(key);
  }
}

/** Encodes output as it is read, and tracks the position. */
class ChunkSink {
  readonly #encoder: StreamEncoder;
  readonly #put: (chunk: EncodedChunk) => void;
  #next: number;
  isEnded = false;

  constructor(encoder: StreamEncoder, from: number, put: (chunk: EncodedChunk) => void) {
    this.#encoder = encoder;
    this.#next = from;
    this.#put = put;
  }

  get next(): number {
    return this.#next;
  }

  output(...[stream, offset, bytes]: Parameters<OutputSink['output']>): void {
    this.#next = offset + bytes.length;
    this.#putAll(this.#encoder.output(stream, offset, bytes));
  }

  flush(): void {
    this.#putAll(this.#encoder.flush());
  }

  gap(from: number, to: number): void {
    this.flush();
    this.#next = to;
    this.#put(this.#encoder.gap(from, to));
  }

  waiting(info: Parameters<OutputSink['waiting']>[0]): void {
    this.flush();
    this.#put(this.#encoder.waiting(this.#next, info));
  }

  exit(offset: number, end: Parameters<OutputSink['exit']>[1]): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.flush();
    this.#put(this.#encoder.exit(offset, end));
  }

  #putAll(chunks: Iterable<EncodedChunk>): void {
    for (const chunk of chunks) this.#put(chunk);
  }
}

const forward = (sink: ChunkSink): OutputSink => ({
  output: (stream, offset, bytes) => sink.output(stream, offset, bytes),
  gap: (from, to) => sink.gap(from, to),
  waiting: (info) => sink.waiting(info),
  exit: (offset, end) => sink.exit(offset, end),
});
