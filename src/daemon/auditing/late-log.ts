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
