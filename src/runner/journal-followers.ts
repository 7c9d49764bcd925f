/**
 * Readers of journals over one connection. Each has a window; while the slowest one is far behind
 * its command is paused, so that a reader that keeps up loses nothing. A reader that takes
 * nothing for `slowReaderMs` no longer pauses the command, and may find a counted gap.
 */
import { encodeHeader, frameTypes } from '../frame.ts';
import { limits } from '../limits.ts';
import type { ExecutionSummary } from './execution.ts';

const pieceBytes = 256 * 1024;

/** The destination of frames. `write` returns whether there is room for more. */
export interface FrameSink {
  write(header: Uint8Array, payload: Uint8Array): boolean;
  event(event: object): void;
}

interface Follower {
  readonly execution: ExecutionSummary;
  readonly channel: number;
  readonly stop: number;
  next: number;
  acked: number;
  progressAt: number;
}

export class JournalFollowers {
  readonly #sink: FrameSink;
  readonly #followers = new Map<number, Follower>();

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  add(
    execution: ExecutionSummary,
    options: { channel: number; from: number; max: number | null },
  ): void {
    const { channel, from, max } = options;
    const stop = max === null ? Infinity : from + max;
    const now = Date.now();
    const follower = { execution, channel, stop, next: from, acked: from, progressAt: now };
    this.#followers.set(channel, follower);
    this.#pump(follower);
  }

  remove(channel: number): void {
    this.#followers.delete(channel);
  }

  ack(channel: number, offset: number): void {
    const follower = this.#followers.get(channel);
    if (follower === undefined) return;
    follower.acked = Math.max(follower.acked, Math.min(offset, follower.next));
    follower.progressAt = Date.now();
    this.#pump(follower);
  }

  /** Sends what came in of one execution, or of all when the connection drained. */
  pump(execution: ExecutionSummary | null): void {
    for (const follower of this.#followers.values()) {
      if (execution === null || follower.execution === execution) this.#pump(follower);
    }
  }

  /** Bytes by which the slowest reader is behind, of those that still pause the command. */
  lag(execution: ExecutionSummary): number {
    let lag = 0;
    for (const { execution: own, next, progressAt } of this.#followers.values()) {
      if (own !== execution || Date.now() - progressAt > limits.slowReaderMs.default) continue;
      lag = Math.max(lag, execution.journal.end - next);
    }
    return lag;
  }

  #pump(follower: Follower): void {
    const { execution, channel } = follower;
    const { journal } = execution;
    const windowEnd = (): number => follower.acked + limits.streamWindowBytes.default;
    while (follower.next < Math.min(follower.stop, windowEnd())) {
      if (follower.next < journal.from) {
        const to = Math.min(journal.from, follower.stop);
        this.#sink.event({ event: 'gap', channel, from: follower.next, to });
        follower.next = to;
        follower.acked = to;
        continue;
      }
      const room = Math.min(follower.stop, windowEnd()) - follower.next;
      const piece = journal.read(follower.next, Math.min(pieceBytes, room));
      if (piece === null) break;
      const type = frameTypes[piece.stream];
      const header = encodeHeader(type, channel, piece.offset, piece.bytes.length);
      follower.next = piece.offset + piece.bytes.length;
      if (!this.#sink.write(header, piece.bytes)) return;
    }
    const whole = execution.exit !== null && follower.next >= journal.end;
    if (!whole && follower.next < follower.stop) return;
    this.#followers.delete(channel);
    const reason = whole ? 'exit' : 'max';
    this.#sink.event({ event: 'end', channel, offset: follower.next, reason });
  }
}
