/** Reads a pipe out of a sandbox: bytes as they come, and at the end all that is left. */
import { readSync } from 'node:fs';
import { Socket } from 'node:net';

/** Bytes taken at once. */
export const pipeReadBytesMax = 64 * 1024;
/** One for all: every read is taken before the next one begins. */
const readBuffer = Buffer.allocUnsafeSlow(pipeReadBytesMax);

/** Bytes out of a command. `take` returns whether to continue reading. */
export interface ByteConsumer {
  take(bytes: Uint8Array): boolean;
}

export class PipeReader {
  readonly #socket: Socket;
  readonly #fd: number;
  readonly ended: Promise<void>;
  #taker: ByteConsumer | null = null;

  constructor(fd: number) {
    this.#fd = fd;
    const callback = (count: number, buffer: Uint8Array): boolean =>
      this.#taker?.take(buffer.subarray(0, count)) ?? false;
    this.#socket = new Socket({
      fd,
      readable: true,
      writable: false,
      onread: { buffer: readBuffer, callback },
    });
    this.ended = new Promise((resolve) => {
      this.#socket.once('close', () => resolve());
    });
    // A read error ends the stream like its end; `close` follows.
    this.#socket.on('error', () => this.#socket.destroy());
  }
  start(taker: ByteConsumer): void {
    this.#taker = taker;
    this.#socket.resume();
  }
  resume(): void {
    this.#socket.resume();
  }
  /**
   * Reads what is in the pipe without waiting; returns whether that was all, that is, whether every
   * writer is gone. At most what a pipe holds, so it is quick.
   */
  readRest(): boolean {
    if (this.#socket.destroyed) return true;
    try {
      for (;;) {
        const count = readSync(this.#fd, readBuffer);
        if (count === 0) return true;
        this.#taker?.take(readBuffer.subarray(0, count));
      }
    } catch {
      // EAGAIN: the pipe is empty, but a writer still has the other end.
      return false;
    }
  }
  close(): void {
    this.#socket.destroy();
  }
}

/** How often the pipes are checked after the end. */
const pollMs = 50;
const pollsMax = 5;
/** More than two pipes and their readers can buffer. */
const bytesMax = 4 * 1024 * 1024;

export interface DrainProbe {
  /** Bytes read so far. */
  readonly read: () => number;
  /** Whether a slow reader pauses reading. */
  readonly isPaused: () => boolean;
  /** Whether both streams have ended. */
  readonly isOver: () => boolean;
}

/**
 * Resolves when output that processes besides the command may keep open can be considered read.
 * Polls: everything in the pipes is read between two polls.
 */
export async function waitUntilDrained({ read, isPaused, isOver }: DrainProbe): Promise<void> {
  const stop = read() + bytesMax;
  let seen = read();
  for (let polls = 0; polls < pollsMax && !isOver() && read() < stop; polls += 1) {
    await new Promise((resolve) => setTimeout(resolve, pollMs));
    if (isPaused() || read() !== seen) polls = 0;
    seen = read();
  }
}
