/**
 * The output of one command by byte offset, both streams in the order they were read. It is not
 * redacted, so it stays in memory: an unlinked file on tmpfs, or plain memory where there is
 * none. The newest `bytesMax` bytes are kept; what was dropped is counted, never hidden.
 */
import {
  closeSync,
  ftruncateSync,
  openSync,
  readSync,
  statfsSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

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

/** Where the bytes lie: `at` is a position below the capacity. */
interface Store {
  write(bytes: Uint8Array, at: number): void;
  read(into: Uint8Array, at: number): void;
  close(): void;
}

const pageBytes = 256 * 1024;
class MemoryStore implements Store {
  #pages: Uint8Array[] = [];
  write(bytes: Uint8Array, at: number): void {
    this.#each(at, bytes.length, (page, inPage, from, count) =>
      page.set(bytes.subarray(from, from + count), inPage),
    );
  }
  read(into: Uint8Array, at: number): void {
    this.#each(at, into.length, (page, inPage, from, count) =>
      into.set(page.subarray(inPage, inPage + count), from),
    );
  }
  close(): void {
    this.#pages = [];
  }
  #each(
    at: number,
    length: number,
    use: (page: Uint8Array, inPage: number, from: number, count: number) => void,
  ): void {
    for (let done = 0; done < length;) {
      const inPage = (at + done) % pageBytes;
      const count = Math.min(pageBytes - inPage, length - done);
      const index = Math.floor((at + done) / pageBytes);
      use((this.#pages[index] ??= new Uint8Array(pageBytes)), inPage, done, count);
      done += count;
    }
  }
}

/** A file on tmpfs; what does not fit there, as in a container's small `/dev/shm`, in memory. */
class FileStore implements Store {
  readonly #fd: number;
  readonly #memory = new MemoryStore();
  /** First position that lies in memory. */
  #fileEnd = Infinity;
  constructor(path: string) {
    this.#fd = openSync(path, 'wx+', 0o600);
    // Unlinked at once: whatever kills the runner, the bytes go with it.
    unlinkSync(path);
  }
  write(bytes: Uint8Array, at: number): void {
    let done = 0;
    try {
      while (done < bytes.length && at + done < this.#fileEnd) {
        const count = Math.min(bytes.length - done, this.#fileEnd - at - done);
        done += writeSync(this.#fd, bytes, done, count, at + done);
      }
    } catch (error) {
      // Positions are written in order, so everything below is there already.
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
      this.#fileEnd = at + done;
    }
    this.#memory.write(bytes.subarray(done), at + done - this.#fileEnd);
  }
  read(into: Uint8Array, at: number): void {
    let done = 0;
    while (done < into.length && at + done < this.#fileEnd) {
      const wanted = Math.min(into.length - done, this.#fileEnd - at - done);
      const count = readSync(this.#fd, into, done, wanted, at + done);
      if (count === 0) throw new Error('the journal ended before its length');
      done += count;
    }
    this.#memory.read(into.subarray(done), at + done - this.#fileEnd);
  }
  close(): void {
    ftruncateSync(this.#fd, 0);
    closeSync(this.#fd);
    this.#memory.close();
  }
}

/** What all journals of a runner share: one bound over everything they hold. */
export class JournalSpace {
  readonly dir: string | null;
  readonly bytesMax: number;
  readonly #journals = new Set<Journal>();
  #made = 0;

  /** @param dir a directory on tmpfs, or `null` for plain memory */
  constructor(dir: string | null, bytesMax: number) {
    this.dir = dir;
    this.bytesMax = bytesMax;
  }

  open(bytesMax: number): Journal {
    const store =
      this.dir === null ? new MemoryStore() : new FileStore(join(this.dir, `j${this.#made++}`));
    const journal = new Journal(store, bytesMax, this);
    this.#journals.add(journal);
    return journal;
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
  readonly #store: Store;
  readonly #space: JournalSpace;
  /** Ring size: grows with the output up to the bound, then stays. */
  #capacity = 0;
  #capacityMax: number;
  #end = 0;
  #from = 0;
  #starts: number[] = [];
  #streams: Stream[] = [];
  #first = 0;
  finished = false;
  readonly bytesOf = { stdout: 0, stderr: 0 };

  constructor(store: Store, bytesMax: number, space: JournalSpace) {
    this.#store = store;
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
    let at = this.#end + skip;
    for (let done = skip; done < bytes.length;) {
      const position = at % this.#capacity;
      const count = Math.min(bytes.length - done, this.#capacity - position);
      this.#store.write(bytes.subarray(done, done + count), position);
      done += count;
      at += count;
    }
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
    for (let done = 0; done < bytes.length;) {
      const position = (start + done) % this.#capacity;
      const count = Math.min(bytes.length - done, this.#capacity - position);
      this.#store.read(bytes.subarray(done, done + count), position);
      done += count;
    }
    return { stream, offset: start, bytes };
  }

  /** Frees the bytes; offsets and counts stay. */
  drop(): void {
    this.#from = this.#end;
    this.#capacity = 0;
    this.#capacityMax = 0;
    this.#starts = [];
    this.#streams = [];
    this.#first = 0;
    this.#store.close();
    this.#space.forget(this);
  }

  /** While nothing has wrapped, positions equal offsets, so the ring may still grow. */
  #grow(bytes: number): void {
    const wanted = Math.min(this.#end + bytes, this.#capacityMax);
    if (wanted <= this.#capacity) return;
    if (this.#space.reserve(wanted - this.#capacity)) {
      this.#capacity = wanted;
      return;
    }
    // No room in all: this journal keeps the size it has, and at least one page.
    this.#capacityMax = Math.max(this.#capacity, Math.min(pageBytes, this.#capacityMax));
    this.#capacity = this.#capacityMax;
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
