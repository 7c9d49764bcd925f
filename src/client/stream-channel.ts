/** A channel over streams as Node has them, told by shape: nothing of Node is needed here. */
import type { Channel, ChannelSink } from './channel.ts';

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
