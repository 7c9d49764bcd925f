/**
 * The index of the store in memory: contents, records, and which refers to which. It is rebuilt
 * from the directories of the segments in the order in which they were written. No files, no clock.
 */
import type { DropLine, DirectoryLine, ListLine, RecordLine } from './batch-directory.ts';
import type { RecordText } from './record-text.ts';
import type { ContentId } from './seal.ts';
import type { BodyLocation, SnapshotSegment } from './segment.ts';

export interface StoredContent {
  readonly id: ContentId;
  /** The parts of a large content. */
  readonly parts: readonly StoredContent[] | null;
  /** `null` until it is on disk. A large content has no body, only a line. */
  location: BodyLocation | null;
  /** The bytes, until they are on disk. */
  plain: Uint8Array | null;
  /** Records, large contents and writers that need it. */
  refs: number;
  /** When it was last put, Unix milliseconds; 0: it has been referred to since. */
  touchedMs: number;
}

export interface StoredRecord {
  readonly kind: string;
  readonly id: string;
  readonly atMs: number;
  readonly pinned: boolean;
  contents: readonly StoredContent[];
  /** The first so many contents cannot be made again: they are dropped last. */
  readonly originals: number;
  location: BodyLocation | null;
  /** Until it is on disk. */
  text: RecordText | null;
}

/** A record that was removed, while a segment may still contain it. */
export interface Tombstone {
  readonly kind: string;
  readonly id: string;
  /** Number of the last segment that may contain it. */
  upTo: number;
  /** Where the drop is on disk; `null` until it is. */
  segment: SnapshotSegment | null;
}

/** How long an unreferenced content is stored: its record may be about to be appended. */
export const unreferencedGraceMs = 15 * 60_000;

export class Catalog {
  readonly contents = new Map<ContentId, StoredContent>();
  readonly tombstones = new Map<string, Tombstone>();
  /** Contents that nothing refers to; some may be needed soon. */
  readonly unreferenced = new Set<StoredContent>();
  readonly #records = new Map<string, Map<string, StoredRecord>>();
  recordCount = 0;
  /** Bytes of bodies on disk that are still needed. */
  liveBytes = 0;
  /** When contents of an earlier process count as put: Unix milliseconds. */
  earlierMs = 0;

  record(kind: string, id: string): StoredRecord | null {
    return this.#records.get(kind)?.get(id) ?? null;
  }

  /** Oldest first. */
  recordsOf(kind: string): Iterable<StoredRecord> {
    return this.#records.get(kind)?.values() ?? [];
  }

  *allRecords(): Generator<StoredRecord> {
    for (const records of this.#records.values()) yield* records.values();
  }

  isCurrent(record: StoredRecord): boolean {
    return this.record(record.kind, record.id) === record;
  }

  isKept(content: StoredContent): boolean {
    return this.contents.get(content.id) === content;
  }

  addContent(content: StoredContent): void {
    this.contents.set(content.id, content);
    if (content.refs === 0) this.unreferenced.add(content);
    for (const part of content.parts ?? []) this.retain(part);
  }

  retain(content: StoredContent): void {
    content.refs += 1;
    // The expected record is here: after it is released, no other one is expected.
    content.touchedMs = 0;
    this.unreferenced.delete(content);
  }

  release(content: StoredContent, nowMs: number): void {
    content.refs -= 1;
    if (content.refs > 0 || !this.isKept(content)) return;
    this.unreferenced.add(content);
    this.#collectOne(content, nowMs, nowMs - unreferencedGraceMs);
  }

  /**
   * Forgets contents that nothing refers to and that were not put lately; `room`: also those that
   * only an earlier process put.
   */
  collect(nowMs: number, room = false): void {
    const sinceMs = room
      ? Math.max(nowMs - unreferencedGraceMs, this.earlierMs)
      : nowMs - unreferencedGraceMs;
    for (const content of this.unreferenced) this.#collectOne(content, nowMs, sinceMs);
  }

  #collectOne(content: StoredContent, nowMs: number, sinceMs: number): void {
    if (content.location === null || content.touchedMs > sinceMs) return;
    this.forget(content, nowMs);
  }

  forget(content: StoredContent, nowMs: number): void {
    this.contents.delete(content.id);
    this.unreferenced.delete(content);
    this.#displace(content);
    for (const part of content.parts ?? []) this.release(part, nowMs);
  }

  /** Replaces the record with the same id, which releases its contents. */
  addRecord(record: StoredRecord, nowMs: number): void {
    const records = this.#records.get(record.kind) ?? new Map<string, StoredRecord>();
    this.#records.set(record.kind, records);
    for (const content of record.contents) this.retain(content);
    this.removeRecord(record.kind, record.id, nowMs);
    // Added at the end, so that the order is that of time.
    records.set(record.id, record);
    this.recordCount += 1;
    this.tombstones.delete(recordKey(record));
  }

