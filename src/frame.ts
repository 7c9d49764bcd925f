/**
 * Binary frames: one format on the runner's socket and on a client connection that asked for it.
 *
 *   0        4      5      6         8                16
 *   +--------+------+------+---------+----------------+----------
 *   | length | type | flag | channel | offset          | payload
 *   +--------+------+------+---------+----------------+----------
 *     u32 LE   u8     u8     u16 LE    u64 LE            length bytes
 *
 * `control` carries JSON (UTF-8); `stdout` and `stderr` carry bytes of the execution on `channel`,
 * the first of which has journal offset `offset`; `stdin` carries bytes for it. `window` carries
 * nothing: `offset` is how many bytes of output its sender has taken on this connection.
 */
const frameHeaderBytes = 16;
export const frameTypes = { control: 0, stdout: 1, stderr: 2, stdin: 3, window: 4 } as const;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly channel: number;
  readonly offset: number;
  readonly payload: Uint8Array;
}

/** The 16 header bytes of a frame. */
export function encodeHeader(
  type: number,
  channel: number,
  offset: number,
  length: number,
): Uint8Array {
  const bytes = new Uint8Array(frameHeaderBytes);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, length, true);
  view.setUint8(4, type);
  view.setUint16(6, channel, true);
  view.setBigUint64(8, BigInt(offset), true);
  return bytes;
}

/** Thrown text of a frame that cannot be one; the connection it came on must end. */
export class FrameError extends Error {}

/**
 * Cuts a byte stream into frames. `push` returns the complete frames so far; payloads are views
 * of the given chunk where they did not cross one, so use or copy them before the next push.
 *
 * @throws FrameError when a header announces more than `payloadBytesMax` or an unknown type.
 */
export class FrameReader {
  readonly #payloadBytesMax: number;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #wanted = frameHeaderBytes;

  constructor(payloadBytesMax: number) {
    this.#payloadBytesMax = payloadBytesMax;
  }

  push(chunk: Uint8Array): Frame[] {
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    const frames: Frame[] = [];
    while (this.#heldBytes >= this.#wanted) {
      const bytes = this.#join();
      let at = 0;
      for (;;) {
        const rest = bytes.length - at;
        if (rest < frameHeaderBytes) {
          this.#wanted = frameHeaderBytes;
          break;
        }
        const view = new DataView(bytes.buffer, bytes.byteOffset + at, frameHeaderBytes);
        const length = view.getUint32(0, true);
        const type = view.getUint8(4);
        if (length > this.#payloadBytesMax) {
          throw new FrameError(`a frame of ${length} bytes is too large`);
        }
        if (type > frameTypes.window) throw new FrameError(`frame type ${type} is unknown`);
        if (rest < frameHeaderBytes + length) {
          this.#wanted = frameHeaderBytes + length;
          break;
        }
        frames.push({
          type,
          flags: view.getUint8(5),
          channel: view.getUint16(6, true),
          offset: Number(view.getBigUint64(8, true)),
          payload: bytes.subarray(at + frameHeaderBytes, at + frameHeaderBytes + length),
        });
        at += frameHeaderBytes + length;
      }
      this.#held = at === bytes.length ? [] : [bytes.subarray(at)];
      this.#heldBytes = bytes.length - at;
      if (this.#heldBytes < this.#wanted) break;
    }
    return frames;
  }

  #join(): Uint8Array {
    const [first] = this.#held;
    if (this.#held.length === 1 && first !== undefined) return first;
    const all = new Uint8Array(this.#heldBytes);
    let at = 0;
    for (const part of this.#held) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }
}
