/**
 * The newest output of one execution, encoded once for all followers. Each follower has a cursor.
 * Followers within the ring share the same bytes object; a follower that is behind the ring reads
 * for itself (`followers.ts`) until it has caught up.
 */

/** Encoded output or an encoded event. */
export interface EncodedChunk {
  /** Journal offsets of its content; `from` equals `to` for an event without bytes. */
  readonly from: number;
  readonly to: number;
  /** What was encoded; `null`: an event, which is not cut. */
  readonly output: { readonly stream: 'stdout' | 'stderr'; readonly bytes: Uint8Array } | null;
  readonly payload: Uint8Array;
  /** Whether it is the last chunk. */
  readonly isEnd: boolean;
}

/** The position of a follower. */
export interface RingCursor {
  /** Number of the next chunk, counted from the ring's very first one. */
  next: number;
  /** Journal offset up to which the follower has received output. */
  position: number;
  /** Ends the follower's wait; `null` while it does not wait. */
  wake: (() => void) | null;
}

const overheadBytes = 256;

export class ChunkRing {
  readonly #chunks: EncodedChunk[] = [];
  readonly #cursors = new Set<RingCursor>();
  /** Number of the oldest chunk in the ring. */
  #first = 0;
  #bytes = 0;
  /** Offset of the first byte that the ring has or will get. */
  #heldFrom: number;
  #ended = false;
  /** Cursors that have not read the chunk to be dropped next, while `shrink` waits for them. */
  #behind = 0;
  #passed: (() => void) | null = null;
  #shrinking: Promise<void> | null = null;

  constructor(from: number) {
    this.#heldFrom = from;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get cursors(): number {
    return this.#cursors.size;
  }

  get isEnded(): boolean {
    return this.#ended;
  }

  holds(position: number): boolean {
    return position >= this.#heldFrom;
  }

  /** A cursor at an offset; `null` if the ring does not have that offset. */
  join(position: number): RingCursor | null {
    if (!this.holds(position)) return null;
    const at = this.#chunks.findIndex(
      (one) => one.to > position || (one.output === null && one.to === position),
    );
    const index = at === -1 ? this.#chunks.length : at;
    const cursor: RingCursor = { next: this.#first + index, position, wake: null };
    this.#cursors.add(cursor);
    return cursor;
  }

  leave(cursor: RingCursor): void {
    if (this.#cursors.delete(cursor)) this.#pass(cursor.next);
  }

  /** The next chunk for a cursor; `null` if the cursor is at the end of the ring. */
  take(cursor: RingCursor): EncodedChunk | 'behind' | null {
    if (cursor.next < this.#first) return 'behind';
    const chunk = this.#chunks[cursor.next - this.#first];
    if (chunk === undefined) return null;
    const taken = cursor.next;
    cursor.next += 1;
    this.#pass(taken);
    return chunk;
  }

  push(chunk: EncodedChunk): void {
    this.#chunks.push(chunk);
    this.#bytes += sizeOf(chunk);
    if (chunk.isEnd) this.#ended = true;
    for (const cursor of this.#cursors) cursor.wake?.();
  }

  /** Settles when another chunk arrives or the cursor is woken. */
  async more(cursor: RingCursor): Promise<void> {
    await new Promise<void>((resolve) => {
      cursor.wake = resolve;
    });
    cursor.wake = null;
  }

  /**
   * Drops the oldest chunks until the ring has at most `bytesMax`. Waits up to `waitMs` in all for
   * followers that have not read them.
   */
  shrink(bytesMax: number, waitMs: number): Promise<void> {
    this.#shrinking ??= this.#shrink(bytesMax, waitMs).finally(() => {
      this.#shrinking = null;
    });
    return this.#shrinking;
  }

  async #shrink(bytesMax: number, waitMs: number): Promise<void> {
    const deadline = performance.now() + waitMs;
    while (this.#bytes > bytesMax && this.#chunks.length > 1) {
      const first = this.#first;
      this.#behind = [...this.#cursors].filter(({ next }) => next === first).length;
      const left = deadline - performance.now();
      if (this.#behind > 0 && left > 0) await this.#allPassed(left);
      this.#drop();
    }
  }

  async #allPassed(waitMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      timer = setTimeout(resolve, waitMs);
      this.#passed = resolve;
    });
    clearTimeout(timer);
    this.#passed = null;
  }

  #pass(taken: number): void {
    if (this.#passed === null || taken !== this.#first) return;
    this.#behind -= 1;
    if (this.#behind <= 0) this.#passed();
  }

  #drop(): void {
    const gone = this.#chunks.shift();
    if (gone === undefined) return;
    this.#first += 1;
    this.#bytes -= sizeOf(gone);
    this.#heldFrom = Math.max(this.#heldFrom, gone.to);
  }
}

const sizeOf = ({ output, payload }: EncodedChunk): number =>
  payload.length + (output?.bytes.length ?? 0) + overheadBytes;
