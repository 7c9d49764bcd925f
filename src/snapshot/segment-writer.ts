/**
 * Writes queued contents and records to disk, in order, in batches: callers that need that while a
 * batch is being written share the next one. What could not be written stays at the head of the
 * queue.
 */
import { setImmediate } from 'node:timers/promises';
import { diskReason, TrlError } from '../errors.ts';
import type { Catalog, StoredContent, StoredRecord, Tombstone } from './catalog.ts';
import type { DirectoryLine } from './batch-directory.ts';
import { packPayload } from './seal.ts';
import { sealOverheadBytes } from './seal.ts';
import type { BatchEntry, BodyLocation, SnapshotSegment } from './segment.ts';

/** `payload`: copied from another segment, already packed. */
export type QueuedWrite =
  | { readonly type: 'content'; readonly content: StoredContent; readonly payload: Buffer | null }
  | { readonly type: 'record'; readonly record: StoredRecord; readonly payload: Buffer | null }
  | { readonly type: 'drop'; readonly tombstone: Tombstone };

interface Waiter {
  /** Everything up to this number must be on disk. */
  readonly upTo: number;
  readonly resolve: () => void;
  readonly reject: (error: TrlError) => void;
}

export interface SegmentWriterOptions {
  readonly catalog: Catalog;
  readonly directory: string;
  readonly activeSegment: () => Promise<SnapshotSegment>;
}

/** To seal so many takes one or two milliseconds, during which nothing else runs. */
const batchBytesMax = 1024 * 1024;
/** So many queued bytes are written without a call of `sync`. */
const unsyncedBytesMax = 1024 * 1024;
/** How long the event loop is blocked at a time. */
const sliceMs = 2;

export class SegmentWriter {
  readonly #options: SegmentWriterOptions;
  #queue: QueuedWrite[] = [];
  #waiters: Waiter[] = [];
  #queued = 0;
  #written = 0;
  #running: Promise<void> | null = null;
  /** Queued bytes, not packed. */
  pendingBytes = 0;
  /** Why the last write failed; `null` after one that succeeded. */
  failure: TrlError | null = null;
  syncs = 0;

  constructor(options: SegmentWriterOptions) {
    this.#options = options;
  }

  add(item: QueuedWrite): void {
    this.#queue.push(item);
    this.#queued += 1;
    this.pendingBytes += sizeOf(item);
    if (this.pendingBytes > unsyncedBytesMax && this.failure === null) this.#startWriting();
  }

  /** Resolves when everything that was added before is on disk. */
  sync(): Promise<void> {
    const upTo = this.#queued;
    if (this.#written >= upTo) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiters.push({ upTo, resolve, reject });
      this.#startWriting();
    });
  }

  /** Resolves when little is queued, or when writing fails. */
  async drain(): Promise<void> {
    while (this.pendingBytes > batchBytesMax && this.failure === null) {
      this.#startWriting();
      await this.#running;
    }
  }

  /** Runs `work` while nothing is being written. */
  async whileIdle(work: () => Promise<void>): Promise<void> {
    while (this.#running !== null) await this.#running;
    const done = work();
    this.#setRunning(done.catch(() => null));
    await done;
  }

  #startWriting(): void {
    if (this.#running === null) this.#setRunning(this.#run());
  }

  /** `work` never rejects. */
  #setRunning(work: Promise<unknown>): void {
    this.#running = work.then(() => this.#end());
  }

  #end(): void {
    this.#running = null;
    // A caller may have started to wait meanwhile.
    if (this.#waiters.length > 0) this.#startWriting();
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      const taken = this.#take();
      try {
        await this.#write(taken);
        this.failure = null;
      } catch (cause) {
        this.#queue = [...taken, ...this.#queue];
        this.#fail(cause);
        return;
      }
      this.#written += taken.length;
      this.pendingBytes -= taken.reduce((sum, item) => sum + sizeOf(item), 0);
      for (const item of taken) forgetBytes(item);
      this.#settle();
    }
  }

  #take(): QueuedWrite[] {
    let bytes = 0;
    const over = this.#queue.findIndex((item) => {
      bytes += sizeOf(item);
      return bytes > batchBytesMax;
    });
    // An entry that is larger than a batch is a batch of its own.
    return this.#queue.splice(0, over === -1 ? this.#queue.length : Math.max(over, 1));
  }

  async #write(items: readonly QueuedWrite[]): Promise<void> {
    const { catalog } = this.#options;
    const segment = await this.#options.activeSegment();
    const needed = items.filter((item) => isNeeded(catalog, item));
    const entries: BatchEntry[] = [];
    let sliceStart = performance.now();
    for (const item of needed) {
      // Everything of a dropped record was written before the drop.
      if (item.type === 'drop' && item.tombstone.segment === null) {
        item.tombstone.upTo = segment.number;
      }
      entries.push(await entryOf(item));
      if (performance.now() - sliceStart < sliceMs) continue;
      await setImmediate();
      sliceStart = performance.now();
    }
    if (entries.length === 0) return;
    const locations = await segment.append(entries);
    this.syncs += 1;
    for (const [index, item] of needed.entries()) {
      const location = locations[index];
      if (location !== undefined) settle(catalog, item, location);
    }
  }

  #settle(): void {
    const done = this.#waiters.filter(({ upTo }) => upTo <= this.#written);
    this.#waiters = this.#waiters.filter(({ upTo }) => upTo > this.#written);
    for (const { resolve } of done) resolve();
  }

  #fail(cause: unknown): void {
    const reason = diskReason(cause);
    this.failure = new TrlError(
      reason === null ? 'INTERNAL_ERROR' : 'BACKEND_UNAVAILABLE',
      `Cannot write snapshots to "${this.#options.directory}": ${reason ?? String(cause)}`,
      { cause },
    );
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { reject } of waiters) reject(this.failure);
  }
}

