/**
 * One append-only file of the store. Numbers are little-endian; "sealed" is defined by `seal.ts`.
 *
 *   segment = magic "TRLSNAP1" | number u32 | 0 u32 | salt (32) | proof (28) | batch ...
 *   batch   = magic "TRLB" | bytes of the directory u32 | bytes of all bodies u32
 *           | sealed directory | sealed body ...
 *
 * A batch is written only when the one before it is known to be on disk, so only the last one can
 * be torn. Next to a segment that is full or was closed is its index: all its directories, sealed
 * together. It is only faster than reading the batches, and never needed.
 */
import { randomBytes, type KeyObject } from 'node:crypto';
import { readSync } from 'node:fs';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { paddedNumber, SegmentFile, syncDirectory, systemErrorCode } from '../segment-files.ts';
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

const startBytes = 48;
export const headerBytes = startBytes + sealOverheadBytes;
export const batchHeadBytes = 12;
export const batchMagic = Buffer.from('TRLB');
const magic = Buffer.from('TRLSNAP1');
const nothing = new Uint8Array();
/** A blank file that is larger can hardly be a first batch that a power cut left. */
const firstBytesMax = 2 * 1024 * 1024;

/** Where a sealed body is. */
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

/** What is to be written: a line of the directory and its packed body, if it has one. */
export interface BatchEntry {
  readonly line: DirectoryLine;
  readonly payload: Buffer | null;
}

export const segmentPattern = /^(\d{8,})\.segment$/;

export class SnapshotSegment {
  readonly number: number;
  /** Its `end` is 0 while no batch is on disk: the header is written with the first. */
  readonly data: SegmentFile;
  readonly key: KeyObject;
  /** Bytes of bodies that are still needed. */
  liveBytes = 0;
  /** A write failed such that nothing may follow it. */
  broken = false;
  /** Directories of all batches, while the index is not written. */
  readonly directories: BatchDirectory[] = [];
  readonly #header: Buffer;

  private constructor(
    number: number,
    data: SegmentFile,
    { key, header }: { readonly key: KeyObject; readonly header: Buffer },
  ) {
    this.number = number;
    this.data = data;
    this.key = key;
    this.#header = header;
  }

  static create(directory: string, number: number, keys: StoreKeys): SnapshotSegment {
    const start = Buffer.alloc(startBytes);
    magic.copy(start);
    start.writeUInt32LE(number, 8);
    randomBytes(32).copy(start, 16);
    const key = keys.keyOf(start.subarray(16));
    const proof = sealPayload(key, associatedDataOf(sealRoles.header, number, start), nothing);
    const header = Buffer.concat([start, ...proof]);
    const name = `${paddedNumber(number, 8)}.segment`;
    const data = SegmentFile.create(path.join(directory, name));
    return new SnapshotSegment(number, data, { key, header });
  }

  /**
   * `torn`: its first write did not finish, so nothing in it was certainly on disk. `foreign`: the
   * key does not fit, or its header is damaged.
   */
  static async open(file: string, keys: StoreKeys): Promise<SnapshotSegment | 'torn' | 'foreign'> {
    const number = Number.parseInt(path.basename(file), 10);
    const data = SegmentFile.open(file);
    const found = await data.read(0, headerBytes);
    const header = Buffer.concat([found], headerBytes);
    const start = header.subarray(0, startBytes);
    const key = keys.keyOf(start.subarray(16));
    const bound = associatedDataOf(sealRoles.header, number, start);
    const proof = unsealPayload(key, bound, header.subarray(startBytes));
    const isComplete = found.length === headerBytes;
    if (isComplete && proof !== null && start.subarray(0, 8).equals(magic)) {
      return new SnapshotSegment(number, data, { key, header });
    }
    await data.close();
    const isBlank = header.every((byte) => byte === 0) && data.end <= firstBytesMax;
    return !isComplete || isBlank ? 'torn' : 'foreign';
  }

  get file(): string {
    return this.data.path;
  }

  /** Bytes that are on disk. */
  get end(): number {
    return this.data.end;
  }

