/** Keeps raw logs within their bound: the oldest go, and each that goes is recorded first. */
import type { ExecId, RawLog } from '../../command.ts';
import { limits } from '../../limits.ts';
import { listRawLogs, applyRawLogRetention } from '../../sealing/retention.ts';
import type { Auditing } from './auditing.ts';

export interface RawLogsOptions {
  readonly directory: string;
  /** Bytes of all of them. Default: `rawLogsBytes`. */
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
  /** Bytes that lie there, as far as this runtime knows; `null`: it has not looked. */
  #held: number | null = null;
  #working: Promise<void> = Promise.resolve();

  constructor(options: RawLogsOptions) {
    this.#options = options;
    this.#bytesMax = options.bytesMax ?? limits.rawLogsBytes.default;
  }

  /** A command ended, and left this. Nobody waits for what is done about it. */
  added({ bytes }: RawLog): void {
    if (this.#held !== null) this.#held += bytes;
    if (this.#held !== null && this.#held <= this.#bytesMax) return;
    this.#working = this.#working.then(() => this.#trim());
  }

  /** Resolves when what was begun is done. */
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
          if (mark === null) throw new Error('that it goes cannot be recorded');
        },
      });
      const left = await listRawLogs(directory);
      this.#held = left.reduce((sum, { bytes }) => sum + bytes, 0);
    } catch (error) {
      const why = error instanceof Error ? error.message : 'it failed';
      log(`Cannot keep raw logs within their bound: ${why}`);
    }
  }
}
