/**
 * The runtime's log, opened when the first event comes: where it cannot be, commands are refused
 * and the next event tries again.
 */
import type { AppendOptions, AuditEvent, AuditPosition, AuditSink } from '../../audit/event.ts';
import { openAuditKey, type AuditKey } from '../../audit/key.ts';
import { logDirectories, openAuditLog } from '../../audit/logs.ts';
import type { AuditLog } from '../../audit/log.ts';
import { directoryOfLog } from '../../audit/read.ts';
import { version } from '../../protocol/version.ts';
import { readNote } from '../../audit/note.ts';
import { segmentsOf } from '../../audit/segments.ts';
import { lastHead, withFile } from '../../audit/tail.ts';
import type { ExecId } from '../../command.ts';
import { toldEnds, type ToldEnd } from './told-ends.ts';
import { unendedIn, type Unended } from './unended.ts';

export class LateLog implements AuditSink {
  readonly #directory: string;
  #key: AuditKey | null = null;
  #log: AuditLog | null = null;
  #opening: Promise<AuditLog> | null = null;

  /** @param directory of all logs of the user */
  constructor(directory: string) {
    this.#directory = directory;
  }

  async append(
    events: readonly AuditEvent[],
    options: AppendOptions = {},
  ): Promise<readonly AuditPosition[]> {
    const log = this.#log ?? (await this.#open());
    return log.append(events, options);
  }

  head(): string | null {
    return this.#log?.head() ?? null;
  }

  /**
   * What signs heads and statements.
   *
   * @throws TrlError `AUDIT_UNAVAILABLE`
   */
  key(): AuditKey {
    this.#key ??= openAuditKey(this.#directory);
    return this.#key;
  }

  /** Commands whose end this log does not tell; none where it cannot be opened. */
  async unended(): Promise<readonly Unended[]> {
    const log = this.#log ?? (await this.#open().catch(() => null));
    const directory = log === null ? null : directoryOfLog(this.#directory, log.id);
    if (directory === null) return [];
    const others = logDirectories(this.#directory).filter((one) => one !== directory);
    return unendedIn(directory, others);
  }

  /** See {@link toldEnds}; none where this log cannot be opened. */
  async ends(execs: ReadonlySet<string>, since: number): Promise<ReadonlyMap<ExecId, ToldEnd>> {
    const log = execs.size === 0 ? null : (this.#log ?? (await this.#open().catch(() => null)));
    if (log === null) return new Map();
    const own = directoryOfLog(this.#directory, log.id);
    const logs = logDirectories(this.#directory).flatMap((directory) => {
      const head = directory === own ? log.head() : newestHead(directory);
      return head === null ? [] : [{ directory, head }];
    });
    return toldEnds(logs, execs, since);
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

/** Of a log that another process wrote, or writes. */
function newestHead(directory: string): string | null {
  const segment = segmentsOf(directory).at(-1);
  if (segment === undefined) return null;
  const parsed = (note: string) => readNote(note)?.checkpoint ?? null;
  return withFile(segment.file, (fd, length) => lastHead(fd, length, parsed)?.note ?? null);
}
