/**
 * Seals what one command prints while it prints it. It has the data key until it is done and
 * never an identity: what it wrote it cannot read back.
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { RawLog } from '../command.ts';
import { sealChunk } from './chunk.ts';
import {
  systemErrorCode,
  rawLogKeyPath,
  rawLogPath,
  syncParentDirectory,
} from './raw-log-files.ts';
import {
  dataKeyBytes,
  headerDigest,
  noncePrefixBytes,
  sealHeader,
  type ChunkKeys,
} from './header.ts';
import { parseRecipient } from './keys.ts';
import { RawLogChunkBuffer, type RawLogStream } from './raw-log-records.ts';

/** How long what was printed waits for more before it is written. */
const flushAfterMs = 250;
/** Sealed and not written yet: beyond, whoever prints has to wait. */
const behindBytesMax = 1024 * 1024;

export interface RawLogWriterOptions {
  /** Absolute path of both files up to their endings; its last part is the execution's id. */
  readonly base: string;
  /** `age1…`, at least one. */
  readonly recipients: readonly string[];
  /** Bytes of the sealed file; what would pass it is not sealed any more. */
  readonly bytesMax: number;
}

/** Why nothing more is sealed. */
export interface SealFailure {
  /** A clause for people. */
  readonly why: string;
  /** `bound`: as much as may be is sealed; `system`: it cannot be written. */
  readonly by: 'bound' | 'system';
}

export interface SealEvents {
  /** Nothing more is written, though there is more. Called once; must not throw. */
  onFailure(failure: SealFailure): void;
  /** Room again after {@link RawLogWriter.isBehind}. Must not throw. */
  onRoom(): void;
}

