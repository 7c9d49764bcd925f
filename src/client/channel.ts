/** One connection to a runtime, as bytes in order: what a client needs of a transport. */

/** Takes what a channel brings. Must not throw. */
export interface ChannelSink {
  /** `chunk` is the sink's to keep: the channel does not write into it again. */
  bytes(chunk: Uint8Array): void;
  /** The other end closed it, or it broke: then `cause` says how. Told at least once. */
  closed(cause?: Error): void;
}

export interface Channel {
  /** What a message calls the other end. */
  readonly peer: string;
  /**
   * Whether `pause` holds the other end back. Where it does not (a browser reads its WebSockets
   * whatever the page does), the client asks the runtime for a window instead.
   */
  readonly holdsBack: boolean;
  /** Begins to deliver; called once, before anything is sent. */
  receive(sink: ChannelSink): void;
  /** Sends after what was sent before. What cannot be sent any more is dropped. */
  send(bytes: Uint8Array): void;
  /** Stops delivery, or takes it up again. May be called in any state. */
  pause(paused: boolean): void;
  /** While `false` the connection does not keep this process from ending, where there is one. */
  hold(held: boolean): void;
  /** Sends what is left, then ends. Settles when nothing is left open. Never rejects. */
  close(): Promise<void>;
}
