/**
 * The runtime's log, opened for its first event. If it cannot be opened, commands are refused and
 * the next event tries again.
 */
import type {
  AuditAppendOptions,
  AuditEvent,
  AuditPosition,
  AuditSink,
} from '../../audit/event.ts';
import { openAuditKey, type AuditKey } from '../../audit/audit-key.ts';
import { listLogDirectories, openAuditLog } from '../../audit/open-log.ts';
import type { AuditLog } from '../../audit/log.ts';
import { findLogDirectory } from '../../audit/read-events.ts';
import { version } from '../../protocol/version.ts';
import { parseNote } from '../../audit/signed-note.ts';
import { listSegments } from '../../audit/log-files.ts';
import { withOpenFile } from '../../audit/line-reader.ts';
import { findLastHead } from '../../audit/log-tail.ts';
import type { ExecId } from '../../command.ts';
import { readRecordedEnds, type RecordedEnd } from './recorded-ends.ts';
import { findUnended, type UnendedExecution } from './unended.ts';

export class LazyAuditLog implements AuditSink {
  readonly #directory: string;
  #key: AuditKey | null = null;
  #log: AuditLog | null = null;
  #opening: Promise<AuditLog> | null = null;

  /** @param directory contains all logs of the user */
  constructor(directory: string) {
    this.#directory = directory;
  }

  async append(
    events: readonly AuditEvent[],
    options: AuditAppendOptions = {},
  ): Promise<readonly AuditPosition[]> {
    const log = this.#log ?? (await this.#open());
    return log.append(events, options);
  }

  head(): string | null {
    return this.#log?.head() ?? null;
  }

  /**
   * The key that signs heads and statements.
   *
   * @throws TrlError `AUDIT_UNAVAILABLE`
   */
  key(): AuditKey {
    this.#key ??= openAuditKey(this.#directory);
    return this.#key;
  }

  /** Commands without a recorded end in this log; none if it cannot be opened. */
  async unended(): Promise<readonly UnendedExecution[]> {
    const log = this.#log ?? (await this.#open().catch(() => null));
    const directory = log === null ? null : findLogDirectory(this.#directory, log.id);
    if (directory === null) return [];
    const others = listLogDirectories(this.#directory).filter((one) => one !== directory);
    return findUnended(directory, others);
  }

  /** See {@link readRecordedEnds}; none if this log cannot be opened. */
  async ends(execs: ReadonlySet<string>, since: number): Promise<ReadonlyMap<ExecId, RecordedEnd>> {
    const log = execs.size === 0 ? null : (this.#log ?? (await this.#open().catch(() => null)));
    if (log === null) return new Map();
    const own = findLogDirectory(this.#directory, log.id);
    const logs = listLogDirectories(this.#directory).flatMap((directory) => {
      const head = directory === own ? log.head() : newestHead(directory);
      return head === null ? [] : [{ directory, head }];
    });
    return readRecordedEnds(logs, execs, since);
  }

  async close(): Promise<void> {
    const log = await this.#opening?.catch(() => null);
    await log?.close();
  }

  #open(): Promise<AuditLog> {
    this.#opening ??= this.#openNow().catch((error: unknown) => {
      this.#opening = null;
      throw error;
    });
    return this.#opening;
  }

  async #openNow(): Promise<AuditLog> {
    const key = this.key();
    const about = { version: version(), pid: process.pid };
    this.#log = await openAuditLog({ directory: this.#directory, key, about });
    return this.#log;
  }
}

/** The newest head of a log that another process wrote or writes. */
function newestHead(directory: string): string | null {
  const segment = listSegments(directory).at(-1);
  if (segment === undefined) return null;
  const parsed = (note: string) => parseNote(note)?.checkpoint ?? null;
  return withOpenFile(segment.file, (fd, length) => findLastHead(fd, length, parsed)?.note ?? null);
}
