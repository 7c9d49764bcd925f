/** Finds the batches of a segment, and where it is torn or damaged. */
import type { SnapshotSegment, BatchDirectory } from './segment.ts';
import { batchHeadBytes, batchMagic, headerBytes, bodyLocationsOf } from './segment.ts';
import { associatedDataOf, sealRoles, sealOverheadBytes, unsealPayload } from './seal.ts';

export interface SegmentScan {
  /** Cut off its end: what was not yet certain to be on disk when the writer ended. */
  readonly tornBytes: number;
  /** In its midst, and lost: nothing of them is believed. */
  readonly damagedBytes: number;
  /** Its index tells all of it. */
  readonly isIndexed: boolean;
}

const windowBytes = 256 * 1024;

/** Fills `segment.directories` and sets `segment.end`; a torn end is cut off the file. */
export async function scanSegment(segment: SnapshotSegment): Promise<SegmentScan> {
  const size = segment.end;
  const index = await segment.readIndex();
  for (const directory of index?.directories ?? []) segment.directories.push(directory);
  const reader = new Reader(segment, size);
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
  if (at < size) await segment.handle.truncate(at);
  // Not even one batch: the head has to be written again with the first.
  segment.end = at === headerBytes ? 0 : at;
  return { tornBytes: size - at, damagedBytes, isIndexed: index?.end === at };
}

interface Batch {
  readonly start: number;
  readonly end: number;
  readonly directory: BatchDirectory;
}

/** Reads ahead: most batches are small. */
class Reader {
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
      const window = Buffer.allocUnsafe(Math.max(wanted, 0));
      const { bytesRead } = await this.#segment.handle.read(window, 0, window.length, at);
      this.#window = window.subarray(0, bytesRead);
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

/** The next batch that proves itself, at `from` or later. */
async function findBatch(reader: Reader, from: number, size: number): Promise<Batch | null> {
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

/** After a power cut the directory may be there and a body not. */
async function isWhole(segment: SnapshotSegment, { directory }: Batch): Promise<boolean> {
  for (const { place } of bodyLocationsOf(segment, directory)) {
    if (place.bytes > 0 && (await segment.read(place)) === null) return false;
  }
  return true;
}