  get #indexFile(): string {
    return this.file.replace(/segment$/, 'index');
  }

  /**
   * Writes one batch, all of it or none: it is on disk when this resolves.
   *
   * @throws the error of the file system; the segment may be `broken` then
   */
  async append(entries: readonly BatchEntry[]): Promise<BodyLocation[]> {
    const isFirst = this.end === 0;
    const start = isFirst ? headerBytes : this.end;
    const { batch, text, locations } = this.#batch(entries, start);
    const bytes = Buffer.concat(isFirst ? [this.#header, ...batch] : batch);
    const syncName = (): Promise<void> => syncDirectory(path.dirname(this.file));
    try {
      await this.data.append(bytes, isFirst ? syncName : undefined);
    } catch (error) {
      // What the disk did not take may be missing in memory, too: nothing is appended to it.
      this.broken = !isRefused(error);
      await this.data.cut().catch(() => (this.broken = true));
      throw error;
    }
    const bodiesAt = this.end - locations.reduce((sum, body) => sum + body.bytes, 0);
    this.directories.push({ bodiesAt, text });
    return locations;
  }

  #batch(
    entries: readonly BatchEntry[],
    start: number,
  ): { batch: Buffer[]; text: string; locations: BodyLocation[] } {
    const text = encodeDirectory(entries.map(({ line }) => line));
    const plain = Buffer.from(text);
    const head = Buffer.alloc(batchHeadBytes);
    batchMagic.copy(head);
    head.writeUInt32LE(plain.length + sealOverheadBytes, 4);
    const bodiesBytes = entries.reduce((sum, { line }) => sum + bodyBytes(line), 0);
    head.writeUInt32LE(bodiesBytes, 8);
    const bound = associatedDataOf(sealRoles.directory, start, head);
    const batch = [head, ...sealPayload(this.key, bound, plain)];
    let offset = start + batchHeadBytes + plain.length + sealOverheadBytes;
    const locations = entries.map(({ payload }) => {
      const bytes = payload === null ? 0 : payload.length + sealOverheadBytes;
      const location = { segment: this, offset, bytes };
      if (payload === null) return location;
      batch.push(...sealPayload(this.key, associatedDataOf(sealRoles.body, offset), payload));
      offset += bytes;
      return location;
    });
    return { batch, text, locations };
  }

  /** A packed body; `null`: it is damaged. */
  async read({ offset, bytes }: BodyLocation): Promise<Buffer | null> {
    const sealed = await this.data.read(offset, offset + bytes);
    return sealed.length === bytes ? this.#unseal(sealed, offset) : null;
  }

  /** Like {@link read}, for small bodies. */
  readNow({ offset, bytes }: BodyLocation): Buffer | null {
    const sealed = Buffer.allocUnsafe(bytes);
    const read = readSync(this.data.fd, sealed, 0, bytes, offset);
    return read === bytes ? this.#unseal(sealed, offset) : null;
  }

  #unseal(sealed: Buffer, offset: number): Buffer | null {
    return unsealPayload(this.key, associatedDataOf(sealRoles.body, offset), sealed);
  }

  async writeIndex(): Promise<void> {
    const lines = this.directories.map(({ bodiesAt, text }) => `${bodiesAt} ${text}`);
    const plain = Buffer.from([this.end, ...lines].join('\n'));
    const file = this.#indexFile;
    const sealed = sealPayload(this.key, associatedDataOf(sealRoles.index, this.number), plain);
    await writeFile(`${file}.new`, Buffer.concat(sealed), { mode: 0o600 });
    await rename(`${file}.new`, file);
  }

  /** The directories up to a position; `null`: there is no index that fits. */
  async readIndex(): Promise<{ end: number; directories: BatchDirectory[] } | null> {
    const sealed = await readFile(this.#indexFile).catch(() => null);
    if (sealed === null) return null;
    const plain = unsealPayload(this.key, associatedDataOf(sealRoles.index, this.number), sealed);
    const [first, ...rest] = plain?.toString().split('\n') ?? [];
    const end = Number(first);
    // The file is shorter: the index was written for another one.
    if (first === undefined || !(end >= headerBytes && end <= this.end)) return null;
    const directories = rest.map((line) => {
      const space = line.indexOf(' ');
      return { bodiesAt: Number(line.slice(0, space)), text: line.slice(space + 1) };
    });
    return { end, directories };
  }

  async remove(): Promise<void> {
    await rm(this.#indexFile, { force: true });
    await this.data.remove();
  }
}

/** The lines of a directory with the locations of their bodies. */
export function* bodyLocationsOf(
  segment: SnapshotSegment,
  { bodiesAt, text }: BatchDirectory,
): Generator<{ line: DirectoryLine; location: BodyLocation }> {
  let offset = bodiesAt;
  for (const line of decodeDirectory(text) ?? []) {
    const bytes = bodyBytes(line);
    yield { line, location: { segment, offset, bytes } };
    offset += bytes;
  }
}

/** There was no room: none of it was taken, and what is in the file is as it was. */
const isRefused = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(systemErrorCode(error) ?? '');
