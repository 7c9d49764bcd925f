/**
 * Drops what is too old or too much: records of changes, the oldest first, with the contents that
 * nothing else refers to. Originals stay for a day, so that writing many other contents cannot
 * evict them: if they leave no room, nothing new is stored. Everything dropped is reported.
 */
import { setImmediate } from 'node:timers/promises';
import type { Catalog, StoredContent, StoredRecord, Tombstone } from './catalog.ts';
import type { SnapshotSegment } from './segment.ts';
import type { Segments } from './segments.ts';
import type { SegmentWriter } from './segment-writer.ts';

export interface DroppedRecord {
  readonly kind: string;
  readonly id: string;
  /** When it was appended, Unix milliseconds. */
  readonly atMs: number;
  /** `age`: it was stored long enough. `space`: newer ones needed the room. */
  readonly reason: 'age' | 'space';
}

export interface RetentionOptions {
  readonly catalog: Catalog;
  readonly writer: SegmentWriter;
  readonly segments: Segments;
  readonly storeBytesMax: number;
  readonly keepMs: number;
  readonly now: () => number;
  readonly log: (line: string) => void;
  readonly onDrop: (record: DroppedRecord) => void;
}

/** Records of this kind expire; all others stay until they are dropped by name. */
const agingKind = 'changes';
/** How long originals stay in any case, in `ms`. */
export const originalsRetentionMs = 86_400_000;
/** The rest of the limit is room for what is no longer needed and not swept so far. */
const liveShare = 7 / 8;
/** A segment of which a smaller share is needed is swept. */
const sweepShare = 0.5;
/** The same while there is too much on disk. */
const pressedShare = 0.95;
/** A smaller segment that is still written is not worth a sweep. */
const activeBytesMin = 256 * 1024;
const sliceMs = 2;

export class Retention {
  readonly #options: RetentionOptions;
  readonly #liveBytesMax: number;
  droppedRecords = 0;
  droppedBytes = 0;
  sweptBytes = 0;

  constructor(options: RetentionOptions) {
    this.#options = options;
    this.#liveBytesMax = Math.floor(options.storeBytesMax * liveShare);
  }

  /** Drops what is older than `keepMs`. */
  expire(): void {
    const { catalog, keepMs, now } = this.#options;
    const oldestMs = now() - keepMs;
    this.#dropOldest('age', ({ atMs }) => (atMs < oldestMs ? 'all' : 'nothing more'));
    catalog.collect(now());
  }

  /** Drops the oldest until `bytes` more fit; `false`: they do not fit even then. */
  makeRoom(bytes: number): boolean {
    const { catalog, writer, now } = this.#options;
    const fits = (): boolean =>
      catalog.liveBytes + writer.pendingBytes + bytes <= this.#liveBytesMax;
    if (fits()) return true;
    catalog.collect(now(), true);
    // Unreferenced contents stay in any case: no history is dropped if that cannot make enough
    // room.
    let unavoidable = bytes + writer.pendingBytes;
    for (const { location } of catalog.unreferenced) unavoidable += location?.bytes ?? 0;
    if (unavoidable > this.#liveBytesMax) return false;
    this.#dropOldest('space', ({ originals }) =>
      fits() ? 'nothing more' : originals === 0 ? 'all' : 'all but originals',
    );
    const oldestMs = now() - originalsRetentionMs;
    this.#dropOldest('space', ({ atMs }) => (fits() || atMs > oldestMs ? 'nothing more' : 'all'));
    return fits();
  }

