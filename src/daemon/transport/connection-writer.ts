/**
 * The outgoing half of a connection: JSON messages and output, as lines or as binary frames.
 * Writing never fails: the writer drops everything after the peer has disconnected.
 */
import type { RedactedText } from '../../redaction/redacted-text.ts';
import type { Writable } from 'node:stream';
import { encodeHeader, FrameError, frameTypes } from '../../frame.ts';

/** Maximum output bytes per frame, so that a client can limit what it accepts. */
const frameBytesMax = 1_048_576;

export class ConnectionWriter {
  readonly #out: Writable;
  #inFrames = false;
  #drained: Promise<void> | null = null;
  #drain: () => void = () => {};
  #closed = false;
  /** Output bytes that may be unacknowledged; `null` if only the underlying stream limits them. */
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

  /** Everything after this call is sent in frames. */
  switchToFrames(windowBytes: number | null): void {
    this.#inFrames = true;
    this.#windowBytes = windowBytes;
  }

  /**
   * The peer acknowledges the total of output bytes it has read since the connection began.
   *
   * @throws FrameError if the total is impossible
   */
  taken(bytes: number): void {
    if (this.#windowBytes === null || bytes < this.#takenBytes || bytes > this.#sentBytes) {
      throw new FrameError(`${bytes} bytes of output cannot have been taken`);
    }
    this.#takenBytes = bytes;
    this.#taking = null;
    this.#take();
  }

  /** Sends one compact JSON text as a line or a control frame. */
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

  /** Settles when the peer has read enough to accept more; `undefined` if it accepts more now. */
  ready(): Promise<void> | undefined {
    if (this.#closed || !this.#out.writableNeedDrain) return undefined;
    this.#drained ??= new Promise((resolve) => {
      this.#drain = resolve;
    });
    return this.#drained;
  }

  /** Like {@link ready}, for output: waits also for room in the window. */
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

  /** Detects a peer that has disconnected: an empty write then fails. */
  probe(): void {
    this.#write(Buffer.alloc(0));
  }

  /** Flushes and ends the stream; settles when all is sent or the peer has disconnected. */
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

  /** Header and payload are written with one system call. */
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
