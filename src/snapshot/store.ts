/**
 * Contents by hash and records by name, in append-only segments of one directory that one process
 * owns. All of it is sealed. What was put or appended is on disk when a later `sync` resolves.
 */
import { createHash, hash } from 'node:crypto';
import type { ContentStore } from '../content-store.ts';
import { TrlError } from '../errors.ts';
import {
  Catalog,
  createStoredContent,
  CatalogBuilder,
  type StoredContent,
  type StoredRecord,
} from './catalog.ts';
import { unpackPayload } from './payload.ts';
import { contentChunkBytes, readFileChunks, readSmallFile, fileStampOf } from './file-chunks.ts';
import type {
  RecordAppendOptions,
  StoredFileInfo,
  SnapshotStats,
  SnapshotStoreOptions,
} from './options.ts';
import { RecordText } from './record-text.ts';
import { Retention } from './retention.ts';
import type { ContentId } from './seal.ts';
import { bodyLocationsOf } from './segment.ts';
import { Segments } from './segments.ts';
import { SegmentWriter } from './segment-writer.ts';

export type {
  RecordAppendOptions,
  StoredFileInfo,
  SnapshotStats,
  SnapshotStoreOptions,
} from './options.ts';

const keyBytesMin = 32;
const MiB = 1024 * 1024;
/** While the disk takes nothing, no more than this waits. */
const pendingBytesMax = 32 * MiB;
const recordBytesMax = 1024 * MiB;
const retainEveryMs = 60_000;

export class SnapshotStore implements ContentStore {
  readonly fileBytesMax: number;
  readonly #options: SnapshotStoreOptions;
  readonly #catalog: Catalog;
  readonly #segments: Segments;
  readonly #writer: SegmentWriter;
  readonly #retention: Retention;
  readonly #now: () => number;
  readonly #timer: NodeJS.Timeout;
  #retaining: Promise<void> | null = null;
  #refusedContents = 0;
  #damaged = 0;

  private constructor(options: SnapshotStoreOptions, directory: string, own: Own) {
    this.#options = options;
    this.fileBytesMax = options.fileBytesMax;
    this.#now = own.now;
    this.#catalog = own.catalog;
    this.#segments = own.segments;
    const { catalog, segments } = own;
    const segment = (): ReturnType<Segments['active']> => segments.active();
    this.#writer = new SegmentWriter({ catalog, directory, segment });
    const { storeBytesMax, keepMs, log, onDrop = () => undefined } = options;
    const bounds = { storeBytesMax, keepMs, now: own.now, log, onDrop };
    this.#retention = new Retention({ catalog, writer: this.#writer, segments, ...bounds });
    this.#timer = setInterval(() => this.#retainSoon(), retainEveryMs).unref();
  }

  /**
   * @throws TrlError `INVALID_PARAMS` for a short key, `INTERNAL_ERROR` where the key does not fit
   * what is there or the directory is another user's
   */
  static async open(directory: string, options: SnapshotStoreOptions): Promise<SnapshotStore> {
    if (options.key.length < keyBytesMin) {
      const found = `the key has ${options.key.length} bytes; wanted at least ${keyBytesMin}`;
      throw new TrlError('INVALID_PARAMS', `Cannot open the snapshots "${directory}": ${found}`);
    }
    const { key, log, now = Date.now } = options;
    const share = Math.min(Math.max(Math.floor(options.storeBytesMax / 16), MiB), 64 * MiB);
    const segmentBytes = options.segmentBytes ?? share;
    const rebuilding = new CatalogBuilder();
    const segments = await Segments.open(
      { directory, key, segmentBytes, log },
      (segment, found) => {
        for (const { line, place } of bodyLocationsOf(segment, found)) rebuilding.add(line, place);
      },
    );
    const catalog = new Catalog();
    rebuilding.fillCatalog(catalog, now());
    const store = new SnapshotStore(options, directory, { catalog, segments, now });
    store.#retention.expire();
    return store;
  }

  has(sha256: string): boolean {
    return this.#find(sha256) !== null;
  }