/** A copy must still be needed; what is new is always written, because a caller may wait for it. */
function isNeeded(catalog: Catalog, item: QueuedWrite): boolean {
  switch (item.type) {
    case 'content':
      return item.payload === null || catalog.isKept(item.content);
    case 'record':
      return item.payload === null || catalog.isCurrent(item.record);
    case 'drop':
      return item.tombstone.segment === null || catalog.isBuried(item.tombstone);
  }
}

async function entryOf(item: QueuedWrite): Promise<BatchEntry> {
  if (item.type === 'drop') {
    const { kind, id, upTo: segment } = item.tombstone;
    return { line: { type: 'drop', kind, id, segment }, payload: null };
  }
  if (item.type === 'content' && item.content.parts !== null) {
    const { id, parts } = item.content;
    return { line: { type: 'list', id, parts: parts.map((part) => part.id) }, payload: null };
  }
  const payload = item.payload ?? (await packPayload(await plainOf(item)));
  return { line: lineOf(item, payload.length + sealOverheadBytes), payload };
}

async function plainOf(item: Exclude<QueuedWrite, { type: 'drop' }>): Promise<Uint8Array> {
  if (item.type === 'content') return item.content.plain ?? new Uint8Array();
  return (await item.record.text?.bytes()) ?? Buffer.from('null');
}

function lineOf(item: Exclude<QueuedWrite, { type: 'drop' }>, bytes: number): DirectoryLine {
  if (item.type === 'content') return { type: 'content', id: item.content.id, bytes };
  const { kind, id, atMs, pinned, contents, originals } = item.record;
  const ids = contents.map((content) => content.id);
  return { type: 'record', kind, id, bytes, atMs, pinned, contents: ids, originals };
}

function settle(catalog: Catalog, item: QueuedWrite, location: BodyLocation): void {
  switch (item.type) {
    case 'content':
      if (catalog.isKept(item.content)) catalog.setLocation(item.content, location);
      return;
    case 'record':
      if (catalog.isCurrent(item.record)) catalog.setLocation(item.record, location);
      return;
    case 'drop':
      item.tombstone.segment = location.segment;
  }
}

function forgetBytes(item: QueuedWrite): void {
  if (item.type === 'content') item.content.plain = null;
  else if (item.type === 'record') item.record.text = null;
}

function sizeOf(item: QueuedWrite): number {
  if (item.type === 'drop') return 0;
  if (item.payload !== null) return item.payload.length;
  return item.type === 'record' ? (item.record.text?.size ?? 0) : (item.content.plain?.length ?? 0);
}
