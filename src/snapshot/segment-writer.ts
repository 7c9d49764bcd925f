/**
 * Puts what waits to be kept on disk, in order, in batches: whoever asks for that while a batch is
 * under way shares the next one. What could not be written stays at the head of the queue.
 */
import { setImmediate } from 'node:timers/promises';
import { diskReason, TrlError } from '../errors.ts';
import type { Catalog, StoredContent, StoredRecord, Tombstone } from './catalog.ts';
import type { DirectoryLine } from './batch-directory.ts';
import { packPayload } from './payload.ts';
import { sealOverheadBytes } from './seal.ts';
import type { BatchEntry, BodyLocation, SnapshotSegment } from './segment.ts';

/** `payload`: it is copied from another segment, packed as it was. */
export type QueuedWrite =
  | { readonly type: 'content'; readonly content: StoredContent; readonly payload: Buffer | null }
  | { readonly type: 'record'; readonly record: StoredRecord; readonly payload: Buffer | null }
  | { readonly type: 'drop'; readonly tombstone: Tombstone };

interface Waiter {
  /** Everything up to this number has to be on disk. */
  readonly upTo: number;
  readonly resolve: () => void;
  readonly reject: (error: TrlError) => void;
}

export interface SegmentWriterOptions {
  readonly catalog: Catalog;
  readonly directory: string;
  /** The segment to write to: a new one where the last is full or broken. */
  readonly segment: () => Promise<SnapshotSegment>;
}

/** To seal this takes one or two milliseconds, in which nobody else runs. */
const batchBytesMax = 1024 * 1024;
/** What waits without anybody asking for it is written when it comes to this. */
const waitingBytesMax = 1024 * 1024;
/** How long the event loop is held at a time. */
const sliceMs = 2;

export class SegmentWriter {
  readonly #options: SegmentWriterOptions;
  #queue: QueuedWrite[] = [];
  #waiters: Waiter[] = [];
  #queued = 0;
  #written = 0;
  #running: Promise<void> | null = null;
  /** Bytes that wait, as they were given. */
  pendingBytes = 0;
  /** Why the last try failed; `null` after one that did not. */
  failure: TrlError | null = null;
  syncs = 0;

  constructor(options: SegmentWriterOptions) {
    this.#options = options;
  }

  add(item: QueuedWrite): void {
    this.#queue.push(item);
    this.#queued += 1;
    this.pendingBytes += sizeOf(item);
    if (this.pendingBytes > waitingBytesMax && this.failure === null) this.#start();
  }

  /** Resolves when all that was added before is on disk. */
  sync(): Promise<void> {
    const upTo = this.#queued;
    if (this.#written >= upTo) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiters.push({ upTo, resolve, reject });
      this.#start();
    });
  }

  /** Resolves when little waits, or when writing fails. */
  async drain(): Promise<void> {
    while (this.pendingBytes > batchBytesMax && this.failure === null) {
      this.#start();
      await this.#running;
    }
  }

  /** Does `work` while no write is under way. */
  async whileIdle(work: () => Promise<void>): Promise<void> {
    while (this.#running !== null) await this.#running;
    const done = work();
    this.#begin(done.catch(() => null));
    await done;
  }

  #start(): void {
    if (this.#running === null) this.#begin(this.#run());
  }

  /** `work` never rejects. */
  #begin(work: Promise<unknown>): void {
    this.#running = work.then(() => this.#end());
  }

  #end(): void {
    this.#running = null;
    // Somebody may have asked meanwhile.
    if (this.#waiters.length > 0) this.#start();
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
    // One that is larger than a batch is a batch of its own.
    return this.#queue.splice(0, over === -1 ? this.#queue.length : Math.max(over, 1));
  }

  async #write(items: readonly QueuedWrite[]): Promise<void> {
    const { catalog } = this.#options;
    const segment = await this.#options.segment();
    const wanted = items.filter((item) => isWanted(catalog, item));
    const pieces: BatchEntry[] = [];
    let sliceStart = performance.now();
    for (const item of wanted) {
      // Whatever there was of a dropped record was written before it.
      if (item.type === 'drop' && item.tombstone.segment === null) {
        item.tombstone.upTo = segment.number;
      }
      pieces.push(await pieceOf(item));
      if (performance.now() - sliceStart < sliceMs) continue;
      await setImmediate();
      sliceStart = performance.now();
    }
    if (pieces.length === 0) return;
    const places = await segment.append(pieces);
    this.syncs += 1;
    for (const [index, item] of wanted.entries()) {
      const place = places[index];
      if (place !== undefined) settle(catalog, item, place);
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

/** What is copied has to be wanted still; what is new is written, as somebody may wait for it. */
function isWanted(catalog: Catalog, item: QueuedWrite): boolean {
  switch (item.type) {
    case 'content':
      return item.payload === null || catalog.isKept(item.content);
    case 'record':
      return item.payload === null || catalog.isCurrent(item.record);
    case 'drop':
      return item.tombstone.segment === null || catalog.isBuried(item.tombstone);
  }
}

async function pieceOf(item: QueuedWrite): Promise<BatchEntry> {
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

function settle(catalog: Catalog, item: QueuedWrite, place: BodyLocation): void {
  switch (item.type) {
    case 'content':
      if (catalog.isKept(item.content)) catalog.setLocation(item.content, place);
      return;
    case 'record':
      if (catalog.isCurrent(item.record)) catalog.setLocation(item.record, place);
      return;
    case 'drop':
      item.tombstone.segment = place.segment;
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
