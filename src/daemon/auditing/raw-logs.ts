/** Keeps raw logs within their bound: removes the oldest, and records each removal first. */
import type { ExecId } from '../../command.ts';
import type { RawLog } from '../../redacted.ts';
import { limits } from '../../limits.ts';
import { listRawLogs, applyRawLogRetention } from '../../sealing/retention.ts';
import type { Auditing } from './auditing.ts';

export interface RawLogsOptions {
  readonly directory: string;
  /** The most bytes of all raw logs. Default: `rawLogsBytes`. */
  readonly bytesMax?: number;
  readonly auditing: Pick<Auditing, 'record'>;
  readonly isRunning: (exec: string) => boolean;
  /** Must not throw. */
  readonly log: (text: string) => void;
}

const isExecId = (text: string): text is ExecId => text.startsWith('x-');

export class RawLogs {
  readonly #options: RawLogsOptions;
  readonly #bytesMax: number;
  /** Bytes of all raw logs that this runtime knows of; `null`: it has not looked yet. */
  #bytes: number | null = null;
  #working: Promise<void> = Promise.resolve();

  constructor(options: RawLogsOptions) {
    this.#options = options;
    this.#bytesMax = options.bytesMax ?? limits.rawLogsBytes.default;
  }

  /** Adds the raw log of a command that has ended. No caller waits for the cleanup. */
  added({ bytes }: RawLog): void {
    if (this.#bytes !== null) this.#bytes += bytes;
    if (this.#bytes !== null && this.#bytes <= this.#bytesMax) return;
    this.#working = this.#working.then(() => this.#trim());
  }

  /** Resolves when the started work is done. */
  settled(): Promise<void> {
    return this.#working;
  }

  async #trim(): Promise<void> {
    const { directory, auditing, isRunning, log } = this.#options;
    try {
      await applyRawLogRetention(directory, {
        bytesMax: this.#bytesMax,
        isRunning,
        record: async ({ exec, bytes }) => {
          if (!isExecId(exec)) throw new Error(`"${exec}" is not the name of an execution`);
          const data = { bytes, why: 'the bound of all raw logs was reached' };
          const mark = await auditing.record({ kind: 'raw-log.shredded', exec, data });
          if (mark === null) throw new Error('its removal cannot be recorded');
        },
      });
      const left = await listRawLogs(directory);
      this.#bytes = left.reduce((sum, { bytes }) => sum + bytes, 0);
    } catch (error) {
      const why = error instanceof Error ? error.message : 'it failed';
      log(`Cannot keep raw logs within their bound: ${why}`);
    }
  }
}
