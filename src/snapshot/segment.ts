/**
 * One append-only file of the store. Numbers are little-endian; "sealed" is of `seal.ts`.
 *
 *   segment = magic "TRLSNAP1" | number u32 | 0 u32 | salt (32) | proof (28) | batch ...
 *   batch   = magic "TRLB" | bytes of the directory u32 | bytes of all bodies u32
 *           | sealed directory | sealed body ...
 *
 * A batch is written only when the one before it is known to be on disk, so only the last one can
 * be torn. Beside a segment that is full or was closed lies its index: all its directories, sealed
 * together. It is never needed, only faster than to walk through the batches.
 */
import { randomBytes, type KeyObject } from 'node:crypto';
import { constants, readSync } from 'node:fs';
import { open, readFile, rename, rm, writeFile, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import {
  bodyBytes,
  decodeDirectory,
  encodeDirectory,
  type DirectoryLine,
} from './batch-directory.ts';
import {
  associatedDataOf,
  sealRoles,
  sealPayload,
  sealOverheadBytes,
  unsealPayload,
  type StoreKeys,
} from './seal.ts';

export const headerBytes = 48 + sealOverheadBytes;
export const batchHeadBytes = 12;
export const batchMagic = Buffer.from('TRLB');
const magic = Buffer.from('TRLSNAP1');
const nothing = new Uint8Array();
const { O_CREAT, O_DSYNC, O_EXCL, O_RDWR } = constants;
/** What is written is on disk when the call returns, as by `fdatasync`, in one call of the two. */
const opened = O_RDWR | O_DSYNC;
/** More than this is hardly a first batch that a power cut left without its head. */
const firstBytesMax = 2 * 1024 * 1024;

/** Where a body lies, sealed. */
export interface BodyLocation {
  readonly segment: SnapshotSegment;
  readonly offset: number;
  readonly bytes: number;
}

/** A directory, and where the first body of its batch begins. */
export interface BatchDirectory {
  readonly bodiesAt: number;
  readonly text: string;
}

/** What is to be written: one line of the directory and its body, packed, where it has one. */
export interface BatchEntry {
  readonly line: DirectoryLine;
  readonly payload: Buffer | null;
}

export const segmentFile = (directory: string, number: number): string =>
  path.join(directory, `${String(number).padStart(8, '0')}.segment`);

export const segmentIndexFile = (file: string): string => file.replace(/segment$/, 'index');

export class SnapshotSegment {
  readonly number: number;
  readonly file: string;
  readonly handle: FileHandle;
  readonly key: KeyObject;
  /** Bytes that are written and on disk. */
  end: number;
  /** Bytes of bodies that are still wanted. */
  liveBytes = 0;
  /** A write failed such that nothing may follow it. */
  broken = false;
  /** Directories of all batches, while the index is not written. */
  readonly directories: BatchDirectory[] = [];
  readonly #header: Buffer;

  private constructor(at: { number: number; file: string; handle: FileHandle }, own: Own) {
    this.number = at.number;
    this.file = at.file;
    this.handle = at.handle;
    this.key = own.key;
    this.#header = own.header;
    this.end = own.end;
  }

  static async create(
    directory: string,
    number: number,
    keys: StoreKeys,
  ): Promise<SnapshotSegment> {
    const file = segmentFile(directory, number);
    const start = Buffer.alloc(48);
    magic.copy(start);
    start.writeUInt32LE(number, 8);
    randomBytes(32).copy(start, 16);
    const key = keys.keyOf(start.subarray(16));
    const proof = sealPayload(key, associatedDataOf(sealRoles.header, number, start), nothing);
    const handle = await open(file, opened | O_CREAT | O_EXCL, 0o600);
    const header = Buffer.concat([start, ...proof]);
    return new SnapshotSegment({ number, file, handle }, { key, header, end: 0 });
  }

  /**
   * `torn`: it was never finished, nothing was ever on disk for certain. `foreign`: the key does
   * not fit, or its head is damaged.
   */
  static async open(file: string, keys: StoreKeys): Promise<SnapshotSegment | 'torn' | 'foreign'> {
    const number = Number.parseInt(path.basename(file), 10);
    const handle = await open(file, opened);
    const header = Buffer.alloc(headerBytes);
    const { bytesRead } = await handle.read(header, 0, headerBytes, 0);
    const start = header.subarray(0, 48);
    const key = keys.keyOf(start.subarray(16));
    const proof = unsealPayload(
      key,
      associatedDataOf(sealRoles.header, number, start),
      header.subarray(48),
    );
    const { size } = await handle.stat();
    if (bytesRead === headerBytes && proof !== null && start.subarray(0, 8).equals(magic)) {
      return new SnapshotSegment({ number, file, handle }, { key, header, end: size });
    }
    await handle.close();
    const isBlank = header.every((byte) => byte === 0) && size <= firstBytesMax;
    return bytesRead < headerBytes || isBlank ? 'torn' : 'foreign';
  }

  /**
   * Writes one batch, all of it or none: it is on disk when this resolves.
   *
   * @throws what the file system says; the segment may be `broken` then
   */
  async append(pieces: readonly BatchEntry[]): Promise<BodyLocation[]> {
    const isFirst = this.end === 0;
    const start = isFirst ? headerBytes : this.end;
    const { batch, text, places } = this.#batch(pieces, start);
    const bytes = Buffer.concat(isFirst ? [this.#header, ...batch] : batch);
    try {
      await this.#write(bytes);
      if (isFirst) await syncDirectory(path.dirname(this.file));
    } catch (error) {
      // What the disk did not take may be gone from memory, too: nothing is built upon it.
      this.broken = !isRefused(error);
      await this.handle.truncate(this.end).catch(() => (this.broken = true));
      throw error;
    }
    this.end += bytes.length;
    const bodiesAt = this.end - places.reduce((sum, place) => sum + place.bytes, 0);
    this.directories.push({ bodiesAt, text });
    return places;
  }

  #batch(
    pieces: readonly BatchEntry[],
    start: number,
  ): { batch: Buffer[]; text: string; places: BodyLocation[] } {
    const text = encodeDirectory(pieces.map(({ line }) => line));
    const plain = Buffer.from(text);
    const head = Buffer.alloc(batchHeadBytes);
    batchMagic.copy(head);
    head.writeUInt32LE(plain.length + sealOverheadBytes, 4);
    head.writeUInt32LE(
      pieces.reduce((sum, { line }) => sum + bodyBytes(line), 0),
      8,
    );
    const batch = [
      head,
      ...sealPayload(this.key, associatedDataOf(sealRoles.directory, start, head), plain),
    ];
    let offset = start + batchHeadBytes + plain.length + sealOverheadBytes;
    const places = pieces.map(({ payload }) => {
      const bytes = payload === null ? 0 : payload.length + sealOverheadBytes;
      const place = { segment: this, offset, bytes };
      if (payload === null) return place;
      batch.push(...sealPayload(this.key, associatedDataOf(sealRoles.body, offset), payload));
      offset += bytes;
      return place;
    });
    return { batch, text, places };
  }

  async #write(bytes: Buffer): Promise<void> {
    let done = 0;
    while (done < bytes.length) {
      const left = bytes.length - done;
      const { bytesWritten } = await this.handle.write(bytes, done, left, this.end + done);
      done += bytesWritten;
    }
  }

  /** A body, packed; `null`: it is damaged. */
  async read({ offset, bytes }: BodyLocation): Promise<Buffer | null> {
    const sealed = Buffer.allocUnsafe(bytes);
    const { bytesRead } = await this.handle.read(sealed, 0, bytes, offset);
    return bytesRead === bytes ? this.#unseal(sealed, offset) : null;
  }

  /** Like {@link read}, for small bodies. */
  readNow({ offset, bytes }: BodyLocation): Buffer | null {
    const sealed = Buffer.allocUnsafe(bytes);
    const read = readSync(this.handle.fd, sealed, 0, bytes, offset);
    return read === bytes ? this.#unseal(sealed, offset) : null;
  }

  #unseal(sealed: Buffer, offset: number): Buffer | null {
    return unsealPayload(this.key, associatedDataOf(sealRoles.body, offset), sealed);
  }

  async writeIndex(): Promise<void> {
    const lines = this.directories.map(({ bodiesAt, text }) => `${bodiesAt} ${text}`);
    const plain = Buffer.from([this.end, ...lines].join('\n'));
    const file = segmentIndexFile(this.file);
    const sealed = sealPayload(this.key, associatedDataOf(sealRoles.index, this.number), plain);
    await writeFile(`${file}.new`, Buffer.concat(sealed), { mode: 0o600 });
    await rename(`${file}.new`, file);
  }

  /** The directories up to a position, or `null` where no index fits. */
  async readIndex(): Promise<{ end: number; directories: BatchDirectory[] } | null> {
    const sealed = await readFile(segmentIndexFile(this.file)).catch(() => null);
    if (sealed === null) return null;
    const plain = unsealPayload(this.key, associatedDataOf(sealRoles.index, this.number), sealed);
    const [first, ...rest] = plain?.toString().split('\n') ?? [];
    const end = Number(first);
    // The file is shorter: it is not the one that the index was written for.
    if (first === undefined || !(end >= headerBytes && end <= this.end)) return null;
    const directories = rest.map((line) => {
      const space = line.indexOf(' ');
      return { bodiesAt: Number(line.slice(0, space)), text: line.slice(space + 1) };
    });
    return { end, directories };
  }

  async remove(): Promise<void> {
    await rm(segmentIndexFile(this.file), { force: true });
    await rm(this.file, { force: true });
    await syncDirectory(path.dirname(this.file));
    // Waits for reads that are under way.
    await this.handle.close();
  }
}

interface Own {
  readonly key: KeyObject;
  readonly header: Buffer;
  readonly end: number;
}

/** The lines of a directory and where the body of each lies. */
export function* bodyLocationsOf(
  segment: SnapshotSegment,
  { bodiesAt, text }: BatchDirectory,
): Generator<{ line: DirectoryLine; place: BodyLocation }> {
  let offset = bodiesAt;
  for (const line of decodeDirectory(text) ?? []) {
    const bytes = bodyBytes(line);
    yield { line, place: { segment, offset, bytes } };
    offset += bytes;
  }
}

/** There was no room: nothing of it was taken, and what is there is as it was. */
function isRefused(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG';
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
