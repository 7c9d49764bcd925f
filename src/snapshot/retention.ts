/**
 * What is given up when it is too old or there is too much: records of changes, the oldest first,
 * with the contents that nobody else refers to. Originals stay for a day, so that nothing makes
 * them go by making much else: where there is no room besides them, nothing new is kept. Never
 * silently.
 */
import { setImmediate } from 'node:timers/promises';
import type { Catalog, StoredContent, StoredRecord, Tombstone } from './catalog.ts';
import type { SnapshotSegment } from './segment.ts';
import type { Segments } from './segments.ts';
import type { SegmentWriter } from './segment-writer.ts';

export interface DroppedRecord {
  readonly kind: string;
  readonly id: string;
  /** When it was appended, unix milliseconds. */
  readonly atMs: number;
  /** `age`: it was kept long enough. `space`: newer ones needed the room. */
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

/** Records of this kind grow old; all others stay until they are dropped by name. */
const agingKind = 'changes';
/** How long originals stay whatever comes after them, in `ms`. */
export const originalsRetentionMs = 86_400_000;
/** The rest of the bound is room for what is no longer wanted and not yet swept. */
const liveShare = 7 / 8;
/** A segment of which less is wanted is swept. */
const sweepShare = 0.5;
/** When there is too much on disk, also those of which less than this is wanted. */
const pressedShare = 0.95;
/** Smaller segments that are still written to are not worth it. */
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
    this.#giveUp('age', ({ atMs }) => (atMs < oldestMs ? 'whole' : 'no more'));
    catalog.collect(now());
  }

  /** Drops the oldest until `bytes` more would fit; `false`: they would not even then. */
  makeRoom(bytes: number): boolean {
    const { catalog, writer, now } = this.#options;
    const fits = (): boolean =>
      catalog.liveBytes + writer.pendingBytes + bytes <= this.#liveBytesMax;
    if (fits()) return true;
    catalog.collect(now(), true);
    // What no record holds stays whatever is dropped: history is not given up for nothing.
    let stays = bytes + writer.pendingBytes;
    for (const { place } of catalog.unreferenced) stays += place?.bytes ?? 0;
    if (stays > this.#liveBytesMax) return false;
    this.#giveUp('space', ({ originals }) =>
      fits() ? 'no more' : originals === 0 ? 'whole' : 'but originals',
    );
    const oldestMs = now() - originalsRetentionMs;
    this.#giveUp('space', ({ atMs }) => (fits() || atMs > oldestMs ? 'no more' : 'whole'));
    return fits();
  }

  /** @param part what goes of a record, the oldest first */
  #giveUp(
    reason: DroppedRecord['reason'],
    part: (record: StoredRecord) => 'whole' | 'but originals' | 'no more',
  ): void {
    const { catalog, log, now } = this.#options;
    const liveBefore = catalog.liveBytes;
    let [dropped, thinned] = [0, 0];
    for (const record of catalog.recordsOf(agingKind)) {
      if (record.pinned) continue;
      // Those that are not on disk yet give no room.
      if (record.place === null) break;
      const which = part(record);
      if (which === 'no more') break;
      if (which === 'whole') {
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
    const why = reason === 'age' ? 'too old' : 'too much is kept';
    const also = thinned === 0 ? '' : ` and ${thinned} in part`;
    log(`snapshots: ${dropped} records of changes dropped${also}, ${bytes} B: ${why}`);
  }

  #drop(record: StoredRecord, reason: DroppedRecord['reason']): void {
    this.forget(record.kind, record.id);
    this.droppedRecords += 1;
    const { kind, id, atMs } = record;
    this.#options.onDrop({ kind, id, atMs, reason });
  }

  /** Removes a record and remembers on disk that it is gone. */
  forget(kind: string, id: string): boolean {
    const { catalog, writer, now } = this.#options;
    if (catalog.removeRecord(kind, id, now()) === null) return false;
    const tombstone: Tombstone = { kind, id, upTo: 0, segment: null };
    catalog.bury(tombstone);
    writer.add({ type: 'drop', tombstone });
    return true;
  }

  /** Copies what is still wanted out of segments that hold little of it, and removes those. */
  async sweep(): Promise<void> {
    const { writer, segments } = this.#options;
    const victims = this.#victims();
    if (victims.size === 0) return;
    // What is under way goes to the active segment, which may be a victim.
    if ([...victims].some((victim) => segments.isActive(victim))) {
      await writer.whileIdle(() => segments.roll());
    }
    for await (const thing of this.#within(victims)) {
      await this.#copy(thing);
      if (writer.failure !== null) throw writer.failure;
    }
    await writer.sync();
    const busy = new Set<SnapshotSegment>();
    for await (const thing of this.#within(victims)) {
      const segment = segmentOf(thing);
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
    const worth = segments
      .all()
      .filter((segment) => segment.end >= activeBytesMin || !segments.isActive(segment))
      .toSorted((one, other) => share(one) - share(other));
    const victims = new Set<SnapshotSegment>();
    let bytes = segments.bytes();
    for (const segment of worth) {
      const isPressed = bytes > storeBytesMax && share(segment) < pressedShare;
      if (share(segment) >= sweepShare && !isPressed) break;
      victims.add(segment);
      bytes -= segment.end - segment.liveBytes;
    }
    return victims;
  }

  /** Everything that lies in the victims; the event loop goes on meanwhile. */
  async *#within(victims: ReadonlySet<SnapshotSegment>): AsyncGenerator<Thing> {
    const { catalog } = this.#options;
    let sliceStart = performance.now();
    for (const things of [
      catalog.contents.values(),
      catalog.allRecords(),
      catalog.tombstones.values(),
    ]) {
      for (const thing of things) {
        const segment = segmentOf(thing);
        if (segment !== null && victims.has(segment)) yield thing;
        if (performance.now() - sliceStart < sliceMs) continue;
        await setImmediate();
        sliceStart = performance.now();
      }
    }
  }

  async #copy(thing: Thing): Promise<void> {
    const { catalog, writer, now, log } = this.#options;
    if ('upTo' in thing) {
      if (this.#isNeeded(thing)) writer.add({ type: 'drop', tombstone: thing });
      else catalog.tombstones.delete(`${thing.kind}\0${thing.id}`);
      return;
    }
    const { place } = thing;
    if (place === null) return;
    const payload = place.bytes === 0 ? Buffer.alloc(0) : await place.segment.read(place);
    if (payload === null) {
      log(`snapshots: ${place.bytes} B in "${place.segment.file}" are damaged and lost`);
      if ('refs' in thing) catalog.forget(thing, now());
      else this.forget(thing.kind, thing.id);
      return;
    }
    if ('refs' in thing) writer.add({ type: 'content', content: thing, payload });
    else writer.add({ type: 'record', record: thing, payload });
    await writer.drain();
  }

  /** Whether any segment may still hold what was dropped. */
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

type Thing = StoredContent | StoredRecord | Tombstone;

const segmentOf = (thing: Thing): SnapshotSegment | null =>
  'upTo' in thing ? thing.segment : (thing.place?.segment ?? null);