  /** Meant for what is at hand and not large; `has` tells whether it was kept. */
  put(bytes: Uint8Array): string {
    const sha256 = hash('sha256', bytes, 'hex');
    if (this.#find(sha256) !== null) return sha256;
    if (bytes.length > this.fileBytesMax || !this.#hasRoom(bytes.length)) {
      this.#refusedContents += 1;
      return sha256;
    }
    if (bytes.length <= contentChunkBytes) {
      this.#keep(sha256, Buffer.from(bytes));
      return sha256;
    }
    const parts: StoredContent[] = [];
    for (let at = 0; at < bytes.length; at += contentChunkBytes) {
      const piece = Buffer.from(bytes.subarray(at, at + contentChunkBytes));
      parts.push(this.#keep(hash('sha256', piece, 'hex'), piece));
    }
    this.#keepList(sha256, parts);
    return sha256;
  }

  /** `isSteady`: nobody wrote to it meanwhile. What is kept always has the hash that is told. */
  async putFile(fd: number): Promise<StoredFileInfo> {
    const stamp = fileStampOf(fd);
    const small = readSmallFile(fd);
    if (small !== null) {
      const size = small.length;
      const sha256 = this.put(small);
      return { sha256, size, kept: this.has(sha256), isSteady: fileStampOf(fd) === stamp };
    }
    const whole = createHash('sha256');
    const parts: StoredContent[] = [];
    let size = 0;
    let kept = true;
    try {
      for await (const piece of readFileChunks(fd)) {
        whole.update(piece);
        size += piece.length;
        kept &&= size <= this.fileBytesMax && this.#hasRoom(piece.length);
        if (!kept) continue;
        const part = this.#keep(hash('sha256', piece, 'hex'), piece);
        this.#catalog.retain(part);
        parts.push(part);
        await this.#writer.drain();
      }
      const sha256 = whole.digest('hex');
      if (kept) this.#keepList(sha256, parts);
      else this.#refusedContents += 1;
      return { sha256, size, kept, isSteady: fileStampOf(fd) === stamp };
    } finally {
      for (const part of parts) this.#catalog.release(part, this.#now());
    }
  }

  /** What is in memory still, as it waits to be written. Not to be changed. */
  getUnwritten(sha256: string): Uint8Array | null {
    return this.#catalog.contents.get(this.#idOf(sha256))?.plain ?? null;
  }

  async read(sha256: string): Promise<Buffer | null> {
    const content = this.#catalog.contents.get(this.#idOf(sha256));
    if (content === undefined) return null;
    const whole = createHash('sha256');
    const pieces: Buffer[] = [];
    for (const part of content.parts ?? [content]) {
      const piece = await this.#readOne(part);
      if (piece === 'gone') return null;
      if (piece === 'damaged') throw this.#damage(content, part);
      whole.update(piece);
      pieces.push(piece);
    }
    if (whole.digest('hex') !== sha256) throw this.#damage(content, content);
    const [only] = pieces;
    return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces);
  }

  async #readOne({ plain, place }: StoredContent): Promise<Buffer | 'gone' | 'damaged'> {
    if (plain !== null) return Buffer.from(plain);
    if (place === null) return 'gone';
    const payload = await place.segment.read(place);
    return (payload === null ? null : unpackPayload(payload, contentChunkBytes)) ?? 'damaged';
  }

  /** What is damaged is no longer here, so that putting it again heals it. */
  #damage(content: StoredContent, part: StoredContent): TrlError {
    this.#damaged += 1;
    const file = part.place?.segment.file ?? 'memory';
    for (const lost of new Set([content, part])) {
      if (this.#catalog.isKept(lost)) this.#catalog.forget(lost, this.#now());
    }
    this.#options.log(`snapshots: a content in "${file}" is damaged`);
    return new TrlError('INTERNAL_ERROR', `Cannot read a kept content: "${file}" is damaged`);
  }

