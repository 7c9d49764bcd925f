/** One of the two standard outputs, taking a command's bytes. */
import { once } from 'node:events';
import { dimText } from './print.ts';
import { TerminalFilter } from './terminal-filter.ts';
import { TerminalModes } from './terminal-modes.ts';
import type { TerminalAccessLevel } from './terminal-sequences.ts';
import { showDuration } from './units.ts';

interface StandardOutputOptions {
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

const patienceMs = 1_000;
const everyMs = 1_000;

export class Progress implements Disposable {
  readonly #on: boolean;
  #label = '';
  #since = 0;
  #timer: NodeJS.Timeout | null = null;
  #visible = false;
  #midLine = false;
  #quietSince = 0;

  /** With `on` false nothing is ever shown. */
  constructor(on: boolean) {
    this.#on = on && process.stderr.isTTY && process.env['TERM'] !== 'dumb';
  }

  /** What is waited for from now on, such as `starting the runtime`. */
  begin(label: string): void {
    this.clear();
    this.#label = label;
    this.#since = performance.now();
    if (this.#on && this.#timer === null) {
      this.#timer = setInterval(() => this.#show(), everyMs).unref();
    }
  }

  /** Takes the line away. Call it before anything else is written to the terminal. */
  clear(): void {
    if (this.#visible) {
      this.#visible = false;
      process.stderr.write('\r\u001B[K');
    }
  }

  /** Records what was written to the terminal, so that the line never lands inside another. */
  wrote(bytes: Uint8Array): void {
    const last = bytes.at(-1);
    this.#midLine = last === undefined ? this.#midLine : last !== 0x0a;
    this.#quietSince = performance.now();
  }

  /** Nothing is waited for any more. */
  end(): void {
    this.clear();
    clearInterval(this.#timer ?? undefined);
    this.#timer = null;
  }

  [Symbol.dispose](): void {
    this.end();
  }

  #show(): void {
    const now = performance.now();
    if (this.#midLine || now - this.#since < patienceMs || now - this.#quietSince < patienceMs) {
      return;
    }
    this.#visible = true;
    const line = `trl: ${this.#label}, ${showDuration(now - this.#since)}`;
    process.stderr.write(`\r\u001B[K${dimText(line)}`);
  }
}
