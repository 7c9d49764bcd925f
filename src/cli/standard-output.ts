/** One of the two standard outputs, taking a command's bytes. */
import { once } from 'node:events';
import type { TerminalAccessLevel } from './control-sequences.ts';
import { TerminalFilter } from './terminal-filter.ts';
import { TerminalModes } from './terminal-modes.ts';

export interface StandardOutputOptions {
  /** Whether all control sequences pass to a terminal. Elsewhere all bytes pass. */
  readonly raw: boolean;
  /** How far the terminal is the command's. */
  readonly level: Exclude<TerminalAccessLevel, 'raw'>;
}

/** `EPIPE` means that the reader went away. Must not throw. */
export type OutputErrorHandler = (error: NodeJS.ErrnoException) => void;

/**
 * What the command set on a terminal is put back when it is disposed of, and when the process ends
 * before that.
 */
export class StandardOutput implements Disposable {
  readonly #to: NodeJS.WriteStream;
  readonly #filter: TerminalFilter | null;
  readonly #isRaw: boolean;
  readonly #modes = new TerminalModes();
  #broken = false;

  /** `onBroken` is called once, when nothing can be written any more. */
  constructor(
    to: NodeJS.WriteStream,
    options: StandardOutputOptions,
    onBroken: OutputErrorHandler,
  ) {
    this.#to = to;
    this.#isRaw = options.raw;
    // One that lets all pass only looks at it.
    const level = options.raw ? 'raw' : options.level;
    this.#filter = to.isTTY ? new TerminalFilter(level, this.#modes) : null;
    if (to.isTTY) process.on('exit', this.#putBack);
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
    const passed = this.#passed(bytes);
    if (!this.#broken && passed.length > 0 && !this.#to.write(passed)) {
      await once(this.#to, 'drain').catch(() => {});
    }
  }

  /** Settles when everything written is on its way. The stream stays open. */
  async flush(): Promise<void> {
    await this.write(new Uint8Array());
    const rest = this.#isRaw ? new Uint8Array() : (this.#filter?.end() ?? new Uint8Array());
    if (!this.#broken) {
      await new Promise<void>((resolve) => this.#to.write(rest, () => resolve()));
    }
  }

  [Symbol.dispose](): void {
    this.#putBack();
    process.off('exit', this.#putBack);
  }

  #passed(bytes: Uint8Array): Uint8Array {
    const passed = this.#filter?.push(bytes) ?? bytes;
    return this.#isRaw ? bytes : passed;
  }

  /** Writing to a terminal does not wait for a turn that no longer comes. */
  readonly #putBack = (): void => {
    const text = this.#to.isTTY ? this.#modes.reset(this.#to.columns) : '';
    // What nobody filters may have been cut off within a sequence: CAN ends that.
    if (text !== '' && !this.#broken) this.#to.write(this.#isRaw ? `\x18${text}` : text);
  };
}
