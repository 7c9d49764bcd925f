/**
 * What the store holds, in memory: contents, records, and which refers to which. It is rebuilt
 * from the directories of the segments in the order in which they were written. No files, no clock.
 */
import type { DropLine, DirectoryLine, ListLine, RecordLine } from './batch-directory.ts';
import type { RecordText } from './record-text.ts';
import type { ContentId } from './seal.ts';
import type { BodyLocation, SnapshotSegment } from './segment.ts';

export interface StoredContent {
  readonly id: ContentId;
  /** Of a large content: what it is made of. */
  readonly parts: readonly StoredContent[] | null;
  /** `null` until it is on disk. A large content has no body: only its line lies there. */
  place: BodyLocation | null;
  /** The bytes, until they are on disk. */
  plain: Uint8Array | null;
  /** Records, large contents and writers that need it. */
  refs: number;
  /** When somebody last put it, unix milliseconds; 0: it has been referred to since. */
  touchedMs: number;
}

export interface StoredRecord {
  readonly kind: string;
  readonly id: string;
  readonly atMs: number;
  readonly pinned: boolean;
  contents: readonly StoredContent[];
  /** How many of these, from the first on, nobody can make again: they are given up last. */
  readonly originals: number;
  place: BodyLocation | null;
  /** Until it is on disk. */
  text: RecordText | null;
}

/** A record that is gone, while a segment may still hold what it was. */
export interface Tombstone {
  readonly kind: string;
  readonly id: string;
  /** Number of the last segment that may hold it. */
  upTo: number;
  /** Where the drop is written; `null` until it is. */
  segment: SnapshotSegment | null;
}

/** How long a content that no record refers to is kept: its record may be about to come. */
export const unreferencedGraceMs = 15 * 60_000;

export class Catalog {
  readonly contents = new Map<ContentId, StoredContent>();
  readonly tombstones = new Map<string, Tombstone>();
  /** Contents that nothing refers to; some may be wanted soon. */
  readonly unreferenced = new Set<StoredContent>();
  readonly #records = new Map<string, Map<string, StoredRecord>>();
  recordCount = 0;
  /** Bytes of bodies on disk that are still wanted. */
  liveBytes = 0;
  /** What an earlier process put was put then, as far as is known: unix milliseconds. */
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
    // Who waited for this has come: when it lets go, nobody is expected any more.
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
   * Forgets contents that nothing refers to and nobody put lately; `room`: also those that only an
   * earlier process put.
   */
  collect(nowMs: number, room = false): void {
    const sinceMs = room
      ? Math.max(nowMs - unreferencedGraceMs, this.earlierMs)
      : nowMs - unreferencedGraceMs;
    for (const content of this.unreferenced) this.#collectOne(content, nowMs, sinceMs);
  }

  #collectOne(content: StoredContent, nowMs: number, sinceMs: number): void {
    if (content.place === null || content.touchedMs > sinceMs) return;
    this.forget(content, nowMs);
  }

  forget(content: StoredContent, nowMs: number): void {
    this.contents.delete(content.id);
    this.unreferenced.delete(content);
    this.#displace(content);
    for (const part of content.parts ?? []) this.release(part, nowMs);
  }

  /** The newest of an id stands; what it replaces lets go of its contents. */
  addRecord(record: StoredRecord, nowMs: number): void {
    const records = this.#records.get(record.kind) ?? new Map<string, StoredRecord>();
    this.#records.set(record.kind, records);
    for (const content of record.contents) this.retain(content);
    this.removeRecord(record.kind, record.id, nowMs);
    // Set anew, so that the order is that of time.
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

  /** Lets go of what a record has besides its originals; the record stays. */
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

  /** Says where a thing lies now; where it lay before is no longer wanted. */
  setLocation(thing: { place: BodyLocation | null }, place: BodyLocation): void {
    this.#displace(thing);
    thing.place = place;
    place.segment.liveBytes += place.bytes;
    this.liveBytes += place.bytes;
  }

  #displace(thing: { place: BodyLocation | null }): void {
    if (thing.place === null) return;
    thing.place.segment.liveBytes -= thing.place.bytes;
    this.liveBytes -= thing.place.bytes;
    thing.place = null;
  }

  order(): void {
    for (const [kind, records] of this.#records) {
      const sorted = [...records.values()].toSorted((one, other) => one.atMs - other.atMs);
      this.#records.set(kind, new Map(sorted.map((record) => [record.id, record])));
    }
  }
}

export const recordKey = ({ kind, id }: { kind: string; id: string }): string => `${kind}\0${id}`;

interface Found<Of extends DirectoryLine> {
  readonly line: Of;
  readonly place: BodyLocation;
}

/** Collects what segments say, oldest first; `into` fills a catalog from what stands at the end. */
export class CatalogBuilder {
  readonly #bodies = new Map<ContentId, BodyLocation>();
  readonly #lists = new Map<ContentId, Found<ListLine>>();
  readonly #records = new Map<string, Found<RecordLine>>();
  readonly #drops = new Map<string, Found<DropLine>>();

  add(line: DirectoryLine, place: BodyLocation): void {
    switch (line.type) {
      case 'content':
        this.#bodies.set(line.id, place);
        return;
      case 'list':
        this.#lists.set(line.id, { line, place });
        return;
      case 'record':
        this.#records.set(recordKey(line), { line, place });
        this.#drops.delete(recordKey(line));
        return;
      case 'drop':
        this.#records.delete(recordKey(line));
        this.#drops.set(recordKey(line), { line, place });
    }
  }

  fillCatalog(catalog: Catalog, nowMs: number): void {
    catalog.earlierMs = nowMs - 1;
    for (const [id, place] of this.#bodies) {
      const content = createStoredContent(id, null, catalog.earlierMs);
      catalog.addContent(content);
      catalog.setLocation(content, place);
    }
    for (const [id, { line, place }] of this.#lists) {
      const parts = line.parts.flatMap((part) => catalog.contents.get(part) ?? []);
      // Where a part is gone the whole is, too.
      if (parts.length !== line.parts.length || catalog.contents.has(id)) continue;
      const content = createStoredContent(id, parts, catalog.earlierMs);
      catalog.addContent(content);
      catalog.setLocation(content, place);
    }
    for (const { line, place } of this.#records.values()) {
      const { kind, id, atMs, pinned } = line;
      const found = (ids: readonly ContentId[]): StoredContent[] =>
        ids.flatMap((content) => catalog.contents.get(content) ?? []);
      const originals = found(line.contents.slice(0, line.originals));
      const contents = [...originals, ...found(line.contents.slice(line.originals))];
      const known = { kind, id, atMs, pinned, contents, originals: originals.length };
      const record = { ...known, place: null, text: null };
      catalog.addRecord(record, nowMs);
      catalog.setLocation(record, place);
    }
    for (const { line, place } of this.#drops.values()) {
      const { kind, id, segment: upTo } = line;
      catalog.bury({ kind, id, upTo, segment: place.segment });
    }
    catalog.order();
  }
}

export function createStoredContent(
  id: ContentId,
  parts: readonly StoredContent[] | null,
  touchedMs: number,
): StoredContent {
  return { id, parts, place: null, plain: null, refs: 0, touchedMs };
}
