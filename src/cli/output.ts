/** One of the two standard outputs, taking a command's bytes. */
import { once } from 'node:events';
import { TerminalFilter } from './terminal-filter.ts';

export interface OutputOptions {
  /** Whether all control sequences pass to a terminal. Elsewhere all bytes pass. */
  readonly raw: boolean;
  /** Whether keys go to the command. */
  readonly interactive: boolean;
}

/** `EPIPE` means that the reader went away. Must not throw. */
export type OnBroken = (error: NodeJS.ErrnoException) => void;

export class Output {
  readonly #to: NodeJS.WriteStream;
  readonly #filter: TerminalFilter | null;
  #broken = false;

  /** `onBroken` is called once, when nothing can be written any more. */
  constructor(to: NodeJS.WriteStream, options: OutputOptions, onBroken: OnBroken) {
    this.#to = to;
    this.#filter = to.isTTY && !options.raw ? new TerminalFilter(options) : null;
    to.on('error', (error: NodeJS.ErrnoException) => {
      if (!this.#broken) {
        this.#broken = true;
        onBroken(error);
      }
    });
  }

  get isTerminal(): boolean {
    return this.#to.isTTY;
  }

  /** Settles when more may be written. What nobody reads is dropped. */
  async write(bytes: Uint8Array): Promise<void> {
    const passed = this.#filter?.push(bytes) ?? bytes;
    if (!this.#broken && passed.length > 0 && !this.#to.write(passed)) {
      await once(this.#to, 'drain').catch(() => {});
    }
  }

  /** Settles when everything written is on its way. The stream stays open. */
  async flush(): Promise<void> {
    await this.write(new Uint8Array());
    const rest = this.#filter?.end() ?? new Uint8Array();
    if (!this.#broken) {
      await new Promise<void>((resolve) => this.#to.write(rest, () => resolve()));
    }
  }
}
