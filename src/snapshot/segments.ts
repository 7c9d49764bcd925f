/** The segments of one directory: which exist, what is in them, and which is written. */
import { chmod, mkdir, rename, rm, stat } from 'node:fs/promises';
import { TrlError } from '../errors.ts';
import { listNumberedFiles } from '../segment-files.ts';
import { associatedDataOf, sealRoles, sealOverheadBytes, unsealPayload } from './seal.ts';
import { deriveKeys, type StoreKeys } from './seal.ts';
import { batchHeadBytes, batchMagic, bodyLocationsOf, headerBytes } from './segment.ts';
import { segmentPattern, SnapshotSegment, type BatchDirectory } from './segment.ts';

export interface SegmentsOptions {
  readonly directory: string;
  readonly key: Uint8Array;
  /** A segment that has reached this size is followed by a new one. */
  readonly segmentBytes: number;
  readonly log: (line: string) => void;
}

/** What was found at open and is lost. */
export interface SegmentLosses {
  /** Cut off the end: never acknowledged as on disk. */
  tornBytes: number;
  /** In the middle: was on disk, and is not readable. */
  damagedBytes: number;
}

export class Segments {
  readonly keys: StoreKeys;
  readonly losses: SegmentLosses = { tornBytes: 0, damagedBytes: 0 };
  readonly #options: SegmentsOptions;
  readonly #all = new Map<number, SnapshotSegment>();
  #active: SnapshotSegment | null = null;
  #numberMax = 0;
  #isClosed = false;

  private constructor(options: SegmentsOptions) {
    this.#options = options;
    this.keys = deriveKeys(options.key);
  }

  /**
   * @param onDirectory gets all directories, oldest first
   * @throws TrlError `INTERNAL_ERROR` if the key does not fit
   */
  static async open(
    options: SegmentsOptions,
    onDirectory: (segment: SnapshotSegment, directory: BatchDirectory) => void,
  ): Promise<Segments> {
    const { directory } = options;
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const { mode, uid } = await stat(directory);
    if (uid !== process.getuid?.()) throw unusable(directory, `uid ${uid} owns it`);
    if ((mode & 0o077) !== 0) await chmod(directory, 0o700);
    const segments = new Segments(options);
    try {
      await segments.#openAll();
      for (const segment of segments.#all.values()) await segments.#load(segment, onDirectory);
    } catch (error) {
      await segments.closeFiles();
      throw error;
    }
    return segments;
  }

  async #openAll(): Promise<void> {
    const foreign: string[] = [];
    for (const { file, number } of listNumberedFiles(this.#options.directory, segmentPattern)) {
      this.#numberMax = number;
      const segment = await SnapshotSegment.open(file, this.keys);
      if (segment === 'torn') await this.#dropTorn(file);
      else if (segment === 'foreign') foreign.push(file);
      else this.#all.set(segment.number, segment);
    }
    if (foreign.length > 0 && this.#all.size === 0) {
      throw unusable(this.#options.directory, 'the key does not fit, or all of it is damaged');
    }
    for (const file of foreign) {
      this.losses.damagedBytes += (await stat(file)).size;
      await rename(file, `${file}.damaged`);
      this.#options.log(`snapshots: the header of "${file}" is damaged; it is renamed to .damaged`);
    }
  }

  async #dropTorn(file: string): Promise<void> {
    this.losses.tornBytes += (await stat(file)).size;
    await rm(file);
  }

  async #load(
    segment: SnapshotSegment,
    onDirectory: (s: SnapshotSegment, d: BatchDirectory) => void,
  ): Promise<void> {
    const { tornBytes, damagedBytes, isIndexed } = await scanSegment(segment);
    this.losses.tornBytes += tornBytes;
    this.losses.damagedBytes += damagedBytes;
    const found = `snapshots: in "${segment.file}"`;
    if (tornBytes > 0) this.#options.log(`${found} a torn write of ${tornBytes} B is cut off`);
    if (damagedBytes > 0) this.#options.log(`${found} ${damagedBytes} B are damaged and lost`);
    for (const directory of segment.directories) onDirectory(segment, directory);
    if (segment.number === this.#numberMax && segment.end < this.#options.segmentBytes) {
      this.#active = segment;
      return;
    }
    if (!isIndexed) await segment.writeIndex();
    segment.directories.length = 0;
  }

