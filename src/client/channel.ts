/** One connection to a runtime, as bytes in order: what a client needs of a transport. */

/** Receives from a channel. Must not throw. */
export interface ChannelSink {
  /** `chunk` belongs to the sink: the channel does not write into it again. */
  bytes(chunk: Uint8Array): void;
  /** The other end closed it, or it broke: then `cause` is the reason. Called at least once. */
  closed(cause?: Error): void;
}

export interface Channel {
  /** Name of the other end in messages. */
  readonly peer: string;
  /**
   * Whether `pause` stops the other end. If not (a browser always reads its WebSockets), the client
   * requests a window from the runtime instead.
   */
  readonly holdsBack: boolean;
  /** Starts delivery; called once, before anything is sent. */
  receive(sink: ChannelSink): void;
  /** Sends in order. What cannot be sent any more is dropped. */
  send(bytes: Uint8Array): void;
  /** Stops or resumes delivery. May be called in any state. */
  pause(paused: boolean): void;
  /** While `false`, the connection does not keep this process alive. */
  hold(held: boolean): void;
  /** Sends what is buffered, then ends. Settles when everything is closed. Never rejects. */
  close(): Promise<void>;
}

/**
 * Reports to a runtime how much of its output was taken, on a channel that cannot be paused. While
 * the reader is behind, nothing is reported, and the runtime stops when the window is full.
 */
export class ReceiveWindow {
  readonly #stepBytes: number;
  readonly #report: (takenBytes: number) => void;
  #takenBytes = 0;
  #reportedBytes = 0;
  #isHeld = false;

  /** `report` gets the number of all bytes taken so far. */
  constructor(windowBytes: number, report: (takenBytes: number) => void) {
    // Early enough that a runtime never waits for it unless the reader is behind.
    this.#stepBytes = Math.ceil(windowBytes / 4);
    this.#report = report;
  }

  addTaken(bytes: number): void {
    this.#takenBytes += bytes;
    this.#settle();
  }

  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    this.#settle();
  }

  #settle(): void {
    if (this.#isHeld || this.#takenBytes - this.#reportedBytes < this.#stepBytes) return;
    this.#reportedBytes = this.#takenBytes;
    this.#report(this.#takenBytes);
  }
}

interface Emitter {
  on(event: 'data', listener: (chunk: Uint8Array) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'end' | 'close', listener: () => void): unknown;
}
interface ByteSource extends Emitter {
  pause(): unknown;
  resume(): unknown;
}
interface ByteTarget {
  on(event: 'error', listener: (error: Error) => void): unknown;
  write(bytes: Uint8Array): unknown;
}

export interface StreamPair {
  readonly from: ByteSource;
  readonly to: ByteTarget;
  readonly peer: string;
  readonly hold?: (held: boolean) => void;
  /** As of {@link Channel}. */
  readonly close: () => Promise<void>;
}

/** A channel over Node's streams, described by their shape: this file needs nothing of Node. */
export function streamChannel({ from, to, peer, hold, close }: StreamPair): Channel {
  return {
    peer,
    holdsBack: true,
    receive: (sink: ChannelSink) => {
      from.on('data', (chunk) => sink.bytes(chunk));
      from.on('end', () => sink.closed());
      from.on('close', () => sink.closed());
      from.on('error', (cause) => sink.closed(cause));
      to.on('error', (cause) => sink.closed(cause));
    },
    send: (bytes) => void to.write(bytes),
    pause: (paused) => void (paused ? from.pause() : from.resume()),
    hold: hold ?? (() => {}),
    close,
  };
}
