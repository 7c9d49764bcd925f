/**
 * Seals the output of one command while it runs. It has the data key until the end and never an
 * identity, so afterwards it cannot read what it wrote.
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { RawLog } from '../redacted.ts';
import { SegmentFile, syncDirectory, systemErrorCode } from '../segment-files.ts';
import { RawLogChunkBuffer, rawLogPath, sealChunk, type RawLogStream } from './chunk.ts';
import {
  dataKeyBytes,
  headerDigest,
  noncePrefixBytes,
  rawLogKeyPath,
  sealHeader,
  type ChunkKeys,
} from './header.ts';
import { parseRecipient } from './keys.ts';

/** How long output waits for more before it is written. */
const flushAfterMs = 250;
/** Limit of bytes that are sealed and not written; above it the command must wait. */
const behindBytesMax = 1024 * 1024;

export interface RawLogWriterOptions {
  /**
   * Absolute path of both files without their extensions; its last part is the id of the execution.
   */
  readonly base: string;
  /** `age1…`, at least one. */
  readonly recipients: readonly string[];
  /** Limit of the sealed file; output that exceeds it is not sealed. */
  readonly bytesMax: number;
}

/** Why sealing stopped. */
export interface SealFailure {
  /** A clause for people. */
  readonly why: string;
  /** `bound`: the limit is reached; `system`: the file cannot be written. */
  readonly by: 'bound' | 'system';
}

export interface SealEvents {
  /** Nothing more is written, although there is more output. Called once; must not throw. */
  onFailure(failure: SealFailure): void;
  /** There is room again after {@link RawLogWriter.isBehind}. Must not throw. */
  onRoom(): void;
}

export class RawLogWriter {
  readonly #options: RawLogWriterOptions;
  readonly #events: SealEvents;
  readonly #records = new RawLogChunkBuffer();
  readonly #digest = createHash('sha256');
  #keys: ChunkKeys | null = null;
  #log: SegmentFile | null = null;
  #keySynced: Promise<void> = Promise.resolve();
  /** All work on the disk, in order. */
  #work: Promise<void> = Promise.resolve();
  #pendingBytes = 0;
  #number = 0;
  /** Of the sealed file. */
  #bytes = 0;
  #plainBytes = 0;
  #why: string | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: RawLogWriterOptions, events: SealEvents) {
    this.#options = options;
    this.#events = events;
  }

  /** Whether so much waits for the disk that the command should pause. */
  get isBehind(): boolean {
    return this.#pendingBytes > behindBytesMax;
  }

  /** Copies output with known values masked. The files are created at the first byte. */
  append(stream: RawLogStream, bytes: Uint8Array): void {
    const at = Date.now();
    for (let rest = bytes; rest.length > 0 && this.#why === null;) {
      const left = this.#records.add(stream, rest, at);
      if (left.length > 0) this.#flush(false);
      rest = left;
    }
    if (this.#why !== null || this.#records.isEmpty) return;
    this.#timer ??= setTimeout(() => this.#flush(false), flushAfterMs);
  }

  /** Writes the rest to disk; `null`: there was no output, and there is no file. */
  async end(): Promise<RawLog | null> {
    if (this.#why === null && this.#records.total > 0) this.#flush(true);
    this.#stopTimer();
    await this.#work;
    await this.#attempt(() => this.#settle());
    this.#forgetKeys();
    if (this.#records.total === 0) return null;
    return {
      sha256: this.#digest.copy().digest('hex'),
      bytes: this.#bytes,
      plain_bytes: this.#plainBytes,
      complete: this.#why === null,
      why: this.#why,
      recipients: this.#options.recipients,
    };
  }

  /** Leaves what was written as it is, without an end, and reports nothing. */
  abandon(): void {
    this.#why ??= 'its output was abandoned';
    this.#stopTimer();
    void this.#work.then(() => this.#log?.close().catch(() => {})).then(() => this.#forgetKeys());
  }

  #flush(last: boolean): void {
    this.#stopTimer();
    const chunk = this.#attemptNow(() => {
      const position = { number: this.#number, last };
      return sealChunk(this.#records.take(), position, this.#open());
    });
    if (chunk === null) return;
    const plainBytes = this.#records.total;
    this.#number += 1;
    this.#pendingBytes += chunk.length;
    this.#queue(async () => {
      await this.#write(chunk);
      if (this.#why !== null) return;
      this.#plainBytes = plainBytes;
      const wasBehind = this.isBehind;
      this.#pendingBytes -= chunk.length;
      if (wasBehind && !this.isBehind) this.#events.onRoom();
    });
  }

  /** Returns the keys at once, and creates the files in the background. */
  #open(): ChunkKeys {
    if (this.#keys !== null) return this.#keys;
    const { base, recipients } = this.#options;
    const keys = {
      dataKey: randomBytes(dataKeyBytes),
      noncePrefix: randomBytes(noncePrefixBytes),
    };
    const header = sealHeader(basename(base), recipients.map(parseRecipient), keys);
    this.#keys = { ...keys, digest: headerDigest(header) };
    this.#queue(async () => {
      const key = await createFile(rawLogKeyPath(base));
      this.#keySynced = writeAndClose(key, header);
      // `end` awaits it.
      this.#keySynced.catch((error: unknown) => this.#fail(failureOf(error)));
      this.#log = await createFile(rawLogPath(base));
    });
    return this.#keys;
  }

  async #write(chunk: Buffer): Promise<void> {
    if (this.#bytes + chunk.length > this.#options.bytesMax) {
      const why = `the bound of ${this.#options.bytesMax} bytes was reached`;
      return this.#fail({ why, by: 'bound' });
    }
    const log = this.#log;
    if (log === null) return;
    await log.append(chunk);
    this.#bytes = log.end;
    this.#digest.update(chunk);
  }

  async #settle(): Promise<void> {
    const log = this.#log;
    this.#log = null;
    if (log === null) return;
    try {
      // A chunk that was written in part is removed.
      const synced = this.#why === null ? log.sync() : log.cut();
      await Promise.all([this.#keySynced, synced, syncDirectory(dirname(this.#options.base))]);
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

  #attemptNow<Result>(act: () => Result): Result | null {
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
    // Pending chunks are abandoned, so the command need not wait for them.
    this.#pendingBytes = 0;
    this.#events.onRoom();
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #forgetKeys(): void {
    this.#keys?.dataKey.fill(0);
    this.#keys = null;
  }
}

/** A new private file; its directory is created if there is none. */
async function createFile(path: string): Promise<SegmentFile> {
  try {
    return SegmentFile.create(path, 'explicit');
  } catch (error) {
    if (systemErrorCode(error) !== 'ENOENT') throw error;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    return SegmentFile.create(path, 'explicit');
  }
}

async function writeAndClose(file: SegmentFile, bytes: Uint8Array): Promise<void> {
  try {
    await file.append(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of the disk is used up',
  EROFS: 'the disk is read-only',
  EACCES: 'the runtime may not write the directory of raw logs',
  EEXIST: 'one with this id exists already',
  EIO: 'the disk failed',
};

function failureOf(error: unknown): SealFailure {
  const code = systemErrorCode(error);
  if (code !== null) return { why: reasons[code] ?? `the system reported ${code}`, by: 'system' };
  return { why: error instanceof Error ? error.message : 'it failed', by: 'system' };
}
