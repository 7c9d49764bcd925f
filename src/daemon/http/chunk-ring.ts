/**
 * The newest output of one execution, encoded once for all who follow it. Each follower has a
 * cursor. Whoever is within the ring gets the same bytes object; whoever is behind it reads for
 * itself (`followers.ts`) until it is within again.
 */

/** Output or an event, encoded. */
export interface EncodedChunk {
  /** Journal offsets of what it tells; equal for an event that is not about bytes. */
  readonly from: number;
  readonly to: number;
  /** What was encoded; `null`: an event, which is not cut. */
  readonly output: { readonly stream: 'stdout' | 'stderr'; readonly bytes: Uint8Array } | null;
  readonly payload: Uint8Array;
  /** Whether it is the last one. */
  readonly isEnd: boolean;
}

/** Where a follower is. */
export interface RingCursor {
  /** Number of the next piece, counted from the ring's first ever. */
  next: number;
  /** Journal offset up to which it was told. */
  position: number;
  /** Ends its wait, while it waits. */
  wake: (() => void) | null;
}

const overheadBytes = 256;

export class ChunkRing {
  readonly #pieces: EncodedChunk[] = [];
  readonly #cursors = new Set<RingCursor>();
  /** Number of the oldest piece that is held. */
  #first = 0;
  #bytes = 0;
  /** Offset of the first byte that is held, or will be. */
  #heldFrom: number;
  #ended = false;
  /** Cursors that have not taken the piece which must leave next, while somebody waits for it. */
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

  /** A cursor at an offset; `null`: what is there is no longer held, or never was. */
  join(position: number): RingCursor | null {
    if (!this.holds(position)) return null;
    const at = this.#pieces.findIndex(
      (one) => one.to > position || (one.output === null && one.to === position),
    );
    const index = at === -1 ? this.#pieces.length : at;
    const cursor: RingCursor = { next: this.#first + index, position, wake: null };
    this.#cursors.add(cursor);
    return cursor;
  }

  leave(cursor: RingCursor): void {
    if (this.#cursors.delete(cursor)) this.#pass(cursor.next);
  }

  /** The next piece for a cursor; `null`: it has come to the end of the ring. */
  take(cursor: RingCursor): EncodedChunk | 'behind' | null {
    if (cursor.next < this.#first) return 'behind';
    const piece = this.#pieces[cursor.next - this.#first];
    if (piece === undefined) return null;
    const taken = cursor.next;
    cursor.next += 1;
    this.#pass(taken);
    return piece;
  }

  push(piece: EncodedChunk): void {
    this.#pieces.push(piece);
    this.#bytes += sizeOf(piece);
    if (piece.isEnd) this.#ended = true;
    for (const cursor of this.#cursors) cursor.wake?.();
  }

  /** Settles when there is another piece, or somebody wakes the cursor. */
  async more(cursor: RingCursor): Promise<void> {
    await new Promise<void>((resolve) => {
      cursor.wake = resolve;
    });
    cursor.wake = null;
  }

  /**
   * Lets the oldest pieces go until `bytesMax` are held. Whoever has not taken them is waited for,
   * but no longer than `waitMs` in all.
   */
  shrink(bytesMax: number, waitMs: number): Promise<void> {
    this.#shrinking ??= this.#shrink(bytesMax, waitMs).finally(() => {
      this.#shrinking = null;
    });
    return this.#shrinking;
  }

  async #shrink(bytesMax: number, waitMs: number): Promise<void> {
    const deadline = performance.now() + waitMs;
    while (this.#bytes > bytesMax && this.#pieces.length > 1) {
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
    const gone = this.#pieces.shift();
    if (gone === undefined) return;
    this.#first += 1;
    this.#bytes -= sizeOf(gone);
    this.#heldFrom = Math.max(this.#heldFrom, gone.to);
  }
}

const sizeOf = ({ output, payload }: EncodedChunk): number =>
  payload.length + (output?.bytes.length ?? 0) + overheadBytes;
