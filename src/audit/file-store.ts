/** A log in files (`segments.ts` draws them): one write and one wait for the disk a group. */
import { close, closeSync, constants, existsSync, fdatasync, fdatasyncSync } from 'node:fs';
import { fstatSync, ftruncateSync, mkdirSync, openSync, rmSync, statSync, write } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { limits } from '../limits.ts';
import { firstPrevHash, serializeHeadLine } from './line-format.ts';
import { readByteRange } from './line-reader.ts';
import { storedHashIndex, MerkleTree } from './merkle.ts';
import { NodeHashFile } from './node-hash-file.ts';
import { saveReserve, spendReserve } from './reserve.ts';
import { hasCode, logSegmentName, syncDirectory } from './segments.ts';
import { readLogStatus } from './log-status.ts';
import { LogLostError, type AuditStore, type EventGroup, type StoredLog } from './store.ts';
import type { TornWrite, VerifyHead } from './store.ts';
import { markTornWriteRecorded, listUnrecordedTornWrites } from './torn-writes.ts';

const { O_CREAT, O_DSYNC, O_EXCL, O_NOFOLLOW, O_RDWR } = constants;
/** A write answers when fdatasync would: one way to the threads instead of two. */
const durable = O_RDWR | O_NOFOLLOW | O_DSYNC;
const writeAt = promisify(write);
const syncData = promisify(fdatasync);
const closeFile = promisify(close);

export interface FileStoreOptions {
  /** Of one log, private to the user; the caller holds its lock. */
  readonly directory: string;
  readonly verifyHead: VerifyHead;
  /** `limits.auditSegmentBytes` unless given. */
  readonly segmentBytes?: number | undefined;
}

/** Where the next group goes. */
interface Place {
  readonly file: string;
  readonly fd: number;
  readonly inode: number;
  /** That are part of the log; what lies behind them was not answered for. */
  readonly bytes: number;
}

interface Begin {
  readonly nodes: NodeHashFile;
  readonly at: Place | null;
  /** The newest head. */
  readonly note: string;
}

export class FileStore implements AuditStore {
  readonly location: string;
  readonly #segmentBytes: number;
  readonly #nodes: NodeHashFile;
  #at: Place | null;
  /** The newest head line, with its newline. */
  #head: Buffer;
  /** A segment that was begun and does not count yet. */
  #begun: string | null = null;

  private constructor(options: FileStoreOptions, { nodes, at, note }: Begin) {
    this.location = options.directory;
    this.#segmentBytes = options.segmentBytes ?? limits.auditSegmentBytes.default;
    this.#nodes = nodes;
    this.#at = at;
    this.#head = headBytes(note);
  }

  /**
   * Goes on with what is there. `fresh` makes the first head of a log that has nothing.
   *
   * @throws LogLost when its end is no log with at most one unfinished write behind it
   */
  static async open(
    options: FileStoreOptions,
    fresh: () => { readonly log: string; readonly head: string },
  ): Promise<{ readonly store: FileStore; readonly stored: StoredLog }> {
    const { directory, verifyHead: trusts } = options;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const nodes = new NodeHashFile(directory);
    try {
      const standing = await readLogStatus(directory, nodes, trusts);
      const torn = listUnrecordedTornWrites(directory);
      if (standing === null) {
        const { log, head } = fresh();
        const store = new FileStore(options, { nodes, at: null, note: head });
        return { store, stored: { log, head, tree: new MerkleTree(), prev: firstPrevHash, torn } };
      }
      const { tail, tree, prev, segment } = standing;
      const at = placeOf(segment.file, tail.end, 0);
      const store = new FileStore(options, { nodes, at, note: tail.note });
      return { store, stored: { log: tail.checkpoint.log, head: tail.note, tree, prev, torn } };
    } catch (error) {
      await nodes.close();
      throw error;
    }
  }

  async append(group: EventGroup): Promise<void> {
    const head = headBytes(group.head);
    const bytes = Buffer.concat([Buffer.from(group.lines), head]);
    const at = this.#at;
    if (at === null || at.bytes + bytes.length > this.#segmentBytes) {
      await this.#begin(group.first, bytes);
    } else {
      // Behind the end of a file that was cut short, a write leaves a hole of the right length.
      mustBeThere(at);
      await writeWhole(at.fd, bytes, at.bytes);
      const grown = { ...at, bytes: at.bytes + bytes.length };
      mustBeThere(grown);
      this.#at = grown;
    }
    this.#head = head;
    this.#nodes.append(storedHashIndex(0, group.first), group.hashes);
  }

  async recover(): Promise<void> {
    if (this.#begun !== null) rmSync(this.#begun, { force: true });
    this.#begun = null;
    const at = this.#at;
    if (at === null) {
      mkdirSync(this.location, { recursive: true, mode: 0o700 });
      return;
    }
    const reopened = this.#reopen(at);
    try {
      const { fd, bytes, file } = reopened;
      if (!readByteRange(fd, bytes - this.#head.length, bytes).equals(this.#head)) {
        throw new LogLostError(`"${file}" does not end as it was written`);
      }
      ftruncateSync(fd, bytes);
      fdatasyncSync(fd);
    } catch (error) {
      closeSync(reopened.fd);
      throw error;
    }
    this.#at = reopened;
    await closeFile(at.fd).catch(() => null);
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
    if (this.#at !== null) await closeFile(this.#at.fd).catch(() => null);
    this.#at = null;
  }

  /** A segment opens with the head over what is before it. */
  async #begin(first: number, bytes: Buffer): Promise<void> {
    const before = this.#at;
    const file = path.join(this.location, logSegmentName(first));
    const fd = openSync(file, durable | O_CREAT | O_EXCL, 0o600);
    this.#begun = file;
    try {
      const all = Buffer.concat([this.#head, bytes]);
      await writeWhole(fd, all, 0);
      await syncData(fd);
      syncDirectory(this.location);
      if (before === null) {
        // The names above it last, too, before anybody is told of the first event.
        syncDirectory(path.dirname(this.location));
        syncDirectory(path.dirname(path.dirname(this.location)));
      }
      const at = { file, fd, bytes: all.length, inode: fstatSync(fd).ino };
      mustBeThere(at);
      this.#at = at;
      this.#begun = null;
    } catch (error) {
      closeSync(fd);
      throw error;
    }
    if (before !== null) await closeFile(before.fd).catch(() => null);
  }

  #reopen({ file, bytes }: Place): Place {
    try {
      return placeOf(file, bytes, this.#head.length);
    } catch (error) {
      // Without the directory of all logs it may only be away: a disk that is not mounted.
      if (!hasCode(error, 'ENOENT') || !existsSync(path.dirname(this.location))) throw error;
      throw new LogLostError(`"${file}" is gone`, { cause: error });
    }
  }
}

const headBytes = (note: string): Buffer => Buffer.from(`${serializeHeadLine(note)}\n`);

function placeOf(file: string, bytes: number, needed: number): Place {
  const fd = openSync(file, durable);
  const { ino, size } = fstatSync(fd);
  if (size >= bytes && bytes >= needed) return { file, fd, bytes, inode: ino };
  closeSync(fd);
  throw new LogLostError(`"${file}" was cut short`);
}

async function writeWhole(fd: number, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await writeAt(fd, bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}

/** Writing to a file that was deleted, replaced or cut short succeeds, and keeps nothing. */
function mustBeThere({ file, inode, bytes }: Place): void {
  const { ino, size } = statSync(file);
  if (ino !== inode || size !== bytes) {
    throw new LogLostError(`"${file}" is not the file that was written any more`);
  }
}