  /**
   * The newest of an id stands; its age begins anew. On disk with the next {@link sync}. A value of
   * long lists must not be changed any more.
   */
  append(kind: string, id: string, value: object, options: RecordAppendOptions = {}): void {
    const found = (named: readonly string[] = []): Set<StoredContent> =>
      new Set(named.flatMap((sha256) => this.#catalog.contents.get(this.#idOf(sha256)) ?? []));
    const contents = found(options.contents);
    const earlier = this.#catalog.record(kind, id);
    const known = new Set(earlier?.contents.slice(0, earlier.originals));
    const originals = known.union(found(options.originals)).intersection(contents);
    const pinned = options.pin ?? false;
    const at = { kind, id, atMs: this.#now(), pinned, originals: originals.size };
    const ordered = [...originals.union(contents)];
    const text = new RecordText(value);
    const record: StoredRecord = { ...at, contents: ordered, place: null, text };
    this.#catalog.addRecord(record, this.#now());
    this.#writer.add({ type: 'record', record, payload: null });
  }

  /** Removes a record. No error where there is none. */
  drop(kind: string, id: string): void {
    this.#retention.forget(kind, id);
  }

  /**
   * `null`: there is none.
   *
   * @throws TrlError `INTERNAL_ERROR` where it is damaged
   */
  get(kind: string, id: string): unknown {
    const record = this.#catalog.record(kind, id);
    return record === null ? null : this.#valueOf(record);
  }

  /** Of all records of a kind, oldest first, without reading them. */
  ids(kind: string): string[] {
    return Array.from(this.#catalog.recordsOf(kind), ({ id }) => id);
  }

  /** All of a kind, oldest first; one that is damaged is left out, counted and told to the log. */
  *records(kind: string): Generator<{ readonly id: string; readonly value: unknown }> {
    for (const record of Array.from(this.#catalog.recordsOf(kind))) {
      if (!this.#catalog.isCurrent(record)) continue;
      let value: unknown;
      try {
        value = this.#valueOf(record);
      } catch {
        continue;
      }
      yield { id: record.id, value };
    }
  }

  #valueOf({ kind, id, text, place }: StoredRecord): unknown {
    if (text !== null) return text.value();
    const payload = place?.segment.readNow(place) ?? null;
    const plain = payload === null ? null : unpackPayload(payload, recordBytesMax);
    if (plain !== null) return JSON.parse(plain.toString());
    this.#damaged += 1;
    this.#options.log(`snapshots: the record ${kind} "${id}" is damaged`);
    throw new TrlError('INTERNAL_ERROR', `Cannot read the record ${kind} "${id}": it is damaged`);
  }

  /**
   * Resolves when all that was put and appended before is on disk. After a failure it all waits
   * still, in order, and the next `sync` tries again.
   *
   * @throws TrlError `QUOTA_EXCEEDED` where the disk is full, `INTERNAL_ERROR` for other failures
   */
  async sync(): Promise<void> {
    await this.#writer.sync();
    if (this.#segments.bytes() > this.#options.storeBytesMax) this.#retainSoon();
  }

  /** Gives up what is too old or too much and frees its room on disk. Done by itself, too. */
  async retain(): Promise<void> {
    await this.#retaining?.catch(() => null);
    this.#retaining ??= this.#retain().finally(() => (this.#retaining = null));
    await this.#retaining;
  }

  async #retain(): Promise<void> {
    this.#retention.expire();
    this.#retention.makeRoom(0);
    await this.#retention.sweep();
  }

  #retainSoon(): void {
    if (this.#retaining !== null) return;
    this.retain().catch((error: unknown) => {
      this.#options.log(`snapshots: cannot free room: ${String(error)}`);
    });
  }

  stats(): SnapshotStats {
    const { contents, recordCount: records, liveBytes } = this.#catalog;
    const { droppedRecords, droppedBytes } = this.#retention;
    const { pendingBytes, syncs, failure } = this.#writer;
    return {
      bytes: this.#segments.bytes(),
      liveBytes,
      segments: this.#segments.all().length,
      contents: contents.size,
      records,
      pendingBytes,
      droppedRecords,
      droppedBytes,
      refusedContents: this.#refusedContents,
      damaged: this.#damaged,
      ...this.#segments.losses,
      syncs,
      failure: failure?.message ?? null,
    };
  }

  /** @throws like {@link sync}; the files are closed nevertheless. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#retaining?.catch(() => null);
    try {
      await this.#writer.sync();
    } finally {
      await this.#writer.whileIdle(() => this.#segments.close());
    }
  }

  #idOf(sha256: string): ContentId {
    return this.#segments.keys.idOf(sha256);
  }

  /** A content that somebody asks for is wanted: it is not given up in the next minutes. */
  #find(sha256: string): StoredContent | null {
    const content = this.#catalog.contents.get(this.#idOf(sha256));
    if (content === undefined) return null;
    content.touchedMs = this.#now();
    return content;
  }

  #keep(sha256: string, plain: Buffer): StoredContent {
    const id = this.#idOf(sha256);
    const found = this.#catalog.contents.get(id);
    const content = found ?? createStoredContent(id, null, this.#now());
    content.touchedMs = this.#now();
    if (found !== undefined) return found;
    content.plain = plain;
    this.#catalog.addContent(content);
    this.#writer.add({ type: 'content', content, payload: null });
    return content;
  }

  #keepList(sha256: string, parts: readonly StoredContent[]): void {
    const [only] = parts;
    if (this.#find(sha256) !== null || only === undefined || parts.length === 1) return;
    const content = createStoredContent(this.#idOf(sha256), parts, this.#now());
    this.#catalog.addContent(content);
    this.#writer.add({ type: 'content', content, payload: null });
  }

  #hasRoom(bytes: number): boolean {
    const waiting = this.#writer.pendingBytes + bytes;
    if (this.#writer.failure !== null && waiting > pendingBytesMax) return false;
    return this.#retention.makeRoom(bytes);
  }
}

interface Own {
  readonly catalog: Catalog;
  readonly segments: Segments;
  readonly now: () => number;
}