  /** The segment to write to; a new one if the last is full or broken. */
  async active(): Promise<SnapshotSegment> {
    if (this.#isClosed) throw new Error('the snapshots are closed');
    const active = this.#active;
    if (active !== null && !active.broken && active.end < this.#options.segmentBytes) return active;
    await this.roll();
    this.#numberMax += 1;
    const { directory } = this.#options;
    const segment = SnapshotSegment.create(directory, this.#numberMax, this.keys);
    this.#all.set(segment.number, segment);
    this.#active = segment;
    return segment;
  }

  /** Ends the segment that is written. Must not be called while a batch is being written. */
  async roll(): Promise<void> {
    const active = this.#active;
    this.#active = null;
    if (active === null) return;
    if (active.end === 0) {
      this.#all.delete(active.number);
      await active.remove();
      return;
    }
    await this.#writeIndex(active);
    active.directories.length = 0;
  }

  isActive(segment: SnapshotSegment): boolean {
    return this.#active === segment;
  }

  all(): SnapshotSegment[] {
    return [...this.#all.values()];
  }

  /** The oldest there is, or `null`. */
  oldest(): number | null {
    return this.#all.keys().next().value ?? null;
  }

  /** Bytes of the files. */
  bytes(): number {
    return this.all().reduce((sum, { end }) => sum + end, 0);
  }

  async remove(segment: SnapshotSegment): Promise<void> {
    this.#all.delete(segment.number);
    await segment.remove();
  }

  async close(): Promise<void> {
    const active = this.#active;
    if (active !== null && active.end > 0 && !active.broken) await this.#writeIndex(active);
    await this.closeFiles();
  }

  async closeFiles(): Promise<void> {
    this.#isClosed = true;
    for (const { data } of this.all()) await data.close();
    this.#all.clear();
    this.#active = null;
  }

  /** Without an index the next open reads the batches. */
  async #writeIndex(segment: SnapshotSegment): Promise<void> {
    await segment.writeIndex().catch((error: unknown) => {
      this.#options.log(`snapshots: no index for "${segment.file}": ${String(error)}`);
    });
  }
}

interface SegmentScan {
  /** Cut off its end: a batch that was not certainly on disk when the writer ended. */
  readonly tornBytes: number;
  /** In its middle, and lost. */
  readonly damagedBytes: number;
  /** Its index lists all batches. */
  readonly isIndexed: boolean;
}

const windowBytes = 256 * 1024;

/** Finds the batches: fills `segment.directories`, and cuts off a torn write. */
async function scanSegment(segment: SnapshotSegment): Promise<SegmentScan> {
  const size = segment.end;
  const index = await segment.readIndex();
  for (const directory of index?.directories ?? []) segment.directories.push(directory);
  const reader = new BatchReader(segment, size);
  let at = index?.end ?? headerBytes;
  let damagedBytes = 0;
  let last: Batch | null = null;
  while (at < size) {
    let batch = await reader.batch(at);
    if (batch === null) {
      const next = await findBatch(reader, at + 1, size);
      if (next === null) break;
      damagedBytes += next.start - at;
      batch = next;
    }
    last = batch;
    segment.directories.push(batch.directory);
    at = batch.end;
  }
  if (last !== null && !(await isWhole(segment, last))) {
    segment.directories.pop();
    at = last.start;
  }
  if (at < size) await segment.data.cut(at);
  // Without a batch the header is written again with the first.
  segment.data.end = at === headerBytes ? 0 : at;
  return { tornBytes: size - at, damagedBytes, isIndexed: index?.end === at };
}

interface Batch {
  readonly start: number;
  readonly end: number;
  readonly directory: BatchDirectory;
}

/** Reads ahead, because most batches are small. */
class BatchReader {
  readonly #segment: SnapshotSegment;
  readonly #size: number;
  #window: Buffer = Buffer.alloc(0);
  #start = 0;

  constructor(segment: SnapshotSegment, size: number) {
    this.#segment = segment;
    this.#size = size;
  }

  /** At most `bytes` from a position; fewer at the end of the file. */
  async bytes(at: number, bytes: number): Promise<Buffer> {
    if (at < this.#start || at + bytes > this.#start + this.#window.length) {
      const wanted = Math.min(Math.max(bytes, windowBytes), this.#size - at);
      this.#window = await this.#segment.data.read(at, at + wanted);
      this.#start = at;
    }
    return this.#window.subarray(at - this.#start, at - this.#start + bytes);
  }

  async batch(at: number): Promise<Batch | null> {
    const head = Buffer.from(await this.bytes(at, batchHeadBytes));
    if (head.length < batchHeadBytes || !head.subarray(0, 4).equals(batchMagic)) return null;
    const directoryBytes = head.readUInt32LE(4);
    const bodiesAt = at + batchHeadBytes + directoryBytes;
    const end = bodiesAt + head.readUInt32LE(8);
    if (directoryBytes < sealOverheadBytes || end > this.#size) return null;
    const sealed = await this.bytes(at + batchHeadBytes, directoryBytes);
    const plain = unsealPayload(
      this.#segment.key,
      associatedDataOf(sealRoles.directory, at, head),
      sealed,
    );
    if (plain === null) return null;
    return { start: at, end, directory: { bodiesAt, text: plain.toString() } };
  }
}

/** The next authentic batch at `from` or later. */
async function findBatch(reader: BatchReader, from: number, size: number): Promise<Batch | null> {
  let at = from;
  while (at < size) {
    const window = await reader.bytes(at, Math.min(windowBytes, size - at));
    const found = window.indexOf(batchMagic);
    if (found === -1) {
      if (window.length < batchMagic.length) return null;
      at += window.length - batchMagic.length + 1;
      continue;
    }
    const batch = await reader.batch(at + found);
    if (batch !== null) return batch;
    at += found + 1;
  }
  return null;
}

/** After a power cut the directory may be on disk and a body not. */
async function isWhole(segment: SnapshotSegment, { directory }: Batch): Promise<boolean> {
  for (const { location } of bodyLocationsOf(segment, directory)) {
    if (location.bytes > 0 && (await segment.read(location)) === null) return false;
  }
  return true;
}

function unusable(directory: string, reason: string): TrlError {
  return new TrlError('INTERNAL_ERROR', `Cannot open the snapshots "${directory}": ${reason}`);
}
