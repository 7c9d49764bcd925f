/**
 * The redacted output of one command by byte offset, both streams in the order they came. The
 * newest bytes are in memory: an unlinked file on tmpfs, or plain memory where there is none. Older
 * ones are in a file that nobody can read without the runner (`encrypted-store.ts`). The newest
 * `bytesMax` bytes are kept; what was dropped is counted, never hidden.
 */
import { randomBytes } from 'node:crypto';
import { statfsSync } from 'node:fs';
import { join } from 'node:path';
import { limits } from '../limits.ts';
import { EncryptedStore } from './encrypted-store.ts';
import {
  MemoryFile,
  memoryPageBytes,
  MemoryPages,
  RingStore,
  JournalShelf,
  shelvedBytesMax,
  type JournalStore,
} from './journal-stores.ts';

/** `statfs` type of tmpfs. Source: linux/magic.h. */
const tmpfsMagic = 0x01021994;
/** Switches between the streams that are remembered; older bytes are dropped with them. */
const segmentsMax = 262_144;
/** Moved to the file at once. */
const pieceBytes = 256 * 1024;
const noBytes = new Uint8Array(0);

export type JournalStream = 'stdout' | 'stderr';

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
  /** Of one journal, in memory. */
  readonly memoryMax: number;
  readonly #filesDir: string | null;
  readonly #journals = new Set<Journal>();
  #made = 0;
  #shelf: JournalShelf | null = null;

  /**
   * @param dir a directory on tmpfs, or `null` for plain memory
   * @param files the directory for bytes that do not fit in memory; `null`: none
   */
  constructor(
    dir: string | null,
    bytesMax: number,
    files: { readonly dir: string; readonly memoryMax?: number } | null = null,
  ) {
    this.dir = dir;
    this.bytesMax = bytesMax;
    this.#filesDir = files?.dir ?? null;
    this.memoryMax = files?.memoryMax ?? limits.journalMemoryBytes.max;
  }

  open(bytesMax: number): Journal {
    const journal = new Journal(bytesMax, this);
    this.#journals.add(journal);
    return journal;
  }

  /** A ring of its own for a command that writes. */
  ring(): JournalStore {
    return new RingStore(this.#bytes());
  }

  /** Room on a shelf for an ended journal. */
  shelve(from: number, length: number): JournalStore {
    if (this.#shelf === null || this.#shelf.full) this.#shelf = new JournalShelf(this.#bytes());
    return this.#shelf.allocate(from, length);
  }

  /** A file for the bytes of one journal that do not fit in memory; `null`: there is none. */
  file(): EncryptedStore | null {
    if (this.#filesDir === null) return null;
    return new EncryptedStore(join(this.#filesDir, `f${randomBytes(8).toString('hex')}`));
  }

  /** Makes room for `bytes` in files, as {@link reserve} does in memory. */
  reserveFile(bytes: number): boolean {
    let bytesUsed = 0;
    for (const journal of this.#journals) bytesUsed += journal.fileBytes;
    for (const journal of this.#journals) {
      if (bytesUsed + bytes <= limits.journalFilesBytes.default) return true;
      if (!journal.finished) continue;
      bytesUsed -= journal.fileBytes;
      journal.dropFile();
    }
    return bytesUsed + bytes <= limits.journalFilesBytes.default;
  }

  #bytes(): MemoryFile | MemoryPages {
    if (this.dir === null) return new MemoryPages();
    return new MemoryFile(join(this.dir, `j${this.#made++}`));
  }

  get heldBytes(): number {
    let sum = 0;
    for (const journal of this.#journals) sum += journal.heldBytes;
    return sum;
  }

  /** Makes room for `bytes` by dropping the oldest finished journals; returns whether it could. */
  reserve(bytes: number): boolean {
    let bytesUsed = this.heldBytes;
    for (const journal of this.#journals) {
      if (bytesUsed + bytes <= this.bytesMax) return true;
      if (!journal.finished || journal.heldBytes === 0) continue;
      bytesUsed -= journal.heldBytes;
      journal.drop();
    }
    return bytesUsed + bytes <= this.bytesMax;
  }

  forget(journal: Journal): void {
    this.#journals.delete(journal);
  }
}

/** A chunk of one stream's output. */
export interface JournalChunk {
  readonly stream: JournalStream;
  readonly offset: number;
  readonly bytes: Uint8Array;
}

export class Journal {
  /** Made at the first byte. */
  #store: JournalStore | null = null;
  readonly #space: JournalSpace;
  /** Ring size: grows with the output up to the bound, then stays. */
  #capacity = 0;
  #capacityMax: number;
  #end = 0;
  #from = 0;
  /** Older bytes are in the file. */
  #memoryFrom = 0;
  readonly #bytesMax: number;
  /** Made when memory is full; `null`: none, or what it had is dropped. */
  #file: EncryptedStore | null = null;
  #hasFile = true;
  #starts: number[] = [];
  #streams: JournalStream[] = [];
  #first = 0;
  #finished = false;
  readonly bytesOf = { stdout: 0, stderr: 0 };

  constructor(bytesMax: number, space: JournalSpace) {
    this.#bytesMax = bytesMax;
    this.#capacityMax = Math.min(bytesMax, space.memoryMax);
    this.#hasFile = bytesMax > this.#capacityMax;
    this.#space = space;
  }

  /** Offset after the last byte: also the number of bytes ever written. */
  get end(): number {
    return this.#end;
  }
  /** Offset of the first byte still kept. */
  get from(): number {
    return this.#from;
  }
  get finished(): boolean {
    return this.#finished;
  }
  /** Of which the newest are in memory. */
  get memoryMax(): number {
    return this.#capacityMax;
  }
  get fileBytes(): number {
    return this.#file === null ? 0 : this.#memoryFrom - this.#from;
  }
  get heldBytes(): number {
    return Math.min(this.#capacity, this.#end);
  }

  append(stream: JournalStream, bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#grow(bytes.length);
    this.#note(stream);
    this.bytesOf[stream] += bytes.length;
    // Of a chunk that is larger than the ring, only the end fits.
    const skip = Math.max(0, bytes.length - this.#capacity);
    const end = this.#end + bytes.length;
    this.#outOfMemory(Math.max(this.#memoryFrom, end - this.#capacity), bytes.subarray(0, skip));
    this.#store?.write(bytes.subarray(skip), this.#end + skip);
    this.#end = end;
    const kept = this.#file === null ? this.#memoryFrom : end - this.#bytesMax;
    this.#advance(Math.max(this.#from, kept));
  }

  /** What lies before `from` goes to the file, with the part of a new chunk that does not fit. */
  #outOfMemory(from: number, skipped: Uint8Array): void {
    const start = this.#memoryFrom;
    const count = Math.min(from, this.#end) - start;
    this.#memoryFrom = from;
    if (count + skipped.length === 0 || !this.#openFile(count + skipped.length)) return;
    try {
      const piece = new Uint8Array(Math.min(count, pieceBytes));
      for (let at = start; at < start + count; at += piece.length) {
        const part = piece.subarray(0, Math.min(piece.length, start + count - at));
        this.#store?.read(part, at);
        this.#file?.write(part, at);
      }
      this.#file?.write(skipped, this.#end);
    } catch {
      // The disk is full: bytes that are not stored are a counted gap.
      this.dropFile();
    }
  }

  #openFile(bytes: number): boolean {
    if (!this.#hasFile) return false;
    const room = this.#space.reserveFile(bytes);
    try {
      if (room) this.#file ??= this.#space.file();
      this.#file?.grow(this.#bytesMax);
    } catch {
      this.dropFile();
    }
    if (!room || this.#file === null) this.dropFile();
    return this.#file !== null;
  }

  /** `false`: the disk failed, and what it had is a gap. */
  #readFile(into: Uint8Array, offset: number): boolean {
    try {
      this.#file?.read(into, offset);
      return true;
    } catch {
      this.dropFile();
      return false;
    }
  }

  /** Frees what is not in memory: it is a counted gap from now on. */
  dropFile(): void {
    this.#hasFile = false;
    this.#file?.close();
    this.#file = null;
    this.#advance(Math.max(this.#from, this.#memoryFrom));
  }

  /** The bytes of one stream that lie at `offset`, at most `bytesMax`; `null` at the end. */
  read(offset: number, bytesMax: number): JournalChunk | null {
    const start = Math.max(offset, this.#from);
    if (start >= this.#end) return null;
    const index = this.#segmentAt(start);
    const stream = this.#streams[index];
    if (stream === undefined) return null;
    const inFile = start < this.#memoryFrom;
    const segmentEnd = this.#starts[index + 1] ?? this.#end;
    const storeEnd = inFile ? this.#memoryFrom : this.#end;
    const stop = Math.min(segmentEnd, storeEnd, start + bytesMax);
    const bytes = new Uint8Array(stop - start);
    if (!inFile) this.#store?.read(bytes, start);
    else if (!this.#readFile(bytes, start)) return { stream, offset: start, bytes: noBytes };
    return { stream, offset: start, bytes };
  }

  /** No more bytes come: the journal moves to the cheapest store. */
  finish(): void {
    this.#finished = true;
    const length = this.#end - this.#from;
    if (this.#store === null || length > shelvedBytesMax || this.#file !== null) return;
    const bytes = new Uint8Array(length);
    this.#store.read(bytes, this.#from);
    this.#store.close();
    this.#store = this.#space.shelve(this.#from, length);
    this.#store.write(bytes, this.#from);
  }

  /** Frees the bytes; offsets and counts stay. */
  drop(): void {
    this.dropFile();
    this.#from = this.#end;
    this.#memoryFrom = this.#end;
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
      this.#capacityMax = Math.max(this.#capacity, Math.min(memoryPageBytes, this.#capacityMax));
      this.#capacity = this.#capacityMax;
    }
    this.#store.grow(this.#capacity);
  }

  #note(stream: JournalStream): void {
    if (this.#streams.length > this.#first && this.#streams.at(-1) === stream) return;
    this.#starts.push(this.#end);
    this.#streams.push(stream);
    if (this.#starts.length - this.#first > segmentsMax) {
      this.#advance(this.#starts[this.#first + 1] ?? this.#end);
    }
  }

  #advance(from: number): void {
    this.#from = from;
    this.#memoryFrom = Math.max(this.#memoryFrom, from);
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