  /** @param part what to drop of a record; they come oldest first */
  #dropOldest(
    reason: DroppedRecord['reason'],
    part: (record: StoredRecord) => 'all' | 'all but originals' | 'nothing more',
  ): void {
    const { catalog, log, now } = this.#options;
    const liveBefore = catalog.liveBytes;
    let [dropped, thinned] = [0, 0];
    for (const record of catalog.recordsOf(agingKind)) {
      if (record.pinned) continue;
      // Records that are not on disk free no room.
      if (record.location === null) break;
      const drop = part(record);
      if (drop === 'nothing more') break;
      if (drop === 'all') {
        this.#drop(record, reason);
        dropped += 1;
      } else if (record.contents.length > record.originals) {
        catalog.thin(record, now());
        thinned += 1;
      }
    }
    if (dropped === 0 && thinned === 0) return;
    const bytes = liveBefore - catalog.liveBytes;
    this.droppedBytes += bytes;
    const why = reason === 'age' ? 'too old' : 'too much is stored';
    const also = thinned === 0 ? '' : ` and ${thinned} in part`;
    log(`snapshots: ${dropped} records of changes dropped${also}, ${bytes} B: ${why}`);
  }

  #drop(record: StoredRecord, reason: DroppedRecord['reason']): void {
    this.forget(record.kind, record.id);
    this.droppedRecords += 1;
    const { kind, id, atMs } = record;
    this.#options.onDrop({ kind, id, atMs, reason });
  }

  /** Removes a record, and records that on disk. */
  forget(kind: string, id: string): boolean {
    const { catalog, writer, now } = this.#options;
    if (catalog.removeRecord(kind, id, now()) === null) return false;
    const tombstone: Tombstone = { kind, id, upTo: 0, segment: null };
    catalog.bury(tombstone);
    writer.add({ type: 'drop', tombstone });
    return true;
  }

  /** Copies what is still needed out of segments that have little of it, and removes those. */
  async sweep(): Promise<void> {
    const { writer, segments } = this.#options;
    const victims = this.#victims();
    if (victims.size === 0) return;
    // Batches that are being written go to the active segment, which may be a victim.
    if ([...victims].some((victim) => segments.isActive(victim))) {
      await writer.whileIdle(() => segments.roll());
    }
    for await (const item of this.#itemsIn(victims)) {
      await this.#copy(item);
      if (writer.failure !== null) throw writer.failure;
    }
    await writer.sync();
    const busy = new Set<SnapshotSegment>();
    for await (const item of this.#itemsIn(victims)) {
      const segment = segmentOf(item);
      if (segment !== null) busy.add(segment);
    }
    for (const victim of victims) {
      if (busy.has(victim)) continue;
      this.sweptBytes += victim.end;
      await segments.remove(victim);
    }
    this.#retireTombstones();
  }

  #victims(): Set<SnapshotSegment> {
    const { segments, storeBytesMax } = this.#options;
    const share = ({ liveBytes, end }: SnapshotSegment): number => liveBytes / Math.max(end, 1);
    const candidates = segments
      .all()
      .filter((segment) => segment.end >= activeBytesMin || !segments.isActive(segment))
      .toSorted((one, other) => share(one) - share(other));
    const victims = new Set<SnapshotSegment>();
    let bytes = segments.bytes();
    for (const segment of candidates) {
      const isPressed = bytes > storeBytesMax && share(segment) < pressedShare;
      if (share(segment) >= sweepShare && !isPressed) break;
      victims.add(segment);
      bytes -= segment.end - segment.liveBytes;
    }
    return victims;
  }

  /** Everything in the victims; the event loop continues meanwhile. */
  async *#itemsIn(victims: ReadonlySet<SnapshotSegment>): AsyncGenerator<StoredItem> {
    const { catalog } = this.#options;
    let sliceStart = performance.now();
    for (const items of [
      catalog.contents.values(),
      catalog.allRecords(),
      catalog.tombstones.values(),
    ]) {
      for (const item of items) {
        const segment = segmentOf(item);
        if (segment !== null && victims.has(segment)) yield item;
        if (performance.now() - sliceStart < sliceMs) continue;
        await setImmediate();
        sliceStart = performance.now();
      }
    }
  }

  async #copy(item: StoredItem): Promise<void> {
    const { catalog, writer, now, log } = this.#options;
    if ('upTo' in item) {
      if (this.#isNeeded(item)) writer.add({ type: 'drop', tombstone: item });
      else catalog.tombstones.delete(`${item.kind}\0${item.id}`);
      return;
    }
    const { location } = item;
    if (location === null) return;
    const payload = location.bytes === 0 ? Buffer.alloc(0) : await location.segment.read(location);
    if (payload === null) {
      log(`snapshots: ${location.bytes} B in "${location.segment.file}" are damaged and lost`);
      if ('refs' in item) catalog.forget(item, now());
      else this.forget(item.kind, item.id);
      return;
    }
    if ('refs' in item) writer.add({ type: 'content', content: item, payload });
    else writer.add({ type: 'record', record: item, payload });
    await writer.drain();
  }

  /** Whether a segment may still contain what was dropped. */
  #isNeeded({ upTo }: Tombstone): boolean {
    const oldest = this.#options.segments.oldest();
    return oldest !== null && oldest <= upTo;
  }

  #retireTombstones(): void {
    const { catalog } = this.#options;
    for (const [key, tombstone] of catalog.tombstones) {
      if (tombstone.segment !== null && !this.#isNeeded(tombstone)) catalog.tombstones.delete(key);
    }
  }
}

type StoredItem = StoredContent | StoredRecord | Tombstone;

const segmentOf = (item: StoredItem): SnapshotSegment | null =>
  'upTo' in item ? item.segment : (item.location?.segment ?? null);
