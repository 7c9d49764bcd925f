/**
 * The wire over a WebSocket. What comes are its bytes, in messages of any cut; a request needs no
 * line end where its message ends with it, as nothing but blanks may follow it on its line. What
 * is sent is one message a line (or a part of a binary frame), in WebSocket frames of at most
 * 64 KiB, since clients bound what they take of one, and as text to who sent text last.
 */
import type { Duplex } from 'node:stream';
import { createWebSocketStream } from 'ws';
import type { RawData, WebSocket } from 'ws';

/** Of one WebSocket frame to a client. */
const frameBytesMax = 65_536;
/** Bytes that are read ahead. */
const aheadBytesMax = 65_536;

const lineEnd = Buffer.from('\n');
const [newline, quote, backslash] = [0x0a, 0x22, 0x5c];
const blank: ReadonlySet<number> = new Set([0x09, 0x0d, 0x20]);
const opening: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const closing: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/** @param inFrames whether both sides speak binary frames by now, which have no lines */
export function tunnelOf(ws: WebSocket, inFrames: () => boolean): Duplex {
  const stream = createWebSocketStream(ws, { readableHighWaterMark: aheadBytesMax });
  const line = new LineTracker();
  let isText = false;
  // After the stream's own listener: the line end comes behind the message.
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

/** The line that is being received, in one pass over its bytes. */
export class LineTracker {
  #depth = 0;
  #isInText = false;
  #isEscaped = false;
  /** Nothing that may follow makes a request of it, or another one. */
  #isOver = false;

  reset(): void {
    this.#depth = 0;
    this.#isInText = false;
    this.#isEscaped = false;
    this.#isOver = false;
  }

  /** Whether it needs no more: it is one whole JSON object or array, or cannot become one. */
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

/** A message as it was received, without a copy where it is one piece. */
export function messageBytes(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
}
