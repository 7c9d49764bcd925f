/**
 * The wire over a WebSocket. Incoming messages contain wire bytes, split anywhere; a request at the
 * end of a message needs no line end, because only blanks may follow it on its line. Each outgoing
 * message is one line (or part of a binary frame), in WebSocket frames of at most 64 KiB, since
 * clients limit the size of a frame; it is text if the client's last message was text.
 */
import type { Duplex } from 'node:stream';
import { createWebSocketStream } from 'ws';
import type { RawData, WebSocket } from 'ws';

/** Maximum bytes of one WebSocket frame to a client. */
const frameBytesMax = 65_536;
/** Maximum bytes that are read ahead. */
const aheadBytesMax = 65_536;

const lineEnd = Buffer.from('\n');
const [newline, quote, backslash] = [0x0a, 0x22, 0x5c];
const blank: ReadonlySet<number> = new Set([0x09, 0x0d, 0x20]);
const opening: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const closing: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/** @param inFrames whether both sides already use binary frames, which have no lines */
export function tunnelOf(ws: WebSocket, inFrames: () => boolean): Duplex {
  const stream = createWebSocketStream(ws, { readableHighWaterMark: aheadBytesMax });
  const line = new LineTracker();
  let isText = false;
  // This listener runs after the stream's own one, so the line end follows the message.
  ws.on('message', (data: RawData, isBinary: boolean) => {
    if (inFrames()) return;
    isText = !isBinary;
    const bytes = messageBytes(data);
    if (!line.isOverAfter(bytes)) return;
    line.reset();
    stream.push(lineEnd);
  });
  stream._write = (
    chunk: Buffer,
    _: BufferEncoding,
    done: (error?: Error | null) => void,
  ): void => {
    const binary = !isText || inFrames();
    for (let at = 0; at === 0 || at < chunk.length; at += frameBytesMax) {
      const part = chunk.subarray(at, at + frameBytesMax);
      const fin = at + frameBytesMax >= chunk.length;
      ws.send(part, { binary, fin }, fin ? done : undefined);
    }
  };
  return stream;
}

/** Tracks the current incoming line in one pass over its bytes. */
export class LineTracker {
  #depth = 0;
  #isInText = false;
  #isEscaped = false;
  /** Whether no further bytes can make the line a request, or another request. */
  #isOver = false;

  reset(): void {
    this.#depth = 0;
    this.#isInText = false;
    this.#isEscaped = false;
    this.#isOver = false;
  }

  /** Whether the line is a complete JSON object or array, or cannot become one. */
  isOverAfter(bytes: Uint8Array): boolean {
    const last = bytes.lastIndexOf(newline);
    if (last !== -1) this.reset();
    for (let at = last + 1; at < bytes.length && !this.#isOver; at += 1) this.#take(bytes[at] ?? 0);
    return this.#isOver;
  }

  #take(byte: number): void {
    if (this.#isInText) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === backslash) this.#isEscaped = true;
      else if (byte === quote) this.#isInText = false;
    } else if (opening.has(byte)) this.#depth += 1;
    else if (closing.has(byte)) {
      this.#depth -= 1;
      this.#isOver = this.#depth <= 0;
    } else if (this.#depth === 0) this.#isOver = !blank.has(byte);
    else if (byte === quote) this.#isInText = true;
  }
}

/** The bytes of a message, without a copy if it is one buffer. */
export function messageBytes(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
}
