/**
 * The redacted output of one command by byte offset, both streams in the order they came. It stays
 * in memory: an unlinked file on tmpfs, or plain memory where there is none. The newest `bytesMax`
 * bytes are kept; what was dropped is counted, never hidden.
 */
import { statfsSync } from 'node:fs';
import { join } from 'node:path';
import {
  MemoryFile,
  pageBytes,
  Pages,
  Ring,
  Shelf,
  shelvedBytesMax,
  type Store,
} from './stores.ts';

/** `statfs` type of tmpfs. Source: linux/magic.h. */
const tmpfsMagic = 0x01021994;
/** Switches between the streams that are remembered; older bytes are dropped with them. */
const segmentsMax = 262_144;

export type Stream = 'stdout' | 'stderr';

/** Whether files in `dir` never reach a disk. */
export function isMemoryDir(dir: string): boolean {
  try {
    return statfsSync(dir).type === tmpfsMagic;
  } catch {
    return false;
  }
}

/** What all journals of a runner share: one bound over everything they hold. */
export class JournalSpace {
  readonly dir: string | null;
  readonly bytesMax: number;
  readonly #journals = new Set<Journal>();
  #made = 0;
  #shelf: Shelf | null = null;

  /** @param dir a directory on tmpfs, or `null` for plain memory */
  constructor(dir: string | null, bytesMax: number) {
    this.dir = dir;
    this.bytesMax = bytesMax;
  }

  open(bytesMax: number): Journal {
    const journal = new Journal(bytesMax, this);
    this.#journals.add(journal);
    return journal;
  }

  /** A ring of its own for a command that writes. */
  ring(): Store {
    return new Ring(this.#bytes());
  }

  /** A place for what an ended journal holds. */
  shelve(from: number, length: number): Store {
    if (this.#shelf === null || this.#shelf.full) this.#shelf = new Shelf(this.#bytes());
    return this.#shelf.place(from, length);
  }

  #bytes(): MemoryFile | Pages {
    if (this.dir === null) return new Pages();
    return new MemoryFile(join(this.dir, `j${this.#made++}`));
  }

  get held(): number {
    let sum = 0;
    for (const journal of this.#journals) sum += journal.heldBytes;
    return sum;
  }

  /** Makes room for `bytes` by dropping the oldest finished journals; tells whether it could. */
  reserve(bytes: number): boolean {
    let held = this.held;
    for (const journal of this.#journals) {
      if (held + bytes <= this.bytesMax) return true;
      if (!journal.finished || journal.heldBytes === 0) continue;
      held -= journal.heldBytes;
      journal.drop();
    }
    return held + bytes <= this.bytesMax;
  }

  forget(journal: Journal): void {
    this.#journals.delete(journal);
  }
}

/** A piece of output of one stream. */
export interface Piece {
  readonly stream: Stream;
  readonly offset: number;
  readonly bytes: Uint8Array;
}

export class Journal {
  /** Made at the first byte. */
  #store: Store | null = null;
  readonly #space: JournalSpace;
  /** Ring size: grows with the output up to the bound, then stays. */
  #capacity = 0;
  #capacityMax: number;
  #end = 0;
  #from = 0;
  #starts: number[] = [];
  #streams: Stream[] = [];
  #first = 0;
  #finished = false;
  readonly bytesOf = { stdout: 0, stderr: 0 };

  constructor(bytesMax: number, space: JournalSpace) {
    this.#capacityMax = bytesMax;
    this.#space = space;
  }

  /** Offset after the last byte: also the number of bytes ever written. */
  get end(): number {
    return this.#end;
  }
  /** Offset of the first byte still held. */
  get from(): number {
    return this.#from;
  }
  get finished(): boolean {
    return this.#finished;
  }
  get bytesMax(): number {
    return this.#capacityMax;
  }
  get heldBytes(): number {
    return Math.min(this.#capacity, this.#end);
  }

  append(stream: Stream, bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#grow(bytes.length);
    this.#note(stream);
    this.bytesOf[stream] += bytes.length;
    // Of a piece larger than the ring only the tail can be held.
    const skip = Math.max(0, bytes.length - this.#capacity);
    this.#store?.write(bytes.subarray(skip), this.#end + skip);
    this.#end += bytes.length;
    this.#advance(Math.max(this.#from, this.#end - this.#capacity));
  }

  /** The bytes of one stream that lie at `offset`, at most `bytesMax`; `null` at the end. */
  read(offset: number, bytesMax: number): Piece | null {
    const start = Math.max(offset, this.#from);
    if (start >= this.#end) return null;
    const index = this.#segmentAt(start);
    const stream = this.#streams[index];
    if (stream === undefined) return null;
    const stop = Math.min(this.#starts[index + 1] ?? this.#end, this.#end, start + bytesMax);
    const bytes = new Uint8Array(stop - start);
    this.#store?.read(bytes, start);
    return { stream, offset: start, bytes };
  }

  /** No more bytes come: what is held moves to where it costs least. */
  finish(): void {
    this.#finished = true;
    const length = this.#end - this.#from;
    if (this.#store === null || length > shelvedBytesMax) return;
    const bytes = new Uint8Array(length);
    this.#store.read(bytes, this.#from);
    this.#store.close();
    this.#store = this.#space.shelve(this.#from, length);
    this.#store.write(bytes, this.#from);
  }

  /** Frees the bytes; offsets and counts stay. */
  drop(): void {
    this.#from = this.#end;
    this.#capacity = 0;
    this.#capacityMax = 0;
    this.#starts = [];
    this.#streams = [];
    this.#first = 0;
    this.#store?.close();
    this.#store = null;
    this.#space.forget(this);
  }

  /** While nothing has wrapped, positions equal offsets, so the ring may still grow. */
  #grow(bytes: number): void {
    const wanted = Math.min(this.#end + bytes, this.#capacityMax);
    if (wanted <= this.#capacity) return;
    this.#store ??= this.#space.ring();
    if (this.#space.reserve(wanted - this.#capacity)) this.#capacity = wanted;
    else {
      // No room in all: this journal keeps the size it has, and at least one page.
      this.#capacityMax = Math.max(this.#capacity, Math.min(pageBytes, this.#capacityMax));
      this.#capacity = this.#capacityMax;
    }
    this.#store.grow(this.#capacity);
  }

  #note(stream: Stream): void {
    if (this.#streams.length > this.#first && this.#streams.at(-1) === stream) return;
    this.#starts.push(this.#end);
    this.#streams.push(stream);
    if (this.#starts.length - this.#first > segmentsMax) {
      this.#advance(this.#starts[this.#first + 1] ?? this.#end);
    }
  }

  #advance(from: number): void {
    this.#from = from;
    while ((this.#starts[this.#first + 1] ?? Infinity) <= from) this.#first += 1;
    if (this.#first > 1024 && this.#first * 2 > this.#starts.length) {
      this.#starts = this.#starts.slice(this.#first);
      this.#streams = this.#streams.slice(this.#first);
      this.#first = 0;
    }
  }

  #segmentAt(offset: number): number {
    let low = this.#first;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] ?? Infinity) <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
