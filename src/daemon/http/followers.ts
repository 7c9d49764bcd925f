/**
 * Many who follow one command: its output is read from the runner once, encoded once in each form,
 * and held in a ring for those who keep up. Who falls behind it, or begins before it, reads for
 * itself at its own pace, until it is within the ring again. Nobody holds a command back for
 * longer than a ring waits for those within it: who is slower than that meets the journal's bound,
 * and is told of what is gone.
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

/** Of one ring, and of all of them together. */
const ringBytesMax = 8 * 1_024 * 1_024;
const ringBytesMin = 256 * 1_024;
const ringsBytesMax = 64 * 1_024 * 1_024;
/** Those of one caller that read for themselves at once; the others follow. */
const ownOfCallerMax = 1;
/** How long those who are within the ring are waited for before they are behind it, in ms. */
const paceMs = 2_000;

/** Where a follower's pieces go. */
export interface FollowerOutput {
  readonly form: StreamFormat;
  /** Must not throw; what is sent after its end is dropped. */
  send(piece: EncodedChunk): void;
  /** Settles when more may be sent; `undefined`: at once. */
  ready(): Promise<void> | undefined;
  /** Aborted when the follower has left. */
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
  /** Who reads for itself just now. */
  ownReaders = 0;

  constructor(parts: HttpTransportParts) {
    this.#parts = parts;
    this.#windows = new EncodedWindowCache(parts);
  }

  /** Sends output and events until the end, or until the follower has left. Never rejects. */
  async follow(following: FollowerRequest): Promise<void> {
    const { outlet } = following;
    let position = following.from;
    while (!outlet.signal.aborted) {
      const shared = this.#sharedOf(following, position);
      const cursor = shared.ring.join(position);
      if (cursor === null) {
        const reached = await this.#readOwn(following, position, shared.ring);
        if (reached === null) return;
        // Who came first asked for what is not there yet: there is no way into that ring.
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

  /** @returns whether it is over; else the ring has left it behind */
  async #pump(
    { execId, outlet }: FollowerRequest,
    ring: ChunkRing,
    cursor: RingCursor,
  ): Promise<boolean> {
    const { masking } = this.#parts.replyContext;
    const { signal, form } = outlet;
    signal.addEventListener('abort', () => cursor.wake?.(), { once: true });
    while (!signal.aborted) {
      const piece = ring.take(cursor);
      if (piece === 'behind') return false;
      if (piece === null) {
        await ring.more(cursor);
        continue;
      }
      // Told already: it began within the piece, or before it by its own reading.
      const isKnown = piece.output !== null && piece.to <= cursor.position;
      if (!isKnown) {
        for (const one of encodedChunkAfter(form, piece, cursor.position, { execId, masking })) {
          outlet.send(one);
        }
        cursor.position = Math.max(cursor.position, piece.to);
      }
      if (piece.isEnd) return true;
      await outlet.ready();
    }
    return true;
  }

  /**
   * Reads in pieces, each when the one before was taken, so that little waits for a slow reader.
   *
   * @returns the offset at which it is within the ring or at the end; `null`: it is over
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
      const { chunks: pieces, next } = await this.#windows.read(following, position);
      for (const piece of pieces) outlet.send(piece);
      // Between two windows everybody else is answered.
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
      // The journal is gone: what can still be told of it comes with the end.
      const encoder = createStreamEncoder(outlet.form, {
        execId,
        masking: this.#parts.replyContext.masking,
      });
      const sink = new PieceSink(encoder, position, (piece) => outlet.send(piece));
      const options = { from: position, sink: forward(sink), signal: outlet.signal };
      await this.#read(following, options, sink);
      return null;
    } finally {
      this.ownReaders -= 1;
    }
  }

  /** Reads to the end without a ring, each piece when the one before was taken. */
  async #readAlone(following: FollowerRequest, from: number): Promise<void> {
    const { outlet, execId } = following;
    const { masking } = this.#parts.replyContext;
    const encoder = createStreamEncoder(outlet.form, { execId, masking });
    const sink = new PieceSink(encoder, from, (piece) => outlet.send(piece));
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
    const sink = new PieceSink(encoder, from, (piece) => ring.push(piece));
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

  /** Never rejects: a stream that breaks ends with what is known of it. */
  async #read(
    { caller, execId }: FollowerRequest,
    options: Parameters<HttpTransportParts['runtime']['execs']['follow']>[2],
    sink: PieceSink,
  ): Promise<void> {
    const { runtime, replyContext: says } = this.#parts;
    try {
      await runtime.execs.follow(caller, execId, options);
      if (!sink.isEnded && !options.signal.aborted) throw new Error(`${execId} has no end`);
    } catch (error) {
      if (!options.signal.aborted) sink.exit(sink.next, toWireError('the stream', error, says));
    }
  }

  #ringBytes(): number {
    const share = ringsBytesMax / Math.max(1, this.#shared.size);
    return Math.max(ringBytesMin, Math.min(ringBytesMax, share));
  }

  /** The last one to leave ends the reading. */
  #leave({ execId, outlet }: FollowerRequest, shared: Shared, cursor: RingCursor): void {
    shared.ring.leave(cursor);
    if (shared.ring.cursors > 0) return;
    shared.stop.abort();
    const key = `${outlet.form} ${execId}`;
    if (this.#shared.get(key) === shared) this.#shared.delete(key);
  }
}

/** Encodes what a reading brings, and knows how far it came. */
class PieceSink {
  readonly #encoder: StreamEncoder;
  readonly #put: (piece: EncodedChunk) => void;
  #next: number;
  isEnded = false;

  constructor(encoder: StreamEncoder, from: number, put: (piece: EncodedChunk) => void) {
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

  #putAll(pieces: Iterable<EncodedChunk>): void {
    for (const piece of pieces) this.#put(piece);
  }
}

const forward = (sink: PieceSink): OutputSink => ({
  output: (stream, offset, bytes) => sink.output(stream, offset, bytes),
  gap: (from, to) => sink.gap(from, to),
  waiting: (info) => sink.waiting(info),
  exit: (offset, end) => sink.exit(offset, end),
});