export class RawLogWriter {
  readonly #options: RawLogWriterOptions;
  readonly #events: SealEvents;
  readonly #pieces = new RawLogChunkBuffer();
  readonly #digest = createHash('sha256');
  #opened: ChunkKeys | null = null;
  #log: FileHandle | null = null;
  #keySynced: Promise<void> = Promise.resolve();
  /** Everything that touches the disk, one after the other. */
  #work: Promise<void> = Promise.resolve();
  #waiting = 0;
  #number = 0;
  #bytes = 0;
  #plainBytes = 0;
  #why: string | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: RawLogWriterOptions, events: SealEvents) {
    this.#options = options;
    this.#events = events;
  }

  /** Whether so much waits for the disk that its source should rest. */
  get isBehind(): boolean {
    return this.#waiting > behindBytesMax;
  }

  /** Takes output with known values masked; a copy is kept. Files are made at the first byte. */
  append(stream: RawLogStream, bytes: Uint8Array): void {
    const at = Date.now();
    for (let rest = bytes; rest.length > 0 && this.#why === null;) {
      const left = this.#pieces.add(stream, rest, at);
      if (left.length > 0) this.#flush(false);
      rest = left;
    }
    if (this.#why !== null || this.#pieces.isEmpty) return;
    this.#timer ??= setTimeout(() => this.#flush(false), flushAfterMs);
  }

  /** Writes the rest and makes it last; `null`: nothing was printed, and there is no file. */
  async end(): Promise<RawLog | null> {
    if (this.#why === null && this.#pieces.total > 0) this.#flush(true);
    this.#stopTimer();
    await this.#work;
    await this.#attempt(() => this.#settle());
    this.#forget();
    if (this.#pieces.total === 0) return null;
    return {
      sha256: this.#digest.copy().digest('hex'),
      bytes: this.#bytes,
      plain_bytes: this.#plainBytes,
      complete: this.#why === null,
      why: this.#why,
      recipients: this.#options.recipients,
    };
  }

  /** Leaves what was written as it is, without an end; nothing is told. */
  abandon(): void {
    this.#why ??= 'its output was given up';
    this.#stopTimer();
    void this.#work.then(() => this.#log?.close().catch(() => {})).then(() => this.#forget());
  }

  #flush(last: boolean): void {
    this.#stopTimer();
    const chunk = this.#attemptNow(() => {
      const place = { number: this.#number, last };
      return sealChunk(this.#pieces.take(), place, this.#open());
    });
    if (chunk === null) return;
    const plainBytes = this.#pieces.total;
    this.#number += 1;
    this.#waiting += chunk.length;
    this.#queue(async () => {
      await this.#write(chunk);
      if (this.#why !== null) return;
      this.#plainBytes = plainBytes;
      const wasBehind = this.isBehind;
      this.#waiting -= chunk.length;
      if (wasBehind && !this.isBehind) this.#events.onRoom();
    });
  }

  /** Makes the keys and, behind what it answers, the files. */
  #open(): ChunkKeys {
    if (this.#opened !== null) return this.#opened;
    const { base, recipients } = this.#options;
    const keys = {
      dataKey: randomBytes(dataKeyBytes),
      noncePrefix: randomBytes(noncePrefixBytes),
    };
    const header = sealHeader(basename(base), recipients.map(parseRecipient), keys);
    this.#opened = { ...keys, digest: headerDigest(header) };
    this.#queue(async () => {
      const key = await create(rawLogKeyPath(base));
      this.#keySynced = writeWhole(key, header);
      // Awaited in the end, or when it has failed.
      this.#keySynced.catch((error: unknown) => this.#fail(failureOf(error)));
      this.#log = await create(rawLogPath(base));
    });
    return this.#opened;
  }

  async #write(chunk: Buffer): Promise<void> {
    if (this.#bytes + chunk.length > this.#options.bytesMax) {
      const why = `the bound of ${this.#options.bytesMax} bytes was reached`;
      return this.#fail({ why, by: 'bound' });
    }
    const log = this.#log;
    if (log === null) return;
    for (let done = 0; done < chunk.length;) {
      const { bytesWritten } = await log.write(
        chunk,
        done,
        chunk.length - done,
        this.#bytes + done,
      );
      done += bytesWritten;
    }
    this.#bytes += chunk.length;
    this.#digest.update(chunk);
  }

  async #settle(): Promise<void> {
    const log = this.#log;
    this.#log = null;
    if (log === null) return;
    try {
      // Of a chunk that could not be written whole, nothing stays.
      if (this.#why !== null) await log.truncate(this.#bytes);
      await Promise.all([this.#keySynced, log.datasync(), syncParentDirectory(this.#options.base)]);
    } finally {
      await log.close();
    }
  }

  #queue(act: () => Promise<void>): void {
    this.#work = this.#work.then(() => (this.#why === null ? this.#attempt(act) : undefined));
  }

  async #attempt(act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      this.#fail(failureOf(error));
    }
  }

  #attemptNow<What>(act: () => What): What | null {
    try {
      return act();
    } catch (error) {
      this.#fail(failureOf(error));
      return null;
    }
  }

  #fail(failure: SealFailure): void {
    if (this.#why !== null) return;
    this.#why = failure.why;
    this.#stopTimer();
    this.#events.onFailure(failure);
    // What waited is given up, so nobody waits for it.
    this.#waiting = 0;
    this.#events.onRoom();
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #forget(): void {
    this.#opened?.dataKey.fill(0);
    this.#opened = null;
  }
}

/** A new private file; its directory is made when there is none. */
async function create(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx', 0o600);
  } catch (error) {
    if (systemErrorCode(error) !== 'ENOENT') throw error;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    return open(path, 'wx', 0o600);
  }
}

async function writeWhole(file: FileHandle, bytes: Uint8Array): Promise<void> {
  try {
    await file.writeFile(bytes);
    await file.datasync();
  } finally {
    await file.close();
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of the disk is used up',
  EROFS: 'the disk can only be read',
  EACCES: 'the directory of raw logs is not ours to write',
  EEXIST: 'there is one of this id already',
  EIO: 'the disk failed',
};

function failureOf(error: unknown): SealFailure {
  const code = systemErrorCode(error);
  if (code !== null) return { why: reasons[code] ?? `the system answered ${code}`, by: 'system' };
  return { why: error instanceof Error ? error.message : 'it failed', by: 'system' };
}