  removeRecord(kind: string, id: string, nowMs: number): StoredRecord | null {
    const record = this.record(kind, id);
    if (record === null) return null;
    this.#records.get(kind)?.delete(id);
    this.recordCount -= 1;
    this.#displace(record);
    for (const content of record.contents) this.release(content, nowMs);
    return record;
  }

  /** Releases all contents of a record but its originals; the record stays. */
  thin(record: StoredRecord, nowMs: number): void {
    const rest = record.contents.slice(record.originals);
    record.contents = record.contents.slice(0, record.originals);
    for (const content of rest) this.release(content, nowMs);
  }

  bury(tombstone: Tombstone): void {
    this.tombstones.set(recordKey(tombstone), tombstone);
  }

  isBuried(tombstone: Tombstone): boolean {
    return this.tombstones.get(recordKey(tombstone)) === tombstone;
  }

  /** Sets where a body is now; its old location is no longer needed. */
  setLocation(item: { location: BodyLocation | null }, location: BodyLocation): void {
    this.#displace(item);
    item.location = location;
    location.segment.liveBytes += location.bytes;
    this.liveBytes += location.bytes;
  }

  #displace(item: { location: BodyLocation | null }): void {
    if (item.location === null) return;
    item.location.segment.liveBytes -= item.location.bytes;
    this.liveBytes -= item.location.bytes;
    item.location = null;
  }

  order(): void {
    for (const [kind, records] of this.#records) {
      const sorted = [...records.values()].toSorted((one, other) => one.atMs - other.atMs);
      this.#records.set(kind, new Map(sorted.map((record) => [record.id, record])));
    }
  }
}

export const recordKey = ({ kind, id }: { kind: string; id: string }): string => `${kind}\0${id}`;

interface WrittenLine<Of extends DirectoryLine> {
  readonly line: Of;
  readonly location: BodyLocation;
}

/**
 * Collects the lines of all segments, oldest first; `fillCatalog` adds those that are still valid.
 */
export class CatalogBuilder {
  readonly #bodies = new Map<ContentId, BodyLocation>();
  readonly #lists = new Map<ContentId, WrittenLine<ListLine>>();
  readonly #records = new Map<string, WrittenLine<RecordLine>>();
  readonly #drops = new Map<string, WrittenLine<DropLine>>();

  add(line: DirectoryLine, location: BodyLocation): void {
    switch (line.type) {
      case 'content':
        this.#bodies.set(line.id, location);
        return;
      case 'list':
        this.#lists.set(line.id, { line, location });
        return;
      case 'record':
        this.#records.set(recordKey(line), { line, location });
        this.#drops.delete(recordKey(line));
        return;
      case 'drop':
        this.#records.delete(recordKey(line));
        this.#drops.set(recordKey(line), { line, location });
    }
  }

  fillCatalog(catalog: Catalog, nowMs: number): void {
    catalog.earlierMs = nowMs - 1;
    for (const [id, location] of this.#bodies) {
      const content = createStoredContent(id, null, catalog.earlierMs);
      catalog.addContent(content);
      catalog.setLocation(content, location);
    }
    for (const [id, { line, location }] of this.#lists) {
      const parts = line.parts.flatMap((part) => catalog.contents.get(part) ?? []);
      // Without a part the whole is lost, too.
      if (parts.length !== line.parts.length || catalog.contents.has(id)) continue;
      const content = createStoredContent(id, parts, catalog.earlierMs);
      catalog.addContent(content);
      catalog.setLocation(content, location);
    }
    for (const { line, location } of this.#records.values()) {
      const { kind, id, atMs, pinned } = line;
      const found = (ids: readonly ContentId[]): StoredContent[] =>
        ids.flatMap((content) => catalog.contents.get(content) ?? []);
      const originals = found(line.contents.slice(0, line.originals));
      const contents = [...originals, ...found(line.contents.slice(line.originals))];
      const known = { kind, id, atMs, pinned, contents, originals: originals.length };
      const record = { ...known, location: null, text: null };
      catalog.addRecord(record, nowMs);
      catalog.setLocation(record, location);
    }
    for (const { line, location } of this.#drops.values()) {
      const { kind, id, segment: upTo } = line;
      catalog.bury({ kind, id, upTo, segment: location.segment });
    }
    catalog.order();
  }
}

export function createStoredContent(
  id: ContentId,
  parts: readonly StoredContent[] | null,
  touchedMs: number,
): StoredContent {
  return { id, parts, location: null, plain: null, refs: 0, touchedMs };
}
