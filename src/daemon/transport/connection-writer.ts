/**
 * The outgoing half of a connection: JSON messages and output, as lines or as binary frames.
 * Writing never fails: what is written after the other side has gone is dropped.
 */
import type { RedactedText } from '../../redaction/redacted-text.ts';
import type { Writable } from 'node:stream';
import { encodeHeader, FrameError, frameTypes } from '../../frame.ts';

/** Output bytes in one frame, so that a client can bound what it accepts. */
const frameBytesMax = 1_048_576;

export class ConnectionWriter {
  readonly #out: Writable;
  #inFrames = false;
  #drained: Promise<void> | null = null;
  #drain: () => void = () => {};
  #closed = false;
  /** Output that may be under way, in bytes; `null`: the stream below bounds it. */
  #windowBytes: number | null = null;
  #sentBytes = 0;
  #takenBytes = 0;
  #taking: Promise<void> | null = null;
  #take: () => void = () => {};

  constructor(out: Writable) {
    this.#out = out;
    out.on('drain', () => this.#release());
    out.on('close', () => {
      this.#closed = true;
      this.#release();
    });
  }

  get inFrames(): boolean {
    return this.#inFrames;
  }

  /** From here on everything is sent in frames. */
  switchToFrames(windowBytes: number | null): void {
    this.#inFrames = true;
    this.#windowBytes = windowBytes;
  }

  /**
   * The other side has taken so much output since the connection began.
   *
   * @throws FrameError when that cannot be
   */
  taken(bytes: number): void {
    if (this.#windowBytes === null || bytes < this.#takenBytes || bytes > this.#sentBytes) {
      throw new FrameError(`${bytes} bytes of output cannot have been taken`);
    }
    this.#takenBytes = bytes;
    this.#taking = null;
    this.#take();
  }

  /** Sends one compact JSON text: a line, or a control frame. */
  message(json: RedactedText): void {
    if (!this.#inFrames) {
      this.#write(`${json}\n`);
      return;
    }
    const payload = Buffer.from(json, 'utf8');
    this.#frame(encodeHeader(frameTypes.control, 0, 0, payload.length), payload);
  }

  /**
   * Sends output in frames, without copying it: `bytes` must not change afterwards.
   *
   * @param offset journal offset of the first byte
   */
  output(type: number, channel: number, offset: number, bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += frameBytesMax) {
      const part = bytes.subarray(at, at + frameBytesMax);
      this.#sentBytes += part.length;
      this.#frame(encodeHeader(type, channel, offset + at, part.length), part);
    }
  }

  /** Settles when the other side has read enough for more; `undefined` when it has already. */
  ready(): Promise<void> | undefined {
    if (this.#closed || !this.#out.writableNeedDrain) return undefined;
    this.#drained ??= new Promise((resolve) => {
      this.#drain = resolve;
    });
    return this.#drained;
  }

  /** As {@link ready}, for output: also when the other side has taken enough for more. */
  outputReady(): Promise<void> | undefined {
    return this.#isWindowFull ? this.#room() : this.ready();
  }

  async #room(): Promise<void> {
    while (this.#isWindowFull) {
      this.#taking ??= new Promise((resolve) => {
        this.#take = resolve;
      });
      await this.#taking;
    }
    await this.ready();
  }

  get #isWindowFull(): boolean {
    if (this.#closed || this.#windowBytes === null) return false;
    return this.#sentBytes - this.#takenBytes >= this.#windowBytes;
  }

  /** Finds out whether the other side is still there: an empty write fails when it is not. */
  probe(): void {
    this.#write(Buffer.alloc(0));
  }

  /** Sends what is left and then the end; settles when it has left or the other side is gone. */
  async end(): Promise<void> {
    if (this.#closed || this.#out.writableFinished) return;
    await new Promise<void>((resolve) => {
      this.#out
        .once('finish', resolve)
        .once('close', resolve)
        .once('error', () => resolve());
      if (this.#out.writable) this.#out.end();
    });
  }

  /** Header and payload leave in one system call. */
  #frame(header: Uint8Array, payload: Uint8Array): void {
    this.#out.cork();
    this.#write(header);
    this.#write(payload);
    this.#out.uncork();
  }

  #write(data: Uint8Array | string): void {
    if (this.#out.writable) this.#out.write(data);
  }

  #release(): void {
    this.#drained = null;
    this.#drain();
    if (this.#closed) this.#take();
  }
}
