/** Stores of a journal's bytes, by journal offset. */
import { closeSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs';

export interface JournalStore {
  write(bytes: Uint8Array, offset: number): void;
  read(into: Uint8Array, offset: number): void;
  /** Sets the ring's size; it may grow only while nothing has wrapped. */
  grow(capacity: number): void;
  close(): void;
}

/** Bytes by position. */
interface Bytes {
  write(bytes: Uint8Array, at: number): void;
  read(into: Uint8Array, at: number): void;
  close(): void;
}

/** An unlinked file on tmpfs: the bytes vanish with the runner, however it ends. */
export class MemoryFile implements Bytes {
  readonly #fd: number;
  constructor(path: string) {
    this.#fd = openSync(path, 'wx+', 0o600);
    unlinkSync(path);
  }
  write(bytes: Uint8Array, at: number): void {
    for (let done = 0; done < bytes.length;) {
      done += writeSync(this.#fd, bytes, done, bytes.length - done, at + done);
    }
  }
  read(into: Uint8Array, at: number): void {
    for (let done = 0; done < into.length;) {
      const count = readSync(this.#fd, into, done, into.length - done, at + done);
      if (count === 0) throw new Error('the journal ended before its length');
      done += count;
    }
  }
  close(): void {
    closeSync(this.#fd);
  }
}

export const memoryPageBytes = 64 * 1024;

/** Pages of plain memory, made when they are written. */
export class MemoryPages implements Bytes {
  #pages: Uint8Array[] = [];
  write(bytes: Uint8Array, at: number): void {
    each({ at, length: bytes.length, size: memoryPageBytes }, (inPage, done, count, page) => {
      const own = (this.#pages[page] ??= new Uint8Array(memoryPageBytes));
      own.set(bytes.subarray(done, done + count), inPage);
    });
  }
  read(into: Uint8Array, at: number): void {
    each({ at, length: into.length, size: memoryPageBytes }, (inPage, done, count, page) => {
      into.set(this.#pages[page]?.subarray(inPage, inPage + count) ?? [], done);
    });
  }
  close(): void {
    this.#pages = [];
  }
}

/** Cuts a span at multiples of `size`. */
function each(
  span: { at: number; length: number; size: number },
  use: (inPiece: number, done: number, count: number, piece: number) => void,
): void {
  const { at, length, size } = span;
  for (let done = 0; done < length;) {
    const inPiece = (at + done) % size;
    const count = Math.min(size - inPiece, length - done);
    use(inPiece, done, count, Math.floor((at + done) / size));
    done += count;
  }
}

/** The newest bytes of a running command. */
export class RingStore implements JournalStore {
  readonly #bytes: Bytes;
  #capacity = 0;
  constructor(bytes: Bytes) {
    this.#bytes = bytes;
  }
  grow(capacity: number): void {
    this.#capacity = capacity;
  }
  write(bytes: Uint8Array, offset: number): void {
    const span = { at: offset, length: bytes.length, size: this.#capacity };
    each(span, (position, done, count) =>
      this.#bytes.write(bytes.subarray(done, done + count), position),
    );
  }
  read(into: Uint8Array, offset: number): void {
    const span = { at: offset, length: into.length, size: this.#capacity };
    each(span, (position, done, count) =>
      this.#bytes.read(into.subarray(done, done + count), position),
    );
  }
  close(): void {
    this.#bytes.close();
  }
}

/** An ended output up to this size moves to a shelf; a shelf takes this much in all. */
export const shelvedBytesMax = 1024 * 1024;
const shelfBytesMax = 8 * 1024 * 1024;

/** Small outputs of ended commands in one place, so that none keeps a descriptor of its own. */
export class JournalShelf {
  readonly #bytes: Bytes;
  #used = 0;
  #held = 0;
  constructor(bytes: Bytes) {
    this.#bytes = bytes;
  }
  get full(): boolean {
    return this.#used >= shelfBytesMax;
  }
  /** A place for `length` bytes from offset `from` on; a full shelf goes with the last one. */
  allocate(from: number, length: number): JournalStore {
    const base = this.#used - from;
    this.#used += length;
    this.#held += 1;
    return {
      write: (bytes, offset) => this.#bytes.write(bytes, base + offset),
      read: (into, offset) => this.#bytes.read(into, base + offset),
      grow: () => {},
      close: () => {
        this.#held -= 1;
        if (this.#held === 0 && this.full) this.#bytes.close();
      },
    };
  }
}
