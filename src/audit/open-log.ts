/**
 * The logs of a user. One process writes a log; a runtime that finds the first one locked takes the
 * next. A log that cannot be continued stays as it is, and the next one records why.
 *
 *   audit/key, audit/key.pub
 *   audit/logs/0/lock          held by the process that writes there
 *   audit/logs/0/lost          why no process writes there any more; may be absent
 *   audit/logs/0/…             see `log-files.ts`
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { listNamesIn } from '../segment-files.ts';
import { FileStore } from './file-store.ts';
import { openAuditKey, type AuditKey } from './audit-key.ts';
import {
  AuditLog,
  createFirstHead,
  type AuditLogOptions,
  type PreviousLog,
  type OpenedStore,
} from './log.ts';
import { readFirstHead } from './node-hash-file.ts';
import { verifyHeadNote } from './signed-note.ts';
import { listSegments, logFileNames } from './log-files.ts';
import { auditUnavailable, describeWriteFailure, LogLostError, type VerifyHead } from './store.ts';

/** Logs that a runtime tries before it gives up. */
const logsMax = 4096;

export interface OpenLogOptions extends Pick<AuditLogOptions, 'clock' | 'about' | 'onState'> {
  /** `$XDG_STATE_HOME/trl/audit`; created if absent. */
  readonly directory: string;
  /** Default: the one of `directory`. */
  readonly key?: AuditKey | undefined;
  readonly segmentBytes?: number | undefined;
}

export const logsDirectory = (directory: string): string => path.join(directory, 'logs');

/** Directories of all logs below `directory`, by number. */
export function listLogDirectories(directory: string): string[] {
  const logs = logsDirectory(directory);
  const numbers = listNamesIn(logs).filter((name) => /^\d{1,6}$/.test(name));
  const sorted = numbers.map(Number).toSorted((a, b) => a - b);
  return sorted.map((number) => path.join(logs, String(number)));
}

/**
 * Opens the first log that no other process writes.
 *
 * @throws TrlError `AUDIT_UNAVAILABLE` if there is no log that can be written, or no key
 */
export async function openAuditLog(options: OpenLogOptions): Promise<AuditLog> {
  const { clock, about, onState } = options;
  const key = options.key ?? openAuditKey(options.directory);
  const owner = new LogOwner(options, key);
  const { opened, previousLog } = await owner.lockNext(null);
  const openNextLog = async (reason: string): Promise<OpenedStore> =>
    (await owner.lockNext(reason)).opened;
  const onClosed = (): void => owner.release();
  return new AuditLog(opened, { key, clock, about, onState, previousLog, openNextLog, onClosed });
}

interface LockedLog {
  readonly opened: OpenedStore;
  readonly previousLog: PreviousLog | undefined;
}

/** Holds the lock of one log at a time. */
class LogOwner {
  readonly #options: OpenLogOptions;
  readonly #key: AuditKey;
  #held: { readonly directory: string; readonly lock: DatabaseSync } | null = null;

  constructor(options: OpenLogOptions, key: AuditKey) {
    this.#options = options;
    this.#key = key;
  }

  /** @param lost why the current log cannot be continued; `null`: there is none */
  async lockNext(lost: string | null): Promise<LockedLog> {
    const { directory } = this.#options;
    if (this.#held !== null && lost !== null) markLost(this.#held.directory, lost);
    let previousLog: PreviousLog | undefined;
    for (let number = 0; number < logsMax; number += 1) {
      const found = await this.#tryLog(path.join(logsDirectory(directory), String(number)));
      if (found === null) continue;
      if ('opened' in found) return { opened: found.opened, previousLog };
      previousLog = found;
    }
    throw auditUnavailable(directory, `${logsMax} logs are locked or lost`);
  }

  release(): void {
    this.#held?.lock.close();
    this.#held = null;
  }

  /** `null`: another process has it, or no process writes there any more. */
  async #tryLog(directory: string): Promise<{ readonly opened: OpenedStore } | PreviousLog | null> {
    const lock = this.#lock(directory);
    if (lock === null) return null;
    const { segmentBytes } = this.#options;
    const { publicKey } = this.#key;
    const verifyHead: VerifyHead = (note) => verifyHeadNote(note, publicKey);
    try {
      const files = { directory, verifyHead, segmentBytes };
      const opened = await FileStore.open(files, () => createFirstHead(this.#key));
      this.release();
      this.#held = { directory, lock };
      return { opened };
    } catch (error) {
      lock.close();
      if (!(error instanceof LogLostError)) {
        throw auditUnavailable(directory, describeWriteFailure(error), error);
      }
      markLost(directory, error.message);
      const reason = `"${directory}" cannot be continued: ${error.message}`;
      return { log: idOf(directory, verifyHead), head: null, reason };
    }
  }

  #lock(directory: string): DatabaseSync | null {
    if (directory === this.#held?.directory) return null;
    try {
      if (existsSync(path.join(directory, logFileNames.lost))) return null;
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      return lockFile(path.join(directory, logFileNames.lock));
    } catch (error) {
      throw auditUnavailable(directory, describeWriteFailure(error), error);
    }
  }
}

/** Held until it is closed or this process ends, however it ends. */
function lockFile(file: string): DatabaseSync | null {
  const lock = new DatabaseSync(file, { timeout: 0 });
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock.close();
    // SQLITE_BUSY: another process has it.
    if (error instanceof Error && 'errcode' in error && error.errcode === 5) return null;
    throw error;
  }
}

/** Prevents that it is tried again. Must not throw: then it is tried again. */
function markLost(directory: string, reason: string): void {
  try {
    const text = `${JSON.stringify({ reason })}\n`;
    writeFileSync(path.join(directory, logFileNames.lost), text, { flag: 'wx', mode: 0o600 });
  } catch {
    // The directory is gone, too.
  }
}

function idOf(directory: string, verifyHead: VerifyHead): string | null {
  const [first] = listSegments(directory);
  return first === undefined ? null : (readFirstHead(first, verifyHead)?.log ?? null);
}
