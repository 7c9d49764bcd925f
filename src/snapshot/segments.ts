/** The segments of one directory: which there are, and which is written to. */
import { chmod, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { TrlError } from '../errors.ts';
import { scanSegment } from './segment-scan.ts';
import { deriveKeys, type StoreKeys } from './seal.ts';
import { SnapshotSegment, type BatchDirectory } from './segment.ts';

export interface SegmentsOptions {
  readonly directory: string;
  readonly key: Uint8Array;
  /** A segment that is this large is followed by a new one. */
  readonly segmentBytes: number;
  readonly log: (line: string) => void;
}

/** What was found at open that could not be believed. */
export interface SegmentLosses {
  /** Cut off the end: never said to be on disk. */
  tornBytes: number;
  /** In the midst: was on disk, and is not readable. */
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
   * Tells all directories, oldest first.
   *
   * @throws TrlError `INTERNAL_ERROR` where the key does not fit
   */
  static async open(
    options: SegmentsOptions,
    tell: (segment: SnapshotSegment, directory: BatchDirectory) => void,
  ): Promise<Segments> {
    const { directory } = options;
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const { mode, uid } = await stat(directory);
    if (uid !== process.getuid?.()) throw unusable(directory, `uid ${uid} owns it`);
    if ((mode & 0o077) !== 0) await chmod(directory, 0o700);
    const segments = new Segments(options);
    const names = (await readdir(directory)).filter((name) => /^\d{8,}\.segment$/.test(name));
    const files = names.map((name) => path.join(directory, name)).toSorted(byNumber);
    try {
      await segments.#openAll(files);
      for (const segment of segments.#all.values()) await segments.#load(segment, tell);
    } catch (error) {
      await segments.closeFiles();
      throw error;
    }
    return segments;
  }

  async #openAll(files: readonly string[]): Promise<void> {
    const foreign: string[] = [];
    for (const file of files) {
      this.#numberMax = Math.max(this.#numberMax, numberOf(file));
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
      this.#options.log(`snapshots: the head of "${file}" is damaged; it is set aside`);
    }
  }

  async #dropTorn(file: string): Promise<void> {
    this.losses.tornBytes += (await stat(file)).size;
    await rm(file);
  }

  async #load(
    segment: SnapshotSegment,
    tell: (s: SnapshotSegment, d: BatchDirectory) => void,
  ): Promise<void> {
    const { tornBytes, damagedBytes, isIndexed } = await scanSegment(segment);
    this.losses.tornBytes += tornBytes;
    this.losses.damagedBytes += damagedBytes;
    const found = `snapshots: in "${segment.file}"`;
    if (tornBytes > 0) this.#options.log(`${found} an unfinished end of ${tornBytes} B is cut off`);
    if (damagedBytes > 0) this.#options.log(`${found} ${damagedBytes} B are damaged and lost`);
    for (const directory of segment.directories) tell(segment, directory);
    if (segment.number === this.#numberMax && segment.end < this.#options.segmentBytes) {
      this.#active = segment;
      return;
    }
    if (!isIndexed) await segment.writeIndex();
    segment.directories.length = 0;
  }

  /** The segment to write to. */
  async active(): Promise<SnapshotSegment> {
    if (this.#isClosed) throw new Error('the snapshots are closed');
    const active = this.#active;
    if (active !== null && !active.broken && active.end < this.#options.segmentBytes) return active;
    await this.roll();
    this.#numberMax += 1;
    const { directory } = this.#options;
    const segment = await SnapshotSegment.create(directory, this.#numberMax, this.keys);
    this.#all.set(segment.number, segment);
    this.#active = segment;
    return segment;
  }

  /** Ends the segment that is written to. Must not be called while a batch is under way. */
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
    for (const { handle } of this.all()) await handle.close();
    this.#all.clear();
    this.#active = null;
  }

  /** Where it cannot be written, the next open walks through the batches. */
  async #writeIndex(segment: SnapshotSegment): Promise<void> {
    await segment.writeIndex().catch((error: unknown) => {
      this.#options.log(`snapshots: no index for "${segment.file}": ${String(error)}`);
    });
  }
}

const numberOf = (file: string): number => Number.parseInt(path.basename(file), 10);
const byNumber = (one: string, other: string): number => numberOf(one) - numberOf(other);

function unusable(directory: string, reason: string): TrlError {
  return new TrlError('INTERNAL_ERROR', `Cannot open the snapshots "${directory}": ${reason}`);
}
