/**
 * Splits a byte stream into lines. A line over the limit is reported once, at the byte that crosses
 * it, and dropped up to its end without being buffered: memory is bounded, and the stream is usable
 * afterwards.
 */
const newline = 0x0a;
const empty = new Uint8Array(0);

export type BoundedLine =
  | { readonly kind: 'line'; readonly bytes: Uint8Array }
  | { readonly kind: 'long' };

/**
 * `feed` a chunk, then `take` until `null`. A line's bytes are a view of the chunk or of the
 * reader's own buffer: use or copy them before the next `feed`. The line end is not among them.
 */
export class LineReader {
  readonly #lineBytesMax: number;
  #chunk: Uint8Array = empty;
  #at = 0;
  /** Start of a line that a later chunk ends; grows by doubling, so single bytes stay cheap. */
  #held: Uint8Array = empty;
  #heldBytes = 0;
  #dropping = false;

  constructor(lineBytesMax: number) {
    this.#lineBytesMax = lineBytesMax;
  }

  feed(chunk: Uint8Array): void {
    this.#chunk = chunk;
    this.#at = 0;
  }

  /** The next whole line of what was fed, or `null` when more bytes are needed. */
  take(): BoundedLine | null {
    while (this.#at < this.#chunk.length) {
      const end = this.#chunk.indexOf(newline, this.#at);
      const part = this.#chunk.subarray(this.#at, end === -1 ? this.#chunk.length : end);
      this.#at += part.length + (end === -1 ? 0 : 1);
      const wasDropping = this.#dropping;
      if (wasDropping) {
        this.#dropping = end === -1;
      } else if (this.#heldBytes + part.length > this.#lineBytesMax) {
        this.#release();
        this.#dropping = end === -1;
        return { kind: 'long' };
      } else if (end === -1) {
        this.#hold(part);
      } else {
        return { kind: 'line', bytes: this.#joined(part) };
      }
    }
    return null;
  }

  /** At the end of the stream: the bytes after the last line end. */
  takeRest(): Uint8Array {
    return this.#joined(empty);
  }

  /** Bytes that were fed and not taken: what follows the last line taken. */
  takeUnread(): Uint8Array {
    const unread = this.#chunk.subarray(this.#at);
    this.feed(empty);
    return unread;
  }

  #joined(part: Uint8Array): Uint8Array {
    if (this.#heldBytes === 0) return part;
    this.#hold(part);
    const line = this.#held.subarray(0, this.#heldBytes);
    this.#release();
    return line;
  }

  #hold(part: Uint8Array): void {
    const wanted = this.#heldBytes + part.length;
    if (wanted > this.#held.length) {
      const grown = new Uint8Array(Math.max(wanted, Math.min(wanted * 2, this.#lineBytesMax)));
      grown.set(this.#held.subarray(0, this.#heldBytes));
      this.#held = grown;
    }
    this.#held.set(part, this.#heldBytes);
    this.#heldBytes = wanted;
  }

  #release(): void {
    this.#held = empty;
    this.#heldBytes = 0;
  }
}
