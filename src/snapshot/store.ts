/**
 * Contents by hash and records by name, in append-only segments of one directory that one process
 * owns. Everything is sealed. What was put or appended is on disk when a later `sync` resolves.
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
import { unpackPayload } from './seal.ts';
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

const keyBytesMin = 32;
const MiB = 1024 * 1024;
/** Limit of what is queued while writing fails. */
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
    const activeSegment = (): ReturnType<Segments['active']> => segments.active();
    this.#writer = new SegmentWriter({ catalog, directory, activeSegment });
    const { storeBytesMax, keepMs, log, onDrop = () => undefined } = options;
    const limits = { storeBytesMax, keepMs, now: own.now, log, onDrop };
    this.#retention = new Retention({ catalog, writer: this.#writer, segments, ...limits });
    this.#timer = setInterval(() => this.#retainSoon(), retainEveryMs).unref();
  }

  /**
   * @throws TrlError `INVALID_PARAMS` for a short key, `INTERNAL_ERROR` if the key does not fit the
   *   segments or the directory belongs to another user
   */
  static async open(directory: string, options: SnapshotStoreOptions): Promise<SnapshotStore> {
    if (options.key.length < keyBytesMin) {
      const found = `the key has ${options.key.length} bytes; wanted at least ${keyBytesMin}`;
      throw new TrlError('INVALID_PARAMS', `Cannot open the snapshots "${directory}": ${found}`);
    }
    const { key, log, now = Date.now } = options;
    const share = Math.min(Math.max(Math.floor(options.storeBytesMax / 16), MiB), 64 * MiB);
    const segmentBytes = options.segmentBytes ?? share;
    const builder = new CatalogBuilder();
    const segments = await Segments.open(
      { directory, key, segmentBytes, log },
      (segment, batch) => {
        for (const { line, location } of bodyLocationsOf(segment, batch)) {
          builder.add(line, location);
        }
      },
    );
    const catalog = new Catalog();
    builder.fillCatalog(catalog, now());
    const store = new SnapshotStore(options, directory, { catalog, segments, now });
    store.#retention.expire();
    return store;
  }

  has(sha256: string): boolean {
    return this.#find(sha256) !== null;
  }

  /** For contents in memory that are not large; `has` says whether it was stored. */
  put(bytes: Uint8Array): string {
    const sha256 = hash('sha256', bytes, 'hex');
    if (this.#find(sha256) !== null) return sha256;
    if (bytes.length > this.fileBytesMax || !this.#hasRoom(bytes.length)) {
      this.#refusedContents += 1;
      return sha256;
    }
    if (bytes.length <= contentChunkBytes) {
      this.#storeContent(sha256, Buffer.from(bytes));
      return sha256;
    }
    const parts: StoredContent[] = [];
    for (let at = 0; at < bytes.length; at += contentChunkBytes) {
      const chunk = Buffer.from(bytes.subarray(at, at + contentChunkBytes));
      parts.push(this.#storeContent(hash('sha256', chunk, 'hex'), chunk));
    }
    this.#storeList(sha256, parts);
    return sha256;
  }

  /**
   * What is stored always has the hash that is returned, even if the file was written meanwhile.
   */
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
      for await (const chunk of readFileChunks(fd)) {
        whole.update(chunk);
        size += chunk.length;
        kept &&= size <= this.fileBytesMax && this.#hasRoom(chunk.length);
        if (!kept) continue;
        const part = this.#storeContent(hash('sha256', chunk, 'hex'), chunk);
        this.#catalog.retain(part);
        parts.push(part);
        await this.#writer.drain();
      }
      const sha256 = whole.digest('hex');
      if (kept) this.#storeList(sha256, parts);
      else this.#refusedContents += 1;
      return { sha256, size, kept, isSteady: fileStampOf(fd) === stamp };
    } finally {
      for (const part of parts) this.#catalog.release(part, this.#now());
    }
  }

  /** A content that is queued and still in memory. Must not be changed. */
  getUnwritten(sha256: string): Uint8Array | null {
    return this.#catalog.contents.get(this.#idOf(sha256))?.plain ?? null;
  }

  async read(sha256: string): Promise<Buffer | null> {
    const content = this.#catalog.contents.get(this.#idOf(sha256));
    if (content === undefined) return null;
    const whole = createHash('sha256');
    const chunks: Buffer[] = [];
    for (const part of content.parts ?? [content]) {
      const chunk = await this.#readChunk(part);
      if (chunk === 'gone') return null;
      if (chunk === 'damaged') throw this.#forgetDamaged(content, part);
      whole.update(chunk);
      chunks.push(chunk);
    }
    if (whole.digest('hex') !== sha256) throw this.#forgetDamaged(content, content);
    const [only] = chunks;
    return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks);
  }

  async #readChunk({ plain, location }: StoredContent): Promise<Buffer | 'gone' | 'damaged'> {
    if (plain !== null) return Buffer.from(plain);
    if (location === null) return 'gone';
    const payload = await location.segment.read(location);
    return (payload === null ? null : unpackPayload(payload, contentChunkBytes)) ?? 'damaged';
  }

  /** A damaged content is forgotten, so that putting it again repairs it. */
  #forgetDamaged(content: StoredContent, part: StoredContent): TrlError {
    this.#damaged += 1;
    const file = part.location?.segment.file ?? 'memory';
    for (const lost of new Set([content, part])) {
      if (this.#catalog.isKept(lost)) this.#catalog.forget(lost, this.#now());
    }
    this.#options.log(`snapshots: a content in "${file}" is damaged`);
    return new TrlError('INTERNAL_ERROR', `Cannot read a stored content: "${file}" is damaged`);
  }

  /**
   * Replaces the record with the same id, and its age. On disk with the next {@link sync}. A value
   * with long lists must not be changed any more.
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
    const record: StoredRecord = { ...at, contents: ordered, location: null, text };
    this.#catalog.addRecord(record, this.#now());
    this.#writer.add({ type: 'record', record, payload: null });
  }

  /** Removes a record, if there is one. */
  drop(kind: string, id: string): void {
    this.#retention.forget(kind, id);
  }

  /**
   * `null`: there is none.
   *
   * @throws TrlError `INTERNAL_ERROR` if it is damaged
   */
  get(kind: string, id: string): unknown {
    const record = this.#catalog.record(kind, id);
    return record === null ? null : this.#valueOf(record);
  }

  /** Of all records of a kind, oldest first, without reading them. */
  ids(kind: string): string[] {
    return Array.from(this.#catalog.recordsOf(kind), ({ id }) => id);
  }

  /** All of a kind, oldest first; a damaged one is skipped, counted and reported to the log. */
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

  #valueOf({ kind, id, text, location }: StoredRecord): unknown {
    if (text !== null) return text.value();
    const payload = location?.segment.readNow(location) ?? null;
    const plain = payload === null ? null : unpackPayload(payload, recordBytesMax);
    if (plain !== null) return JSON.parse(plain.toString());
    this.#damaged += 1;
    this.#options.log(`snapshots: the record ${kind} "${id}" is damaged`);
    throw new TrlError('INTERNAL_ERROR', `Cannot read the record ${kind} "${id}": it is damaged`);
  }

  /**
   * Resolves when everything that was put and appended before is on disk. After a failure it stays
   * queued, in order, and the next `sync` tries again.
   *
   * @throws TrlError `BACKEND_UNAVAILABLE` if the disk fails or is full, else `INTERNAL_ERROR`
   */
  async sync(): Promise<void> {
    await this.#writer.sync();
    if (this.#segments.bytes() > this.#options.storeBytesMax) this.#retainSoon();
  }

  /** Drops what is too old or too much and frees its room on disk. Also runs by itself. */
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

  /** @throws like {@link sync}; the files are closed in any case */
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

  /** A content that is looked up is needed: it is not dropped in the next minutes. */
  #find(sha256: string): StoredContent | null {
    const content = this.#catalog.contents.get(this.#idOf(sha256));
    if (content === undefined) return null;
    content.touchedMs = this.#now();
    return content;
  }

  #storeContent(sha256: string, plain: Buffer): StoredContent {
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

  #storeList(sha256: string, parts: readonly StoredContent[]): void {
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
