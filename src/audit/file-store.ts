/** A log in files (`log-files.ts` draws them): one write and one wait for the disk per group. */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { limits } from '../limits.ts';
import { SegmentFile, syncDirectory, systemErrorCode } from '../segment-files.ts';
import { firstPrevHash, serializeHeadLine } from './line-format.ts';
import {
  listUnrecordedTornWrites,
  logSegmentName,
  markTornWriteRecorded,
  saveReserve,
  spendReserve,
} from './log-files.ts';
import { readLogStatus } from './log-tail.ts';
import { MerkleTree, storedHashIndex } from './merkle.ts';
import { NodeHashFile } from './node-hash-file.ts';
import { LogLostError, type AuditStore, type EventGroup, type StoredLog } from './store.ts';
import type { TornWrite, VerifyHead } from './store.ts';

export interface FileStoreOptions {
  /** Of one log, private to the user; the caller holds its lock. */
  readonly directory: string;
  readonly verifyHead: VerifyHead;
  /** Default: `limits.auditSegmentBytes`. */
  readonly segmentBytes?: number | undefined;
}

interface OpenedFiles {
  readonly nodes: NodeHashFile;
  readonly segment: SegmentFile | null;
  /** The newest head. */
  readonly head: string;
}

export class FileStore implements AuditStore {
  readonly location: string;
  readonly #segmentBytes: number;
  readonly #nodes: NodeHashFile;
  /** The segment that the next group goes to, if it fits. */
  #segment: SegmentFile | null;
  /** The newest head line, with its newline. */
  #head: Buffer;
  /** Path of a segment whose first write has not succeeded. */
  #unfinished: string | null = null;

  private constructor(options: FileStoreOptions, { nodes, segment, head }: OpenedFiles) {
    this.location = options.directory;
    this.#segmentBytes = options.segmentBytes ?? limits.auditSegmentBytes.default;
    this.#nodes = nodes;
    this.#segment = segment;
    this.#head = headBytes(head);
  }

  /**
   * Continues the log in the directory. `fresh` makes the first head of an empty one.
   *
   * @throws LogLost when its end is not that of a log with at most one torn write behind it
   */
  static async open(
    options: FileStoreOptions,
    fresh: () => { readonly log: string; readonly head: string },
  ): Promise<{ readonly store: FileStore; readonly stored: StoredLog }> {
    const { directory, verifyHead } = options;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const nodes = new NodeHashFile(directory);
    try {
      const status = await readLogStatus(directory, nodes, verifyHead);
      const torn = listUnrecordedTornWrites(directory);
      if (status === null) {
        const { log, head } = fresh();
        const store = new FileStore(options, { nodes, segment: null, head });
        return { store, stored: { log, head, tree: new MerkleTree(), prev: firstPrevHash, torn } };
      }
      const { tail, tree, prev } = status;
      const { note: head, checkpoint } = tail;
      const segment = openSegment(status.segment.file, tail.end);
      const store = new FileStore(options, { nodes, segment, head });
      return { store, stored: { log: checkpoint.log, head, tree, prev, torn } };
    } catch (error) {
      await nodes.close();
      throw error;
    }
  }

  async append(group: EventGroup): Promise<void> {
    const head = headBytes(group.head);
    const bytes = Buffer.concat([Buffer.from(group.lines), head]);
    const segment = this.#segment;
    if (segment === null || segment.end + bytes.length > this.#segmentBytes) {
      await this.#beginSegment(group.first, bytes);
    } else {
      // Behind the end of a file that was truncated, a write leaves a hole of the right length.
      mustBeInPlace(segment, segment.end);
      await segment.append(bytes, (size) => mustBeInPlace(segment, size));
    }
    this.#head = head;
    this.#nodes.append(storedHashIndex(0, group.first), group.hashes);
  }

  async recover(): Promise<void> {
    if (this.#unfinished !== null) rmSync(this.#unfinished, { force: true });
    this.#unfinished = null;
    const segment = this.#segment;
    if (segment === null) {
      mkdirSync(this.location, { recursive: true, mode: 0o700 });
      return;
    }
    const reopened = this.#reopen(segment);
    try {
      const { end } = reopened;
      if (!(await reopened.read(end - this.#head.length, end)).equals(this.#head)) {
        throw new LogLostError(`"${segment.path}" does not end as it was written`);
      }
      await reopened.cut();
    } catch (error) {
      await reopened.close();
      throw error;
    }
    this.#segment = reopened;
    await segment.close().catch(() => null);
  }

  markRecorded(torn: TornWrite): void {
    markTornWriteRecorded(this.location, torn);
  }

  spendReserve(): boolean {
    return spendReserve(this.location);
  }

  saveReserve(): void {
    saveReserve(this.location);
  }

  async close(): Promise<void> {
    await this.#nodes.close();
    await this.#segment?.close().catch(() => null);
    this.#segment = null;
  }

  /** A segment begins with the head over everything before it. */
  async #beginSegment(first: number, bytes: Buffer): Promise<void> {
    const previous = this.#segment;
    const file = path.join(this.location, logSegmentName(first));
    const segment = SegmentFile.create(file);
    this.#unfinished = file;
    try {
      await segment.append(Buffer.concat([this.#head, bytes]));
      await segment.sync();
      await syncDirectory(this.location);
      if (previous === null) {
        // The names above it must last, too, before the caller is notified of the first event.
        await syncDirectory(path.dirname(this.location));
        await syncDirectory(path.dirname(path.dirname(this.location)));
      }
      mustBeInPlace(segment, segment.end);
    } catch (error) {
      await segment.close();
      throw error;
    }
    this.#segment = segment;
    this.#unfinished = null;
    await previous?.close().catch(() => null);
  }

  #reopen({ path: file, end }: SegmentFile): SegmentFile {
    try {
      return openSegment(file, end, this.#head.length);
    } catch (error) {
      const isGone = systemErrorCode(error) === 'ENOENT';
      // Without the directory of all logs the disk may only be unmounted.
      if (!isGone || !existsSync(path.dirname(this.location))) throw error;
      throw new LogLostError(`"${file}" is gone`, { cause: error });
    }
  }
}

const headBytes = (note: string): Buffer => Buffer.from(`${serializeHeadLine(note)}\n`);

/** @param end bytes that count, at least `endMin` */
function openSegment(file: string, end: number, endMin = 0): SegmentFile {
  const segment = SegmentFile.open(file);
  const isLongEnough = segment.end >= end && end >= endMin;
  segment.end = end;
  if (isLongEnough) return segment;
  void segment.close().catch(() => null);
  throw new LogLostError(`"${file}" was cut short`);
}

function mustBeInPlace(segment: SegmentFile, size: number): void {
  if (segment.isInPlace(size)) return;
  throw new LogLostError(`"${segment.path}" is not the file that was written any more`);
}
