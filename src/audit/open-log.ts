/**
 * The logs of a user. A log belongs to one process; a runtime that finds the first one taken takes
 * the next. One that cannot be gone on with stays as it is, and the next one tells of it.
 *
 *   audit/key, audit/key.pub
 *   audit/logs/0/lock          held by the process that writes there
 *   audit/logs/0/lost          why nobody writes there any more; it may not be there
 *   audit/logs/0/…             `segments.ts` draws it
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { auditUnavailable, describeWriteFailure } from './write-failure.ts';
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
import { logFileNames, listNamesIn, listSegments } from './segments.ts';
import { LogLostError, type VerifyHead } from './store.ts';

/** Logs that are looked at before a runtime gives up. */
const logsMax = 4096;

export interface OpenLogOptions extends Pick<AuditLogOptions, 'clock' | 'about' | 'onState'> {
  /** `$XDG_STATE_HOME/trl/audit`; made where it is not there. */
  readonly directory: string;
  /** The one of `directory` unless given. */
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
 * Opens the first log that no other process has.
 *
 * @throws TrlError `AUDIT_UNAVAILABLE` when there is no log that can be written, or no key
 */
export async function openAuditLog(options: OpenLogOptions): Promise<AuditLog> {
  const { clock, about, onState } = options;
  const key = options.key ?? openAuditKey(options.directory);
  const taker = new Taker(options, key);
  const { opened, follows } = await taker.take(null);
  const next = async (reason: string): Promise<OpenedStore> => (await taker.take(reason)).opened;
  const onClosed = (): void => taker.release();
  return new AuditLog(opened, {
    key,
    clock,
    about,
    onState,
    previousLog: follows,
    openNextLog: next,
    onClosed,
  });
}

interface Taken {
  readonly opened: OpenedStore;
  readonly follows: PreviousLog | undefined;
}

/** Holds the lock of one log at a time. */
class Taker {
  readonly #options: OpenLogOptions;
  readonly #key: AuditKey;
  #held: { readonly directory: string; readonly lock: DatabaseSync } | null = null;

  constructor(options: OpenLogOptions, key: AuditKey) {
    this.#options = options;
    this.#key = key;
  }

  /** @param lost why the one that is held cannot be gone on with; `null`: none is held */
  async take(lost: string | null): Promise<Taken> {
    const { directory } = this.#options;
    if (this.#held !== null && lost !== null) markLost(this.#held.directory, lost);
    let follows: PreviousLog | undefined;
    for (let number = 0; number < logsMax; number += 1) {
      const found = await this.#tryOne(path.join(logsDirectory(directory), String(number)));
      if (found === null) continue;
      if ('opened' in found) return { opened: found.opened, follows };
      follows = found;
    }
    throw auditUnavailable(directory, `${logsMax} logs are taken or lost`);
  }

  release(): void {
    this.#held?.lock.close();
    this.#held = null;
  }

  /** `null`: another process has it, or nobody writes there any more. */
  async #tryOne(directory: string): Promise<{ readonly opened: OpenedStore } | PreviousLog | null> {
    const lock = this.#lockOf(directory);
    if (lock === null) return null;
    const { segmentBytes } = this.#options;
    const { publicKey } = this.#key;
    const trusts: VerifyHead = (note) => verifyHeadNote(note, publicKey);
    try {
      const store = { directory, verifyHead: trusts, segmentBytes };
      const opened = await FileStore.open(store, () => createFirstHead(this.#key));
      this.release();
      this.#held = { directory, lock };
      return { opened };
    } catch (error) {
      lock.close();
      if (!(error instanceof LogLostError)) {
        throw auditUnavailable(directory, describeWriteFailure(error), error);
      }
      markLost(directory, error.message);
      const reason = `"${directory}" cannot be gone on with: ${error.message}`;
      return { log: idOf(directory, trusts), head: null, reason };
    }
  }

  #lockOf(directory: string): DatabaseSync | null {
    if (directory === this.#held?.directory) return null;
    try {
      if (existsSync(path.join(directory, logFileNames.lost))) return null;
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      return lockAt(path.join(directory, logFileNames.lock));
    } catch (error) {
      throw auditUnavailable(directory, describeWriteFailure(error), error);
    }
  }
}

/** Held until it is closed or this process ends, however it ends. */
function lockAt(file: string): DatabaseSync | null {
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

/** So that it is not looked at again. Must not throw: then it is. */
function markLost(directory: string, reason: string): void {
  try {
    const text = `${JSON.stringify({ reason })}\n`;
    writeFileSync(path.join(directory, logFileNames.lost), text, { flag: 'wx', mode: 0o600 });
  } catch {
    // The directory is gone, too.
  }
}

function idOf(directory: string, trusts: VerifyHead): string | null {
  const [first] = listSegments(directory);
  return first === undefined ? null : (readFirstHead(first, trusts)?.log ?? null);
}
